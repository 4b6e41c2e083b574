"""Names of jobs: DNS labels that leave room for what the operators append, with a hash of the job's spec where it is asked for.

Follows `GenGeneralName`, github.com/kubeflow/training-operator pkg/core, 1.9, and `jobSetWebhook.ValidateCreate`,
sigs.k8s.io/jobset pkg/webhooks, 0.12: a Service of a PyTorchJob is `<job>-worker-<index>`, a pod of a JobSet
`<job>-<replicated job>-0-<index>-<5 characters>`.
"""

from __future__ import annotations

from jobspec.kinds import PYTORCHJOB
from jobspec.operators.trainer.runtimes import nodes_of
from jobspec.workloads import roles_in, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.documents.document import Document

_MOST = 63  # characters of a DNS label
_HASH = 8  # hexadecimal digits
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_ALLOWED = _LETTERS | frozenset("0123456789-")
#: Fields that change in place, without a new run: a job is suspended and resumed.
_UNHASHED = (("suspend",), ("runPolicy", "suspend"))


def label_of(text: str) -> str:
    """A text as a DNS-1035 label of any length: `mnist-0.01-1` gives `mnist-0-01-1`; empty where no letter or digit is in it."""
    label = "".join(each if each in _ALLOWED else "-" for each in text.lower()).strip("-")
    return label if not label or label[0] in _LETTERS else f"job-{label}"


def hashed(label: str, job: Document, room: int) -> str:
    """A label that ends in the hash of a job's spec, cut where it would not leave the operator its room; its first letter stays."""
    return f"{label[: max(room - _HASH - 1, 1)].rstrip('-')}-{spec_hash(job)}"


def spec_hash(job: Document) -> str:
    """A hash of `apiVersion`, `kind` and `spec` as they are rendered, without `suspend`; metadata and companions do not count."""
    from hashlib import sha256
    from json import dumps

    spec = job.data["spec"]
    for path in _UNHASHED:
        spec = _without(spec, path)
    text = dumps([job.api_version, job.kind, spec], sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:_HASH]


def _without(data: Any, path: tuple[str, ...]) -> Any:
    if not isinstance(data, dict) or path[0] not in data:
        return data
    rest = {name: value for name, value in data.items() if name != path[0]}
    inner = _without(data[path[0]], path[1:]) if len(path) > 1 else {}
    return {**rest, path[0]: inner} if inner else rest  # what held nothing else is as if it were not there


def room_of(job: Document, runtime: Document | None) -> int:
    """The most characters of a job's name with which the operator can make its Services and pods; without the runtime, as for `node`."""
    if job.group_kind == PYTORCHJOB:
        return _MOST - max(len(f"-{role.name.lower()}-{_last_index(job.data, role.name)}") for role in roles_in(job))
    nodes = nodes_of(job.data, runtime)
    names = [role.name for role in roles_in(runtime)] if runtime else ["node"]
    return _MOST - max(len(f"-{name}-0-{nodes - 1 if name == 'node' else 0}-abcde") for name in names)


def _last_index(job: Any, role: str) -> int:
    """The highest index that a pod of a PyTorchJob's role can have, with elastic training too."""
    replicas = value_at(job, ("spec", "pytorchReplicaSpecs", role, "replicas")) or 1
    elastic = value_at(job, ("spec", "elasticPolicy", "maxReplicas")) or 1
    return int(max(replicas, elastic if role == "Worker" else 1)) - 1
