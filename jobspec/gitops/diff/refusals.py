"""What a server refuses of an update that it would take of a new object.

That is by the rules of `--from`, those of a few built-in kinds, and the policy of a project's engines.
"""

from __future__ import annotations

from jobspec import pipeline
from jobspec.cluster import StoredObjects
from jobspec.gitops.engines.replacing import SPEC_HASH
from jobspec.pipeline import Manifests
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.cluster import Cluster
    from jobspec.documents.document import Document
    from jobspec.gitops.diff.changes import FieldChange

#: (apiVersion, kind) -> the fields that the server never changes, of kinds of which jobspec judges only metadata.
_FIXED: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = {
    ("v1", "Secret"): (("type",),),
    ("batch/v1", "Job"): (("spec", "template"), ("spec", "selector"), ("spec", "completionMode")),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): (("roleRef",),),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): (("roleRef",),),
    ("scheduling.k8s.io/v1", "PriorityClass"): (("value",), ("preemptionPolicy",)),
    ("storage.k8s.io/v1", "StorageClass"): (("parameters",), ("provisioner",), ("reclaimPolicy",), ("volumeBindingMode",)),
}
_SEALED = (("data",), ("binaryData",), ("stringData",), ("immutable",))
_SEALABLE = (("v1", "ConfigMap"), ("v1", "Secret"))


def refusals(old: Document, new: Document, changes: Sequence[FieldChange], beside: Sequence[Document], cluster: Cluster) -> list[str]:
    """Why the update from *old* to *new* is refused, each as one sentence; none where the server takes it.

    The new object is a valid one: what is wrong with it now is wrong with the update.
    """
    return [*_by_rules(old, new, beside, cluster), *_fixed(old, changes), *_by_policy(old, new)]


def _by_rules(old: Document, new: Document, beside: Sequence[Document], cluster: Cluster) -> Iterator[str]:
    others = [each for each in beside if each is not new]
    checked = pipeline.check(Manifests(new.file, [new, *others]), cluster.updating(StoredObjects([old])))
    for each in checked.result.diagnostics:
        if each.severity == "error":
            yield f"{each.field}: {each.message}" if each.field else each.message


def _fixed(old: Document, changes: Sequence[FieldChange]) -> Iterator[str]:
    kind = (old.api_version, old.kind)
    is_sealed = kind in _SEALABLE and old.data.get("immutable") is True
    for path in (*_FIXED.get(kind, ()), *(_SEALED if is_sealed else ())):
        if any(each.path[: len(path)] == path for each in changes):
            yield f"{'.'.join(path)}: the server does not change this field of a {old.kind}" + (" with `immutable: true`" * is_sealed)


def _by_policy(old: Document, new: Document) -> Iterator[str]:
    """The refusal by the policy that comes with the objects of a project's engines: another spec under a fixed name."""
    before, after = (value_at(each.data, ("metadata", "annotations", SPEC_HASH)) for each in (old, new))
    if before is not None and before != after:
        yield "spec: the policy of the project's engines refuses another spec under a fixed name"
