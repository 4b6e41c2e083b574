"""Kinds of the training operator whose schemas are PyTorchJob's but for the fields of their spec: TFJob, MPIJob, XGBoostJob and others.

A sibling has the replicas, the run policy and the status of a PyTorchJob of the same release, so that its shape is made of PyTorchJob's.

Follows the CRDs of github.com/kubeflow/training-operator, manifests/base/crds, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.problems import Problem
from jobspec.diagnostics.record import Record
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape, linked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.documents.document import Document

OPERATOR = "training-operator"
API_VERSION = "kubeflow.org/v1"
_STRING, _BOOLEAN = {"type": "string", "plain": True}, {"type": "boolean", "plain": True}
_POINTER = {"pointer": True}
_ELASTIC = ("minReplicas", "maxReplicas", "maxRestarts", "metrics")
_INT32 = {"type": "integer", "format": "int32"}


class SiblingKind(Record):
    """A kind that differs from PyTorchJob in fields of its spec."""

    replicas: str
    """The field of its spec that has the replicas by role."""
    container: str
    """The name of the container that the operator requires."""
    own: Mapping[str, Mapping[str, Any]] = {}
    """The scalar fields of its spec that PyTorchJob lacks."""
    required: Sequence[str] = ()
    """The required fields among these."""
    elastic: Sequence[str] = ()
    """The fields of PyTorchJob's elastic policy that it has."""
    is_scaled: bool = False
    """Whether it has the scale subresource."""
    since: str = ""
    """The first release of the operator that has it; empty for all known ones."""
    until: str = ""
    """The first release of the operator that no longer has it."""

    def is_in(self, release: str) -> bool:
        """True if a release of the operator has the kind."""
        is_late = not self.since or is_at_least(release, self.since)
        return is_late and not (self.until and is_at_least(release, self.until))


SIBLINGS = {
    "JAXJob": SiblingKind("jaxReplicaSpecs", "jax", is_scaled=True, since="1.9.0"),
    "MPIJob": SiblingKind(
        "mpiReplicaSpecs", "mpi", own={"slotsPerWorker": _INT32 | _POINTER, "cleanPodPolicy": _STRING | _POINTER, "mainContainer": _STRING}
    ),
    "MXJob": SiblingKind("mxReplicaSpecs", "mxnet", own={"jobMode": _STRING}, required=["jobMode"], until="1.9.0"),
    "PaddleJob": SiblingKind(
        "paddleReplicaSpecs",
        "paddle",
        elastic=["minReplicas", "maxReplicas", "maxRestarts", "metrics"],
        is_scaled=True,
    ),
    "TFJob": SiblingKind("tfReplicaSpecs", "tensorflow", own={"successPolicy": _STRING | _POINTER, "enableDynamicWorker": _BOOLEAN}),
    "XGBoostJob": SiblingKind("xgbReplicaSpecs", "xgboost"),
}


def find(document: Document) -> SiblingKind | None:
    """Return the sibling kind of a document. If it is of another kind, return None."""
    return SIBLINGS.get(document.kind) if document.api_version == API_VERSION else None


def near(document: Document) -> str:
    """Return the sibling kind that a document of the same group means in another version or spelling; empty if there is none."""
    if document.group_kind[0] != API_VERSION.partition("/")[0]:
        return ""
    return next((kind for kind in SIBLINGS if kind.lower() == document.kind.lower()), "")


def shape_of(document: Document, target: Target) -> Shape | None:
    """Return the shape of a document of a sibling kind. If the release of the operator does not have the kind, return None."""
    sibling, release = SIBLINGS[document.kind], target[OPERATOR]
    if not sibling.is_in(release):
        return None
    key = (document.kind, release)
    if key not in _made:
        _made[key] = _shape(document.kind, sibling, shapes.part(API_VERSION, "PyTorchJob", target))
    return _made[key]


_made: dict[tuple[str, str], Shape] = {}


def not_in_release(document: Document, target: Target) -> Problem:
    """Return the problem of a sibling kind that the target's release of the operator does not have."""
    sibling, release = SIBLINGS[document.kind], target[OPERATOR]
    when = f"came with {sibling.since}" if sibling.since and not is_at_least(release, sibling.since) else f"is gone since {sibling.until}"
    return Problem("unknown-kind", ("kind",), f"training-operator {release} does not have {document.kind}, which {when}")


def _shape(kind: str, sibling: SiblingKind, of: Shape) -> Shape:
    """The shape of a sibling, made of PyTorchJob's."""
    spec = of.at(("spec",))
    assert spec and of.fields
    fields: dict[str, Any] = {name: linked([dict(row)])[0] for name, row in sibling.own.items()}
    fields |= {"runPolicy": spec.at(("runPolicy",)), sibling.replicas: spec.at(("pytorchReplicaSpecs",))}
    if policy := spec.at(("elasticPolicy",)) if sibling.elastic else None:
        fields["elasticPolicy"] = policy.changed(fields={name: policy.at((name,)) for name in sibling.elastic})
    own = spec.changed(name=f"{kind}Spec", fields=fields, required=[*sibling.required, sibling.replicas])
    scale = {name: [sibling.replicas if step == "pytorchReplicaSpecs" else step for step in path] for name, path in of.scale.items()}
    return of.changed(name=kind, fields={**of.fields, "spec": own}, scale=scale if sibling.is_scaled else {})
