"""Environment: variables that have the effect that somebody meant."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.lint.containers import variables
from jobspec.lint.rule import Edit, Finding, Rule
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.lint.views import JobView

_RESERVED = ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT")
_JAX = ("JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS")
_RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK")


def overridden_variable(job: JobView) -> Iterator[Finding]:
    """A variable that the operator sets, too, behind the job's own: the job's value is lost.

    Why: training-operator appends MASTER_ADDR, WORLD_SIZE, RANK, PYTHONUNBUFFERED and the PET_ variables to each container, and the last
    of a name counts; the trainer replaces PET_ variables of a runtime. What is written is not what the program sees.
    Instead: leave the variable out. For another port, give the container a port named `pytorchjob-port`.
    Fix: removes the value that no pod sees, unless another variable takes it.
    Before: env: [{name: WORLD_SIZE, value: "8"}]
    After: env: []
    Evidence: `setPodEnv` of training-operator pkg/controller.v1/pytorch; `Torch` plugin of github.com/kubeflow/trainer
    """
    for role in job.roles:
        for container, is_init in role.pods[0].containers():
            last = {name: each for name, each in variables(container) if not is_init}
            for name, each in variables(container):
                of_operator = last.get(name)
                if of_operator is None or of_operator is each or not each.mark.line or of_operator.mark.line:
                    continue
                if text(each, "value") != text(of_operator, "value"):
                    message = f"the operator sets `{name}` behind this one, whose value is lost"
                    yield Finding(each, message, "leave it out", edits=_removal(each, container))


def replaced_variable(job: JobView) -> Iterator[Finding]:
    """A runtime sets a variable that the trainer replaces.

    Why: nobody checks a runtime for the variables that the trainer keeps for itself; it writes its own values over them.
    Instead: leave the variable out; the TrainJob says the numbers of nodes and processes.
    Fix: removes the value that no pod sees, unless another variable takes it.
    Before: env: [{name: PET_NNODES, value: "4"}]
    After: env: []
    Evidence: `Torch` plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0 to 2.3
    """
    if job.is_pytorchjob or job.runtime is None or job.runtime is not job.given or job.get("spec", "mlPolicy", "torch") is None:
        return
    for role in items(job.tree.get("spec", "template", "spec", "replicatedJobs")):
        for container in items(role.get("template", "spec", "template", "spec", "containers")):
            for each in items(container.get("env")):
                if text(each, "name") in _RESERVED and text(container, "name") == "node":
                    message = f"the trainer replaces `{text(each, 'name')}` by its own"
                    yield Finding(each, message, "leave it out", edits=_removal(each, container))


def replacing_variable(job: JobView) -> Iterator[Finding]:
    """A TrainJob sets a variable by which the trainer tells JAX its place among the processes.

    Why: the trainer refuses its own PET_ variables in a job, but lets those of JAX through: the job's value then counts in every pod, so
    that all of them are the same process or wait for another number of them.
    Instead: leave it out; the trainer sets it for each pod.
    Fix: gives each pod its own `JAX_COORDINATOR_ADDRESS`, `JAX_NUM_PROCESSES` and `JAX_PROCESS_ID`.
    Before: trainer: {env: [{name: JAX_PROCESS_ID, value: "0"}]}
    After: trainer: {env: []}
    Evidence: `Jax` plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/jax, 2.2 and 2.3
    """
    is_jax = job.runtime and value_at(job.runtime.data, ("spec", "mlPolicy", "jax")) is not None
    for each in items(job.tree.get("spec", "trainer", "env")) if is_jax else ():
        if text(each, "name") in _JAX:
            message = f"`{text(each, 'name')}` replaces what the trainer sets for each pod"
            yield Finding(each, message, "leave it out", edits=[Edit(each, removes=True)])


def useless_rank(job: JobView) -> Iterator[Finding]:
    """A TrainJob sets a rank by hand, the same in every pod.

    Why: one value for all pods makes all of them rank 0, or whatever stands there; torchrun sets these variables for each process, and
    replaces the job's.
    Instead: start the program by torchrun, and leave the variable out.
    Before:
        command: [python, train.py]
        env: [{name: RANK, value: "0"}]
    After: command: [torchrun, train.py]
    Evidence: kubeflow/trainer#2800; kubeflow/trainer docs/operator-guides/migration.md
    """
    if job.is_pytorchjob or sum(role.count for role in job.training) < 2:
        return
    for role in job.training:
        container = role.training_container()
        for name, each in variables(container) if container else ():
            if name in _RANKS and each.mark.line and each.get("value"):
                yield Finding(
                    each, f"all {role.count} pods have `{name}={text(each, 'value')}`", "start the program by torchrun, which sets it"
                )


def _removal(variable: MarkedTree, container: MarkedTree) -> list[Edit]:
    """The edit that removes a variable; none where another one takes its value, which would be another one then."""
    wanted = f"$({text(variable, 'name')})"
    is_taken = any(wanted in text(each, "value") for _, each in variables(container))
    return [] if is_taken else [Edit(variable, removes=True)]


RULES = (
    Rule(overridden_variable, "warning"),
    Rule(replaced_variable, "warning"),
    Rule(replacing_variable, "warning", sees="job"),
    Rule(useless_rank, "warning", sees="job"),
)
