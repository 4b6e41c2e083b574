"""The pod templates of each kind, in CEL: the places at which `operators.workloads` has them."""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.sibling_kinds import SIBLINGS
from jobspec.operators.kuberay import CLUSTER_SPECS, JOB_SPECS
from jobspec.operators.trainer.runtimes import PATCH_FIELDS
from jobspec.operators.workloads import NODE, PATCHED_JOBS, TEMPLATE
from jobspec.policies.cel import at, items, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobspec.apis.kinds import GroupKind

#: The variable with the object, of no type: one policy is for kinds of different structures.
OBJECT = "variables.whole"
#: The name of the object; empty if the server generates it.
NAME = f"{at(OBJECT, 'metadata', 'name')}.orValue('')"
_TRAINER = at(OBJECT, "spec", "trainer")
#: The replicated jobs of each of the `runtimePatches` that policies see: a runtime that the trainer ships has three at most.
PATCHED = 3
_FIELDS = {"image": "image", "env": "env", "command": "command", "args": "args", "resources": "resourcesPerNode"}


def _roles(*path: str) -> str:
    """The templates in a map of replica types."""
    place = f"{at(OBJECT, *path)}.orValue({{}})"
    return f"{place}.map(role, {place}[role].?template.orValue({{}}))"


def _jobs(*path: str) -> str:
    """The templates in a list of replicated jobs."""
    return f"{items(OBJECT, *path)}.map(job, {at('job', 'template', 'spec', 'template')}.orValue({{}}))"


def _one(*path: str) -> str:
    """The template at a path, as a list of one or none."""
    place = at(OBJECT, *path)
    return f"({place}.hasValue() ? [{place}.value()] : [])"


def _ray(*path: str) -> str:
    groups = items(OBJECT, *path, "workerGroupSpecs")
    return f"{_one(*path, 'headGroupSpec', 'template')} + {groups}.map(group, group.?template.orValue({{}}))"


def _trainjob() -> str:
    """Return what a TrainJob itself says of its pods.

    That are the container that trains, and the changes to pods of its runtime, by release.
    """
    own = ", ".join(f"?{literal(name)}: {_TRAINER}.?{field}" for name, field in _FIELDS.items())
    training = f"[dyn({{'spec': {{'containers': [{{'name': dyn({literal(NODE)}), {own}}}]}}}})]"
    of_2_0 = f"{items(OBJECT, 'spec', PATCH_FIELDS[0])}.map(each, dyn({{'spec': each}}))"
    of_2_1 = f"{items(OBJECT, 'spec', PATCH_FIELDS[1])}.map(each, dyn({{?'spec': each.?spec}}))"
    return " + ".join((training, of_2_0, of_2_1, *map(_patches, range(PATCHED))))


def _patches(place: int) -> str:
    """Return the templates of the replicated jobs at one place of each of the `runtimePatches`.

    CEL cannot flatten lists of lists.
    """
    jobs = items("each", *map(str, PATCHED_JOBS))
    template = f"{at(f'{jobs}[{place}]', *map(str, TEMPLATE))}.orValue({{}})"
    return f"{items(OBJECT, 'spec', PATCH_FIELDS[2])}.filter(each, {jobs}.size() > {place}).map(each, {template})"


_RAY = [(kind, ("ray.io", kind)) for kind in CLUSTER_SPECS]
#: Kind -> its pod templates, in CEL: a list.
TEMPLATES: dict[GroupKind, str] = {
    kinds.POD: f"[{OBJECT}]",
    kinds.JOB: _one("spec", "template"),
    kinds.CRON_JOB: _one("spec", "jobTemplate", "spec", "template"),
    kinds.PYTORCHJOB: _roles("spec", "pytorchReplicaSpecs"),
    **{("kubeflow.org", kind): _roles("spec", sibling.replicas) for kind, sibling in SIBLINGS.items()},
    kinds.TRAINJOB: _trainjob(),
    **dict.fromkeys(kinds.RUNTIMES, _jobs("spec", "template", "spec", "replicatedJobs")),
    kinds.JOBSET: _jobs("spec", "replicatedJobs"),
    kinds.LEADER_WORKER_SET: " + ".join(_one("spec", "leaderWorkerTemplate", f"{each}Template") for each in ("leader", "worker")),
    **{
        group_kind: " + ".join(
            [_ray(*CLUSTER_SPECS[kind]), *([_one(*JOB_SPECS[kind], "submitterPodTemplate")] if kind in JOB_SPECS else [])]
        )
        for kind, group_kind in _RAY
    },
}
#: The kinds of training-operator alone: an MPIJob may be one of mpi-operator.
TRAINING_OPERATOR = tuple(each for each in kinds.TRAINING_JOBS if each != kinds.MPIJOB)
EVERY = tuple(TEMPLATES)
#: Those whose templates are whole: the pods of a TrainJob are in its runtime.
WHOLE = tuple(each for each in EVERY if each != kinds.TRAINJOB)


def templates_of(wanted: Iterable[GroupKind]) -> str:
    """The pod templates of an object of one of some kinds, in CEL."""
    by_text: dict[str, list[str]] = {}
    for kind in wanted:
        by_text.setdefault(TEMPLATES[kind], []).append(kind[1])
    rows = [f"object.kind in {literal(sorted(set(names)))} ? {text} :" for text, names in by_text.items()]
    return "\n".join([*rows, "[]"])
