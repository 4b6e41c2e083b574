"""Environment variables of training containers."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.diagnostics.problems import remove
from jobspec.diagnostics.rules import Edit, Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.lint.linted import LintedJob
from jobspec.operators.workloads import REPLICATED_JOBS
from jobspec.programs.command_lines import JAX, TORCH

_RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK")


def overridden_variable(job: LintedJob) -> Iterator[Finding]:
    """The operator sets the same variable: the job's value is lost.

    Why: training-operator appends MASTER_ADDR, WORLD_SIZE, RANK, PYTHONUNBUFFERED and the PET_ variables to each container, and the last
    of a name counts; the trainer replaces PET_ variables of a runtime. What is written is not what the program sees.
    Instead: leave the variable out. For another port, give the container a port named `pytorchjob-port`.
    Fix: removes the value that no pod sees, unless another variable takes it.
    Before: env: [{name: WORLD_SIZE, value: "8"}]
    After: env: []
    Evidence: `setPodEnv` of training-operator pkg/controller.v1/pytorch; `Torch` plugin of github.com/kubeflow/trainer
    """
    for container in job.containers:
        variables = [] if container.is_init else container.variables
        last = dict(variables)
        for name, each in variables:
            of_operator = last[name]
            if of_operator is each or not each.mark.line or of_operator.mark.line:
                continue
            if text(each, "value") != text(of_operator, "value"):
                message = f"`{name}` is overwritten by the operator: this value is lost"
                yield Finding(each, message, "remove it", edits=_removal(each, container.tree))


def replaced_variable(job: LintedJob) -> Iterator[Finding]:
    """The runtime sets a variable that the trainer overwrites.

    Why: nobody checks a runtime for the variables that the trainer keeps for itself; it writes its own values over them.
    Instead: leave the variable out; the TrainJob says the numbers of nodes and processes.
    Fix: removes the value that no pod sees, unless another variable takes it.
    Before: env: [{name: PET_NNODES, value: "4"}]
    After: env: []
    Evidence: `Torch` plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0 to 2.3
    """
    if job.get("spec", "mlPolicy", "torch") is None:
        return
    for role in items(job.tree.get(*REPLICATED_JOBS)):
        for container in items(role.get("template", "spec", "template", "spec", "containers")):
            for each in items(container.get("env")):
                if text(each, "name") in TORCH and text(container, "name") == "node":
                    message = f"`{text(each, 'name')}` is overwritten by the trainer"
                    yield Finding(each, message, "remove it", edits=_removal(each, container))


def replacing_variable(job: LintedJob) -> Iterator[Finding]:
    """A TrainJob overrides a variable by which the trainer gives JAX its rank.

    Why: the trainer refuses its own PET_ variables in a job, but lets those of JAX through: the job's value then counts in every pod, so
    that all of them are the same process or wait for another number of them.
    Instead: leave it out; the trainer sets it for each pod.
    Fix: gives each pod its own `JAX_COORDINATOR_ADDRESS`, `JAX_NUM_PROCESSES` and `JAX_PROCESS_ID`.
    Before: trainer: {env: [{name: JAX_PROCESS_ID, value: "0"}]}
    After: trainer: {env: []}
    Evidence: `Jax` plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/jax, 2.2 and 2.3
    """
    is_jax = job.in_runtime("spec", "mlPolicy", "jax") is not None
    for each in items(job.tree.get("spec", "trainer", "env")) if is_jax else ():
        if text(each, "name") in JAX:
            message = f"`{text(each, 'name')}` overrides the value that the trainer sets for each pod"
            yield Finding(each, message, "remove it", edits=[(each, remove())])


def hardcoded_rank(job: LintedJob) -> Iterator[Finding]:
    """A TrainJob sets a rank by hand: the same one in every pod.

    Why: one value for all pods makes all of them rank 0, or whatever is set there; torchrun sets these variables for each process, and
    replaces the job's.
    Instead: start the program by torchrun, and leave the variable out.
    Before:
        command: [python, train.py]
        env: [{name: RANK, value: "0"}]
    After: command: [torchrun, train.py]
    Evidence: kubeflow/trainer#2800; kubeflow/trainer docs/operator-guides/migration.md
    """
    for container in job.training_containers if job.training_pods > 1 else ():
        for name, each in container.variables:
            if name in _RANKS and each.mark.line and each.get("value"):
                message = f"all {container.role.count} pods have `{name}={text(each, 'value')}`"
                yield Finding(each, message, "start the program with torchrun, which sets it")


def _removal(variable: MarkedTree, container: MarkedTree) -> list[Edit]:
    """The edit that removes a variable; none where another one takes its value, which would be another one then."""
    wanted = f"$({text(variable, 'name')})"
    is_taken = any(wanted in text(each, "value") for each in items(container.get("env")))
    return [] if is_taken else [(variable, remove())]


ENVIRONMENT_RULES = (
    Rule(overridden_variable, "warning", reads=["env"]),
    Rule(replaced_variable, "warning", sees="runtime's pods", reads=TORCH),
    Rule(replacing_variable, "warning", sees="TrainJob", reads=JAX),
    Rule(hardcoded_rank, "warning", sees="TrainJob", reads=_RANKS),
)
