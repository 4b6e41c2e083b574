"""Read what manifests meet in a cluster, without any workload and without the content of a Secret or ConfigMap.

The result is the data of a `Cluster` manifest: sorted, and the same for the same cluster, so that it can be reviewed in a pull request.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from jobspec import models
from jobspec.apis.kinds import COMPONENTS, JOBSET, LEADER_WORKER_SET, MPIJOB, PYTORCHJOB, QUEUE_GROUP, RAY_JOB, TRAINJOB, plural_of
from jobspec.apis.releases import MODELLED, OPERATORS, RELEASES
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Data
from jobspec.go.quantities import amount_of
from jobspec.go.values import mapping, structs
from jobspec.kubernetes.metadata import NAMESPACE_NAME
from jobspec.schemas.files import crd

if TYPE_CHECKING:
    from jobspec.server.client import Client

#: API version and kind of the objects that are kept, in the order in which they are written.
_KINDS = tuple(
    (api_version, kind)
    for api_version, names in (
        ("v1", "Namespace LimitRange ResourceQuota ServiceAccount"),
        ("scheduling.k8s.io/v1", "PriorityClass"),
        ("node.k8s.io/v1", "RuntimeClass"),
        ("storage.k8s.io/v1", "StorageClass"),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"),
        ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding"),
        ("policies.kyverno.io/v1", "ValidatingPolicy"),
        ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime TrainingRuntime"),
        ("kueue.x-k8s.io/v1beta2", "ClusterQueue LocalQueue Cohort ResourceFlavor WorkloadPriorityClass AdmissionCheck Topology"),
    )
    for kind in names.split()
)
_OLDER = {
    "admissionregistration.k8s.io/v1": "admissionregistration.k8s.io/v1beta1",
    "kueue.x-k8s.io/v1beta2": "kueue.x-k8s.io/v1beta1",
    "policies.kyverno.io/v1": "policies.kyverno.io/v1alpha1",
}
"""The version in which older servers have a kind."""
_SECRETIVE = (("v1", "ConfigMap"), ("v1", "Secret"))
"""Kinds of parameters of policies whose content is not for a file."""
_PAGE = 500  # objects of one reply
#: What a server or somebody's tool writes into metadata, and what says nothing to a manifest.
_KEPT_METADATA = ("name", "namespace", "labels", "annotations")
#: The kinds of which labels and annotations decide on others; of all others they are left out.
_WITH_METADATA = ("Namespace", "StorageClass", "ClusterTrainingRuntime", "TrainingRuntime")
#: What of the status decides, by kind: what quotas and queues have in use, and whether a check of admissions works.
_STATUS = {"ResourceQuota": ("used",), "ClusterQueue": ("flavorsReservation",), "AdmissionCheck": ("conditions",)}
#: What decides on no manifest, by kind; the parameters of a StorageClass may name Secrets.
_LEFT_OUT = {"Namespace": ("spec",), "StorageClass": ("parameters",)}
_DECIDING_ANNOTATIONS = ("storageclass.kubernetes.io/is-default-class", "kubernetes.io/enforce-mountable-secrets")
#: The names of the operators' containers, by what their images are called.
_IMAGES = {
    "training-operator": "training-operator",
    "trainer-controller-manager": "trainer",
    "jobset": "jobset",
    "jobset-controller": "jobset",
    "kueue": "kueue",
    "mpi-operator": "mpi-operator",
    "kuberay/operator": "kuberay",
    "lws": "lws",
}
"""The end of the name of an operator's image -> the operator."""
_RELEASE = re.compile(r":v?(\d+\.\d+\.\d+)(?:[-+@].*)?$")
_IDENTITIES = ("kubernetes.io/hostname", NAMESPACE_NAME)
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Pinned:
    """The pinned data of a cluster."""

    data: Data
    """The `Cluster` manifest."""
    crds: Mapping[str, Data] = field(default_factory=dict)
    """The CRDs of kinds that jobspec does not know, by name."""


def pinned(client: Client, name: str, crds_in: str) -> Pinned:
    """Read the data of a cluster to pin from its server.

    *crds_in*: the folder for CRDs that the manifest names. Raises JobspecError if the server is no API server.
    """
    version = client.get("/version")
    if not version.ok and version.status != 403:
        raise JobspecError(f"{client.name}: what answers at {client.url} is not a Kubernetes API server: {version.message}")
    return _read(_Reader(client), _release_of_server(version.body), name, crds_in)


def pinned_from_objects(objects: Iterable[Data], name: str, crds_in: str) -> Pinned:
    """Return the data of a cluster to pin from objects that `kubectl get -o yaml` wrote.

    No kind counts as complete: what is not among the objects may be in the cluster. The release of Kubernetes is not known.
    """
    return _read(_GivenObjects(objects), None, name, crds_in)


def _read(reader: _Objects, kubernetes: str | None, name: str, crds_in: str) -> Pinned:
    """Read what manifests meet in a cluster. *kubernetes*: its release; None if that is not known."""
    objects = [_pinned(each, kind) for api_version, kind in _KINDS for each in reader.objects(api_version, kind)]
    parameters = [each for each in map(_parameters_of, objects) if each and each not in (*_KINDS, *_SECRETIVE)]
    objects += [
        _pinned(each, kind, labels=True) for api_version, kind in dict.fromkeys(parameters) for each in reader.objects(api_version, kind)
    ]
    known = {_group(version) for (version, _), component in COMPONENTS.items() if component in OPERATORS}
    definitions = {each["metadata"]["name"]: each for each in reader.objects("apiextensions.k8s.io/v1", "CustomResourceDefinition")}
    foreign = {name: _definition(each) for name, each in sorted(definitions.items()) if each["spec"]["group"] not in known}
    releases = {**({"kubernetes": kubernetes} if kubernetes or reader.is_whole else {}), **_operators(reader, definitions)}
    spec = {
        "releases": {each: releases[each] for each in sorted(releases)},
        "complete": [
            f"{kind}.{_group(api_version)}".rstrip(".")
            for api_version, kind in dict.fromkeys((*_KINDS, *parameters))
            if (api_version, kind) in reader.complete
        ],
        "crds": [f"{crds_in}/{each}.yaml" for each in foreign],
        "objects": objects,
        "nodes": _shapes(reader.objects("v1", "Node")),
        "unread": dict(sorted(reader.unread.items())),
    }
    data = {"apiVersion": "jobspec.dev/v1alpha1", "kind": "Cluster", "metadata": {"name": name}}
    return Pinned({**data, "spec": {key: value for key, value in spec.items() if value or key == "releases"}}, foreign)


class _Objects(Protocol):
    """The objects of a cluster: those of a server, or some that are given."""

    is_whole: bool
    """Whether no other objects are in the cluster, but for those that may not be read."""
    complete: set[tuple[str, str]]
    """The kinds of which all objects are here."""
    unread: dict[str, str]
    """Why others are not, by kind."""

    def objects(self, api_version: str, kind: str) -> list[Data]:
        """Return the objects of a kind by namespace and name."""

    def has_group(self, group: str) -> bool:
        """True if the server is known to have kinds of a group."""


class _GivenObjects:
    """The objects of files, none of whose kinds is complete."""

    __slots__ = ("_objects", "complete", "unread")
    is_whole = False

    def __init__(self, objects: Iterable[Data]) -> None:
        self._objects = list(objects)
        self.complete: set[tuple[str, str]] = set()
        self.unread: dict[str, str] = {}

    def objects(self, api_version: str, kind: str) -> list[Data]:
        """Return the objects of a kind by namespace and name, each once."""
        versions = (api_version, _OLDER.get(api_version, api_version))
        found = [each for each in self._objects if each.get("kind") == kind and each.get("apiVersion") in versions]
        by_name = {(each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in found}
        return [by_name[key] for key in sorted(by_name)]

    def has_group(self, group: str) -> bool:
        """True if an object of the group is given."""
        return any(_group(str(each.get("apiVersion"))) == group for each in self._objects)


class _Reader:
    """Lists the objects of kinds, and keeps what may not be read."""

    __slots__ = ("_client", "_plurals", "complete", "unread")
    is_whole = True

    def __init__(self, client: Client) -> None:
        self._client = client
        self._plurals: dict[str, dict[str, tuple[str, str]]] = {}
        self.complete: set[tuple[str, str]] = set()
        self.unread: dict[str, str] = {}

    def objects(self, api_version: str, kind: str) -> list[Data]:
        """Return all objects of a kind by namespace and name.

        If the server serves no version of the kind, or if the caller may not read it, there are none.
        """
        versions = [each for each in (api_version, _OLDER.get(api_version, "")) if each and kind in self._resources(each)]
        if not versions:
            return []
        path, plural = self._resources(versions[0])[kind]
        found: list[Data] = []
        further = ""
        while True:
            query = {"limit": str(_PAGE), **({"continue": further} if further else {})}
            reply = self._client.call("GET", f"{path}/{plural}", query=query)
            if not reply.ok:
                self.unread[kind] = "forbidden" if reply.status == 403 else reply.message
                return []
            found += [{"apiVersion": versions[0], "kind": kind, **each} for each in reply.body.get("items") or ()]
            further = str(reply.body.get("metadata", {}).get("continue") or "")
            if not further:
                self.complete.add((api_version, kind))
                return sorted(found, key=lambda each: (each["metadata"].get("namespace", ""), each["metadata"]["name"]))

    def has_group(self, group: str) -> bool:
        """True if the server has kinds of a group."""
        return self._client.get(f"/apis/{group}").ok

    def _resources(self, api_version: str) -> dict[str, tuple[str, str]]:
        """By kind, the path of its API version and its plural."""
        if api_version not in self._plurals:
            path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            reply = self._client.get(path)
            rows = reply.body.get("resources", ()) if reply.ok else ()
            self._plurals[api_version] = {each["kind"]: (path, each["name"]) for each in rows if "/" not in each["name"]}
        return self._plurals[api_version]


def _parameters_of(policy: Data) -> tuple[str, str] | None:
    """API version and kind of the parameters of an admission policy."""
    named = (policy.get("spec") or {}).get("paramKind") or {}
    return (named["apiVersion"], named["kind"]) if named.keys() >= {"apiVersion", "kind"} else None


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _pinned(each: Data, kind: str, *, labels: bool = False) -> Data:
    """Return the parts of an object that decide on manifests. *labels*: with its labels."""
    metadata = _deciding_metadata(each["metadata"], labels=labels or kind in _WITH_METADATA)
    kept = {"apiVersion": each["apiVersion"], "kind": kind, "metadata": metadata}
    if kind == "ServiceAccount":
        return kept
    kept |= {key: value for key, value in each.items() if key not in (*kept, "status", *_LEFT_OUT.get(kind, ()))}
    status = {key: value for key, value in (each.get("status") or {}).items() if key in _STATUS.get(kind, ())}
    if kind == "AdmissionCheck" and status:
        status = {"conditions": [{key: it[key] for key in ("type", "status")} for it in status["conditions"] if it["type"] == "Active"]}
    if status:
        kept["status"] = status
    return kept


def _deciding_metadata(metadata: Data, *, labels: bool) -> Data:
    kept = {key: metadata[key] for key in _KEPT_METADATA if metadata.get(key)}
    annotations = {key: value for key, value in kept.pop("annotations", {}).items() if key in _DECIDING_ANNOTATIONS}
    if not labels:
        kept.pop("labels", None)
    return {**kept, "annotations": annotations} if annotations else kept


def _definition(crd: Data) -> Data:
    """A CRD without what a server writes into it."""
    kept = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": crd["metadata"]["name"]}}
    spec = {key: value for key, value in crd["spec"].items() if key != "conversion"}
    return {**kept, "spec": spec}


# The releases in a cluster.


def _release_of_server(version: Data) -> str | None:
    """The release of Kubernetes as targets name it; None where it cannot be read."""
    found = re.match(r"v?(\d+\.\d+)\.", str(version.get("gitVersion", "")))
    return found[1] if found else None


def _operators(reader: _Objects, definitions: Mapping[str, Data]) -> dict[str, str | None]:
    """Return the release of each operator on the server; None if it is unknown.

    The release is read from the image of the operator's Deployment, else from its CRD. If CRDs may not be read, an operator counts if the
    server has its group.
    """
    from_images = dict(_from_images(reader.objects("apps/v1", "Deployment")))
    reader.complete.discard(("apps/v1", "Deployment"))
    found: dict[str, str | None] = {}
    for component, (group, kind) in _RECOGNISED.items():
        definition = definitions.get(f"{plural_of(kind)}.{group}")
        if definition and _SERVED.get(component, "") in (
            "",
            *(str(each.get("name")) for each in structs(mapping(definition, "spec"), "versions")),
        ):
            found[component] = from_images.get(component) or (_from_crd(definition, component, kind) if component in MODELLED else None)
        elif component in from_images and not reader.is_whole:
            found[component] = from_images[component]
        elif "CustomResourceDefinition" in reader.unread and reader.has_group(group):
            found[component] = from_images.get(component)
    return found


#: The kind by whose CRD an operator, and the release of one, is recognised.
_RECOGNISED = {
    "training-operator": PYTORCHJOB,
    "trainer": TRAINJOB,
    "jobset": JOBSET,
    "kueue": (QUEUE_GROUP, "Workload"),
    "mpi-operator": MPIJOB,
    "kuberay": RAY_JOB,
    "lws": LEADER_WORKER_SET,
}
#: An operator whose kind another operator serves, too -> the version that is its own.
_SERVED = {"mpi-operator": "v2beta1"}


def _from_images(deployments: Iterable[Data]) -> Iterator[tuple[str, str]]:
    for each in deployments:
        for container in structs(mapping(each, "spec", "template", "spec"), "containers"):
            image = str(container.get("image", "")).partition("@")[0]
            name = image.rpartition(":")[0] if ":" in image.rpartition("/")[2] else image
            component = next((each for end, each in _IMAGES.items() if f"/{name}".endswith(f"/{end}")), None)
            release = _RELEASE.search(image)
            if component and release:
                yield component, release[1]


def _from_crd(definition: Data, component: str, kind: str) -> str | None:
    """The newest release whose CRD of a kind has the same schema; None where none has."""
    schemas = _schemas(definition)
    newest_first = reversed(list(RELEASES[component]))
    return next((release for release in newest_first if _schemas(crd(getattr(models, kind), release)) == schemas), None)


def _schemas(definition: Data) -> str:
    """The schemas of a CRD as a text that is the same for equal ones; descriptions do not count."""
    versions = [{"name": each["name"], "schema": _comparable_schema(each.get("schema"))} for each in definition["spec"]["versions"]]
    return json.dumps(versions, sort_keys=True)


def _comparable_schema(schema: Any, *, named: bool = False) -> Any:
    """Return a schema without parts that mean the same in another form.

    These are descriptions, and the order of required fields. *named*: the keys are names of fields, among which `description` may be one.
    """
    if isinstance(schema, list):
        return [_comparable_schema(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = schema if named else {key: value for key, value in schema.items() if key != "description"}
    return {
        key: sorted(value) if key == "required" and not named else _comparable_schema(value, named=key == "properties" and not named)
        for key, value in kept.items()
    }


# Nodes as shapes: how many are alike, and not which.


def _shapes(nodes: Sequence[Data]) -> list[Data]:
    """Return the shapes of nodes with their counts: labels, taints, and requestable resources.

    Only labels that other nodes may share count.
    """
    names = {each["metadata"]["name"] for each in nodes}
    counts: dict[str, int] = {}
    for each in nodes:
        labels = {
            key: value
            for key, value in sorted((each["metadata"].get("labels") or {}).items())
            if key not in _IDENTITIES and value not in names
        }
        taints = [
            {key: taint[key] for key in ("key", "value", "effect") if key in taint} for taint in structs(mapping(each, "spec"), "taints")
        ]
        taints = [taint for taint in taints if not str(taint.get("key")).startswith("node.kubernetes.io/")]  # conditions of the moment
        allocatable = {name: _rounded(name, amount) for name, amount in sorted(mapping(each, "status", "allocatable").items())}
        shape = {"labels": labels, "taints": taints, "allocatable": {name: amount for name, amount in allocatable.items() if amount != "0"}}
        text = json.dumps({key: value for key, value in shape.items() if value}, sort_keys=True)
        counts[text] = counts.get(text, 0) + 1
    return [{"count": counts[text], **json.loads(text)} for text in sorted(counts)]


def _rounded(name: str, amount: str) -> str:
    """Return an amount that pods can request. Memory and disk are rounded to whole GiB.

    Nodes of one machine type differ in what the system takes.
    """
    if name in ("memory", "ephemeral-storage"):
        return f"{amount_of(amount) // (1000 * _GIB)}Gi"
    return str(amount)
