"""Kinds of common projects, such as Argo CD and Flux, and of operators of jobs, by schemas compiled from their CRDs.

A cluster may have another release of a project, with other fields and limits. So a problem by our schema is a warning; problems of metadata
are errors, since the API server's own code finds them. Neither the status nor CEL rules are checked. Operators of jobs have a release in
the target, and `verdict` judges their kinds as those with a model of ours, with CEL rules. CRDs of the cluster, from `--crd` or
`.jobspec/schemas`, come first, and everything in them is checked.
"""

from __future__ import annotations

import os

from jobspec.apis.releases import choose
from jobspec.apis.shipped import load as load_json
from jobspec.apis.shipped import path as data_path
from jobspec.diagnostics.record import Record
from jobspec.schemas.shapes import Shape, linked, load_metadata, part, schema_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Path
    from jobspec.documents.document import Document

FOLDER = "common"
#: Name -> releases, and where CRDs of each are in `https://github.com/NAME`; all have the licence Apache-2.0. Of two releases of a project
#: the second has the versions of kinds that the first one does not serve any more.
PROJECTS: dict[str, list[tuple[str, str]]] = {
    "NVIDIA/gpu-operator": [("26.7.0", "deployments/gpu-operator/crds")],
    "argoproj/argo-cd": [("3.5.1", "manifests/crds")],
    "cert-manager/cert-manager": [("1.21.1", "deploy/crds")],
    "external-secrets/external-secrets": [("2.9.0", "config/crds/bases"), ("0.16.2", "config/crds/bases")],
    "fluxcd/helm-controller": [("1.6.3", "config/crd/bases"), ("1.2.0", "config/crd/bases")],
    "fluxcd/kustomize-controller": [("1.9.4", "config/crd/bases"), ("1.5.1", "config/crd/bases")],
    "fluxcd/source-controller": [("1.9.1", "config/crd/bases"), ("1.5.0", "config/crd/bases")],
    "kubeflow/katib": [("0.19.0", "manifests/v1beta1/components/crd")],
    "kserve/kserve": [("0.20.0", "config/crd/full")],
    "kubeflow/kubeflow": [
        ("1.9.2", "components/notebook-controller/config/crd/bases"),
        ("1.9.2", "components/profile-controller/config/crd/bases"),
    ],
    "kubernetes-sigs/karpenter": [("1.14.1", "pkg/apis/crds")],
    "aws/karpenter-provider-aws": [("1.14.1", "pkg/apis/crds")],  # whose other kinds are the ones before, with limits of AWS
    "kyverno/kyverno": [("1.19.0", "config/crds/kyverno"), ("1.19.0", "config/crds/policies.kyverno.io")],
    "project-codeflare/appwrapper": [("1.2.1", "config/crd/bases")],
    "prometheus-operator/prometheus-operator": [("0.93.0", "example/prometheus-operator-crd")],
    "volcano-sh/volcano": [("1.15.1", "config/crd/volcano/bases")],
}
#: Operators of jobs -> their project, and where their CRDs are in it; all have the licence Apache-2.0.
OPERATORS = {
    "mpi-operator": ("kubeflow/mpi-operator", "manifests/base"),
    "kuberay": ("ray-project/kuberay", "ray-operator/config/crd/bases"),
    "lws": ("kubernetes-sigs/lws", "config/crd/bases"),
}


class CommonKind(Record):
    """A version of a common kind: the shape of its objects, their scope, and the release."""

    shape: Shape
    namespaced: bool
    release: str


_loaded: dict[tuple[str, str], dict[str, CommonKind]] = {}


def find(document: Document, target: Target) -> CommonKind | None:
    """Return the common kind of a document.

    If the document is of another kind, or of a version without a schema of ours, return None.
    """
    return kind_of(document.api_version, document.kind, target)


def by_name() -> dict[str, list[tuple[str, str]]]:
    """Return the API versions of the common kinds and their projects, by kind.

    They are in the order of their groups.
    """
    folder = data_path("schemas", FOLDER)
    found: dict[str, list[tuple[str, str]]] = {}
    for group in sorted(os.listdir(folder)):
        for name in sorted(os.listdir(os.path.join(folder, group))):
            file = load_json(os.path.join(folder, group, name))
            versions = [version for each in file["releases"].values() for version in each]
            project = file["project"].rpartition("/")[2]
            found.setdefault(file["kind"], []).extend((f"{group}/{version}", project) for version in versions)
    return found


def kind_of(api_version: str, kind: str, target: Target) -> CommonKind | None:
    """Return the common kind of an API version and a kind.

    If jobspec has no schema of the kind, return None.
    """
    group, _, version = api_version.rpartition("/")
    name = (group, kind)
    if name not in _loaded:
        path = data_path("schemas", *file_of(group, kind).split("/"))
        is_plain = group and f"{group}{kind}".replace(".", "").replace("-", "").isalnum()
        _loaded[name] = _versions(load_json(path), load_metadata(target)) if is_plain and os.path.isfile(path) else {}
    return _loaded[name].get(version)


def _part_of_pod(path: list[str | int]) -> Shape:
    found = _pod_shape().at(tuple(path))
    assert found, path
    return found


def file_of(group: str, kind: str) -> str:
    """Return the path of a kind's schemas below `schemas/`."""
    return f"{FOLDER}/{group}/{kind.lower()}.json"


def _versions(file: dict[str, Any], metadata: Shape) -> dict[str, CommonKind]:
    is_namespaced = file["scope"] == "Namespaced"
    project = file["project"].rpartition("/")[2]
    return {
        version: CommonKind(
            linked([metadata if row is None else _part_of_pod(row[_OF_POD]) if _OF_POD in row else row for row in rows])[0],
            is_namespaced,
            f"{project} {release}",
        )
        for release, versions in file["releases"].items()
        for version, rows in versions.items()
    }


# Compile CRDs to the files of the kinds.


def files(crds: Iterable[tuple[str, str, dict[str, Any]]], metadata: Shape) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each common kind's file, from CRDs of projects.

    *crds*: name, release and CRD. If several releases have a version, the first one counts.
    """
    import json

    made: dict[str, dict[str, Any]] = {}
    for project, release, crd in crds:
        spec = crd["spec"]
        file = made.setdefault(
            file_of(spec["group"], spec["names"]["kind"]),
            {"group": spec["group"], "kind": spec["names"]["kind"], "project": project, "scope": spec["scope"], "releases": {}},
        )
        known = {version for versions in file["releases"].values() for version in versions}
        for version in spec["versions"]:
            if version.get("served") and version["name"] not in known:
                table = _RowTable(metadata, rows=[{}])
                table.rows[0] = table.flattened(version, rules=False)
                file["releases"].setdefault(release, {})[version["name"]] = table.rows
    for path, file in sorted(made.items()):
        yield path, json.dumps(file, separators=(",", ":")) + "\n"


def operator_files(crds: Iterable[tuple[str, str, dict[str, Any]]], metadata: Shape) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of the operators' kinds, for all releases.

    *crds*: component, release and CRD, the oldest release first.
    """
    import json

    tables: dict[str, tuple[dict[str, Any], _RowTable]] = {}
    for component, release, crd in crds:
        spec = crd["spec"]
        for version in spec["versions"]:
            api_version, kind = f"{spec['group']}/{version['name']}", spec["names"]["kind"]
            if version.get("served"):
                head = {"apiVersion": api_version, "kind": kind, "component": component, "releases": {}}
                path = f"compiled/{schema_path(component, '', api_version, kind)}"
                document, table = tables.setdefault(path, (head, _RowTable(metadata, rows=[], decoded=True)))
                document["releases"][release] = table.place(version)
    for path, (document, table) in sorted(tables.items()):
        yield path, json.dumps({**document, "shapes": table.rows}, separators=(",", ":")) + "\n"


class _RowTable:
    """The rows of shapes of versions of CRDs, each once; None stands for the metadata of all objects.

    In files of common kinds, what is the same in all pods and containers is not repeated: a row names its path in the spec of a pod.
    """

    def __init__(self, metadata: Shape, *, rows: list[dict[str, Any] | None], decoded: bool = False) -> None:
        """*decoded*: mark the values that webhooks and operators parse in Go, and keep the fields of `status`."""
        self.rows = rows
        self._decoded = decoded
        self._metadata = metadata
        self._known: dict[str, int] = {}

    def place(self, version: dict[str, Any]) -> int:
        """Return the index of the row of a version's objects, with CEL rules."""
        return self._add(self.flattened(version, rules=True))

    def flattened(self, version: dict[str, Any], *, rules: bool) -> dict[str, Any]:
        """Return the row of a version's objects. *rules*: with CEL rules."""
        from jobspec.kubernetes.compiling import root_table
        from jobspec.kubernetes.crds.decoding import decoded

        schema = _lightened(decoded(version["schema"]["openAPIV3Schema"]), rules=rules)
        schema["properties"] = {**schema.get("properties", {}), "metadata": {"type": "object"}}
        if "status" in schema["properties"] and not self._decoded:
            schema["properties"]["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        table = root_table(schema, self._metadata, subresources=version.get("subresources") or {})
        return self._flat(table[0], table)

    def _flat(self, row: dict[str, Any], table: list[Any]) -> dict[str, Any]:
        """A row without what is absent, with the new indices of the rows inside it."""

        def placed(index: int) -> int:
            return self._add(None if table[index] is self._metadata else self._flat(table[index], table))

        is_said = self._decoded and row.get("default") is not None  # an empty text, too, counts among the keys of a list
        kept = {key: each for key, each in row.items() if each or (each == 0 and each is not False) or (is_said and key == "default")}
        if "fields" in row:
            of_pods = {} if self._decoded else _shared_with_pods(row["fields"])
            parts = {name: self._add({_OF_POD: list(path)}) for name, path in of_pods.items()}
            kept["fields"] = {name: parts[name] if name in parts else placed(index) for name, index in row["fields"].items()}
        if "branches" in kept:
            kept["branches"] = {word: [(placed(index), text) for index, text in inner] for word, inner in kept["branches"].items()}
        kept |= {key: placed(row[key]) for key in ("values", "items") if key in row}
        return self._as_decoded(kept) if self._decoded else kept

    def _as_decoded(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with what webhooks in Go make of it.

        Missing `template` and `spec` get zeros. Missing lists and maps are null if they are required.
        """
        fields = row.get("fields", {})
        template = (self.rows[fields["template"]] if "template" in fields else None) or {}
        if _is_template(template.get("fields", {})):
            row = {**row, "fields": {**fields, "template": self._add({**template, "unset": "zero"})}}
        pod = (self.rows[fields["spec"]] if _is_template(fields) else None) or {}
        if _is_pod(pod):
            bare = {**(self.rows[pod["fields"]["containers"]] or {}), "unset": "null"}
            whole = {**pod, "fields": {**pod["fields"], "containers": self._add(bare)}, "unset": "zero"}
            row = {**row, "fields": {**fields, "spec": self._add(whole)}}
        nil = [name for name in row.get("required", ()) if name in fields and _is_nil(self.rows[row["fields"][name]])]
        unset = dict.fromkeys(nil, "null") | _UNSET.get(frozenset(fields), {})
        made = {name: self._add({**(self.rows[row["fields"][name]] or {}), "unset": what}) for name, what in unset.items()}
        row = {**row, "fields": {**row["fields"], **made}} if made else row
        return row | ({"parsed": True} if self._is_parsed(row) else {})

    def _is_parsed(self, row: dict[str, Any]) -> bool:
        """Whether a row, or one inside it, is of values that operators parse in Go."""
        inside = [*row.get("fields", {}).values(), *(row[key] for key in ("values", "items") if key in row)]
        own = row.get("type") == "int-or-string" or row.get("format") in ("quantity", "date-time")
        return own or any((self.rows[index] or self._metadata.__dict__).get("parsed") for index in inside)

    def _add(self, row: dict[str, Any] | None) -> int:
        """Return the index of a row, which is added if the table lacks it."""
        import json

        text = json.dumps(row)
        if text not in self._known:
            self._known[text] = len(self.rows)
            self.rows.append(row)
        return self._known[text]


def _is_template(fields: Mapping[str, Any]) -> bool:
    return fields.keys() == {"metadata", "spec"}


_OF_CERTIFICATE = ("certificateChainPath", "credentialBundlePath", "keyPath", "keyType", "maxExpirationSeconds", "signerName")
#: The fields of types of Kubernetes, and what Go makes of some of them where the schema does not tell: optional ones without `omitempty`
#: are null, and required ones with `omitempty` are left out. From TypedLocalObjectReference, TypedObjectReference, ProjectedVolumeSource,
#: ContainerRestartRule, ContainerRestartRuleOnExitCodes and PodCertificateProjection of k8s.io/api core/v1. The `workloadRef` of a pod is
#: of Kubernetes 1.35 alone: webhooks of a later one leave it as it is written.
_UNSET: dict[frozenset[str], dict[str, str]] = {
    frozenset(("apiGroup", "kind", "name")): {"apiGroup": "null"},
    frozenset(("apiGroup", "kind", "name", "namespace")): {"apiGroup": "null"},
    frozenset(("defaultMode", "sources")): {"sources": "null"},
    frozenset(("action", "exitCodes")): {"action": "nothing"},
    frozenset(("operator", "values")): {"operator": "nothing"},
    frozenset(_OF_CERTIFICATE): {"keyType": "nothing", "signerName": "nothing"},
    frozenset((*_OF_CERTIFICATE, "userAnnotations")): {"keyType": "nothing", "signerName": "nothing"},
    frozenset(("name", "podGroup", "podGroupReplicaKey")): {"name": "nothing", "podGroup": "nothing"},
}


def _is_nil(row: Mapping[str, Any] | None) -> bool:
    """True if Go holds nothing for a missing list or map of a row, and writes null where it is required."""
    if not row or "default" in row:
        return False
    return bool(row.get("type") == "array" or (row.get("type") == "object" and "fields" not in row))


def _is_pod(row: Mapping[str, Any]) -> bool:
    return all(name in row.get("fields", ()) for name in ("containers", "volumes", "tolerations"))


_RULES = "x-kubernetes-validations"
#: The key of a row that stands for a part of every pod's spec.
_OF_POD = "pod"
#: The fields by which the spec of a pod and a container are known.
_MARKS: Mapping[Path, tuple[str, ...]] = {
    (): ("containers", "volumes", "tolerations"),
    ("containers", 0): ("image", "command", "env", "volumeMounts"),
}


def _shared_with_pods(fields: Collection[str]) -> dict[str, Path]:
    """The fields of an object that are those of a pod's spec or of a container, each with its path in the spec; large ones alone."""
    for place, marks in _MARKS.items():
        shape = _pod_shape().at(place)
        if shape and shape.fields and all(each in fields for each in marks):
            return {name: (*place, name) for name in fields if (own := shape.fields.get(name)) and (own.fields or own.items)}
    return {}


def _pod_shape() -> Shape:
    """The shape of a pod's spec in the CRD of JobSet, the newest that jobspec has."""
    return part("jobset.x-k8s.io/v1alpha2", "JobSet", choose(()), _POD_OF_JOBSET)


_POD_OF_JOBSET: Path = ("spec", "replicatedJobs", 0, "template", "spec", "template", "spec")


def _lightened(schema: Any, *, rules: bool) -> Any:
    """A schema without texts for people, and unless *rules*, without CEL rules."""
    if not isinstance(schema, dict):
        return schema
    from functools import partial

    lightened = partial(_lightened, rules=rules)
    fields = {"properties": {name: lightened(each) for name, each in schema["properties"].items()}} if schema.get("properties") else {}
    left = ("description", "title", "example", "externalDocs", "properties", "default", *(() if rules else (_RULES,)))
    inside = {key: lightened(schema[key]) for key in ("items", "additionalProperties", "not") if key in schema}
    lists = {key: [lightened(each) for each in schema[key]] for key in ("allOf", "anyOf", "oneOf") if schema.get(key)}
    marker = {"default": schema["default"]} if schema.get("default") is not None else {}
    return {key: value for key, value in schema.items() if key not in left} | fields | inside | lists | marker
