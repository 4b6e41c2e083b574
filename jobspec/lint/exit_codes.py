"""Exit codes: what the container ends with is not always what the program in it exits with."""

from __future__ import annotations

from jobspec.apis.kinds import LEADER_WORKER_SET, RAY_CLUSTER, RAY_SERVICE
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.lasting_pods import runs_until_deleted
from jobspec.operators.life import RETRYABLE
from jobspec.outcome.training_program import TrainingProgram
from jobspec.programs.command_lines import SHELLS, file_name, length_of_start
from jobspec.programs.shells import script_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.lint.linted import LintedJob
    from jobspec.programs.exit_status import LostStatus


#: The codes below those of signals and shells with which torchrun exits: a failure of any kind, and a wrong command line.
_OF_TORCHRUN = (1, 2)


#: The codes from here on are those of shells that find no program, and of signals.
_OF_SHELLS = RETRYABLE - 2


#: The kinds whose pods are never done: one that ends is started again, whatever its status is.
_NEVER_DONE = (LEADER_WORKER_SET, RAY_CLUSTER, RAY_SERVICE)


def hidden_exit_code(job: LintedJob) -> Iterator[Finding]:
    """A rule waits for an exit code of a script that torchrun does not pass on.

    Why: torchrun exits with 1 whatever its script exits with, or which signal ended the script. A rule of `podFailurePolicy` about another
    code never matches, and one with `NotIn` always; the restart policy ExitCode takes every failure for a permanent one.
    Instead: rules on the code 1, or on the pod's conditions (`onPodConditions`); or start the script without torchrun.
    Before: "onExitCodes: {operator: In, values: [42]}"
    After: "onPodConditions: [{type: DisruptionTarget}]"
    Evidence: torch 2.15; `main` of torch.distributed.run raises ChildFailedError
    """
    for made in job.batch_jobs:
        containers = items(made.get("spec", "template", "spec", "containers"))
        for rule in items(made.get("spec", "podFailurePolicy", "rules")):
            named = text(rule, "onExitCodes", "containerName")
            asked = [each for each in containers if named in ("", text(each, "name"))]
            values = rule.get("onExitCodes", "values")
            if values is None or not asked or not all(map(_ends_as_torchrun, asked)):
                continue
            hidden = [each for each in items(values) if isinstance(each.value, int) and _is_hidden(each.value)]
            if hidden and len(hidden) == len(items(values)):
                is_in = text(rule, "onExitCodes", "operator") == "In"
                what = "the rule never matches" if is_in else "the rule matches every failure"
                message = f"torchrun exits with 1 whatever its script exits with, never with {hidden[0].value}: {what}"
                yield Finding(hidden[0], message, "write a rule on the code 1, or on `onPodConditions`")
    for role, spec in job.replica_specs:
        policy = spec.get("restartPolicy")
        container = role.training_container()
        if policy and policy.value == "ExitCode" and container and _ends_as_torchrun(container):
            message = "torchrun exits with 1 whatever its script exits with: `ExitCode` restarts only what a signal ends as a whole"
            yield Finding(policy, message, "use `OnFailure` with a `backoffLimit`")


def lost_exit_status(job: LintedJob) -> Iterator[Finding]:
    """A shell's script ends with another exit status than that of the training.

    Why: a pipeline has the status of its last command, and so has a script: behind `| tee` it is that of `tee`, behind `; echo done` that
    of `echo`. A training that fails then counts as done: it is not restarted, no `backoffLimit` is used, and the job succeeds.
    Instead: `set -o pipefail` before a pipeline, which bash has and some shells of the name `sh` have not; `set -e` before a list of
    commands, or `rc=$?` right behind the training and `exit $rc` at the end.
    Before: 'command: [bash, -c, "torchrun train.py 2>&1 | tee /tmp/log"]'
    After: 'command: [bash, -c, "set -o pipefail; torchrun train.py 2>&1 | tee /tmp/log"]'
    Evidence: 2.8.2 and 2.9.2 of the Shell Command Language of POSIX
    """
    for container in job.training_containers:
        program = container.program
        at = script_at(program.texts)
        restarts_anyway = text(container.role.pod_tree, "spec", "restartPolicy") == "Always" or job.given.group_kind in _NEVER_DONE
        if at is None or program.script is None or restarts_anyway or runs_until_deleted(job.given, container.role.name):
            continue
        from jobspec.programs.exit_status import lost_status

        lost = lost_status(program.texts, at, program.script)
        if lost and program.words[at].mark.line:
            what = "its pipeline has" if lost.is_piped else "the script ends with"
            message = f"a failed `{lost.launcher}` counts as done: {what} the status of `{lost.taken_from}`"
            yield Finding(program.words[at], message, _remedy(lost, file_name(program.texts[0])))


def _remedy(lost: LostStatus, shell: str) -> str:
    if lost.is_piped:
        return f"{'' if shell == 'bash' else 'use bash, and '}write `set -o pipefail` at the beginning"
    return f"write `set -e` at the beginning, or exit with the status of `{lost.launcher}`"


def _is_hidden(code: int) -> bool:
    """Whether torchrun never exits with a code."""
    return code not in _OF_TORCHRUN and code < _OF_SHELLS


def _ends_as_torchrun(container: MarkedTree) -> bool:
    """Whether a container surely exits with the code of torchrun: it is the program, or the last command of a script."""
    program = TrainingProgram(container)
    return program.is_torchrun and (program.script is None or length_of_start(program.script.commands[-1].words) > 0)


RULES = (
    Rule(hidden_exit_code, "info", reads=["onExitCodes", "ExitCode"]),
    Rule(lost_exit_status, "warning", sees="job", reads=SHELLS),
)
