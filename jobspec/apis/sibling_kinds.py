"""Kinds of the training operator whose schemas are PyTorchJob's but for the fields of their spec: TFJob, MPIJob, XGBoostJob and others.

A sibling has the replicas, the run policy and the status of a PyTorchJob of the same release, and its structure is made of PyTorchJob's.

Follows the CRDs of github.com/kubeflow/training-operator, manifests/base/crds, 1.7.0 to 1.9.4.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

API_VERSION = "kubeflow.org/v1"
_STRING, _BOOLEAN = {"type": "string"}, {"type": "boolean"}
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


def find(api_version: str, kind: str) -> SiblingKind | None:
    """Return the sibling of a manifest's `apiVersion` and `kind`; None for another kind."""
    return SIBLINGS.get(kind) if api_version == API_VERSION else None
