"""Environment variables of training containers."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import RUNTIMES, TRAINJOB
from jobspec.diagnostics.problems import remove, set_to
from jobspec.diagnostics.rules import Edit, Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.kubernetes.problems import closest, listed
from jobspec.lint.env_values import unexpanded_values
from jobspec.lint.linted import LintedJob
from jobspec.operators.kuberay import WAITER
from jobspec.operators.workloads import REPLICATED_JOBS
from jobspec.programs.command_lines import JAX, OF_LAUNCHERS, RANKS, TORCH, is_shell, references
from jobspec.programs.shells import Script, is_name

_RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK")
_RANKS_OF_PODS = ("RANK", "NODE_RANK", "PET_NODE_RANK", "JAX_PROCESS_ID")
#: The variables with the number of a pod, of the operators that set them.
_NUMBERS_OF_PODS = ("LWS_WORKER_INDEX", "PET_NODE_RANK", "JOB_COMPLETION_INDEX", "RANK")


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

    Why: nobody checks a runtime for the variables that the trainer keeps for itself; it writes its own values over them. It does not for
    a TrainJob without `spec.trainer`, whose pods get the runtime's value: where the files have such a job, nothing is reported.
    Instead: leave the variable out; the TrainJob says the numbers of nodes and processes.
    Fix: removes the value that no pod sees, unless another variable takes it.
    Before: env: [{name: PET_NNODES, value: "4"}]
    After: env: []
    Evidence: `Torch` plugin of github.com/kubeflow/trainer pkg/runtime/framework/plugins/torch, 2.0 to 2.3
    """
    is_seen = (job.given.kind, job.given.name) in job.documents.runtimes_of_bare_jobs
    if is_seen or job.get("spec", "mlPolicy", "torch") is None:
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
    """A job sets a rank by hand: the same one in every pod.

    Why: one value for all pods makes all of them rank 0, or whatever is set there; torchrun sets these variables for each process, and
    replaces the job's. With one `--machine_rank` for all, each pod of accelerate waits for the others at itself, until its timeout.
    Instead: start the program by torchrun, and leave the variable out.
    Before:
        command: [python, train.py]
        env: [{name: RANK, value: "0"}]
    After: command: [torchrun, train.py]
    Evidence: kubeflow/trainer#2800, huggingface/accelerate#1645; kubeflow/trainer docs/operator-guides/migration.md;
    `prepare_multi_gpu_env` of accelerate's utils/launch.py
    """
    yield from _alike_machines(job)
    ranks = _RANKS if job.given.group_kind == TRAINJOB else _RANKS_OF_PODS
    for container in job.training_containers if job.training_pods > 1 and not job.framework else ():
        for name, each in container.variables if container.role.meeting > 1 else ():
            if name in ranks and each.mark.line and each.get("value") and not references(text(each, "value")):
                message = f"all {container.role.meeting} pods have `{name}={text(each, 'value')}`"
                yield Finding(each, message, "start the program with torchrun, which sets it")


def _alike_machines(job: LintedJob) -> Iterator[Finding]:
    """Report the number of a machine that accelerate gets in several pods that meet."""
    given = [
        (container, option.value, launched[1][option.value_at])
        for container in job.training_containers
        if (launched := container.other_launcher) and (option := launched[0].machine_rank(container.gpus))
    ]
    for container, rank, place in given:
        pods = sum(each.role.meeting for each, same, _ in given if same == rank)
        if pods > 1 and rank and rank.isdecimal():
            own = next((name for name in _NUMBERS_OF_PODS if container.variable(name)), "")
            hint = f"write `--machine_rank=$({own})`" if own else "give each pod its own, such as the index of an Indexed Job"
            yield Finding(place, f"all {pods} pods have `--machine_rank={rank}`", hint)


def missing_machine_rank(job: LintedJob) -> Iterator[Finding]:
    """Accelerate gets the number of machines, but not the rank of the pod.

    Why: accelerate reads neither RANK nor the variables of torchrun. Without `--machine_rank` it ends at once, "int() argument must be ...
    not 'NoneType'"; with a configuration file in the image, all pods get the one rank of that file, and wait for the others.
    Instead: give each pod its own number; or start the program with torchrun.
    Before: "command: [accelerate, launch, --multi_gpu, --num_machines=2, train.py]"
    After: "command: [accelerate, launch, --multi_gpu, --num_machines=2, --machine_rank=$(RANK), train.py]"
    Evidence: `prepare_multi_gpu_env` of accelerate's utils/launch.py, 1.15; huggingface/accelerate#3206
    """
    for container in job.training_containers:
        launched = container.other_launcher
        if launched and launched[0].lacks_machine_rank(container.gpus):
            said = launched[0].option("--num-machines")
            own = next((name for name in _NUMBERS_OF_PODS if container.variable(name)), "")
            hint = f"write `--machine_rank=$({own})`" if own else "give each pod its own, such as the index of an Indexed Job"
            place = launched[1][said.value_at] if said else container.tree
            yield Finding(place, "several machines without `--machine_rank`: accelerate ends at once, or all pods are one machine", hint)


def undefined_variable(job: LintedJob) -> Iterator[Finding]:
    """A command line or a mount uses a variable that neither the manifest nor the operator sets.

    Why: the trainer's pods have the variables of torchrun (`PET_NNODES`, `PET_NODE_RANK`, `PET_MASTER_ADDR`), and no RANK, WORLD_SIZE or
    MASTER_ADDR, which torchrun sets for its processes; training-operator sets RANK, and no NODE_RANK. In a shell, the value is empty;
    `$(NAME)` in `command`, `args` and `env` stays as it is. The program gets a wrong number or address, and ends or waits. A container
    with an unknown `$(NAME)` in the `subPathExpr` of a mount never starts. A TrainJob may set variables that its runtime uses: of a runtime
    without a job among the files, an info names them.
    Instead: leave the options to torchrun, which reads its variables; or use a variable that the pod has, or set it.
    Before: 'command: [sh, -c, "torchrun --node-rank=$NODE_RANK train.py"]'
    After: command: [torchrun, train.py]
    Evidence: hpcaitech/ColossalAI#6349, kubeflow/trainer#2800, kubernetes-sigs/lws#390
    """
    is_runtime = job.given.group_kind in RUNTIMES
    for container in job.containers if not (job.has_unknown_operator or job.is_used_runtime) else ():
        if container.is_init and container.name == WAITER:
            continue  # KubeRay gives it the worker's `env` without its `envFrom`, and it uses none of these variables
        if items(container.tree.get("envFrom")) or any("${" in each for each in (job.given.namespace, text(container.image))):
            continue  # a program fills in the variables of the file before it is applied
        known = {name for name, _ in container.variables}
        program = container.program
        values = [each.get("value") for _, each in container.variables]
        given = [(each, references(text(each))) for each in values]
        given += [(word, _used(word, program.script)) for word in program.words]
        paths = [each.get("subPathExpr") for each in items(container.tree.get("volumeMounts"))]
        given += [(each, references(str(each.value))) for each in paths if each]
        for place, names in given:
            missing = [name for name in dict.fromkeys(names) if name not in known and not _is_of_service(name)]
            if place and missing and place.mark.line:
                has = [each for each in dict.fromkeys((*TORCH, *RANKS, "MASTER_ADDR", "WORLD_SIZE")) if each in known]
                hint = f"the pod has {listed(has)}" if has else "set the variable, or remove it"
                hint = closest(missing[0], sorted(known)) or hint
                effect = "the container never starts" if place in paths else "undefined"
                if is_runtime and place not in values and not any(map(_differs_by_pod, missing)):
                    yield Finding(place, f"{effect} unless the TrainJob sets {listed(missing)}", hint, severity="info")
                else:
                    yield Finding(place, f"{effect}: nothing sets {listed(missing)} in `{container.role.name}`", hint)


def _differs_by_pod(name: str) -> bool:
    """True if a variable has another value in each pod, or is an operator's own, so that no TrainJob sets it."""
    return name in (*_RANKS, *_RANKS_OF_PODS) or name.startswith(_OF_OPERATORS)


def unexpanded_variable(job: LintedJob) -> Iterator[Finding]:
    """A command line without a shell, or a value of `env`, has `$NAME`, which nothing expands.

    Why: Kubernetes expands `$(NAME)` alone, and `$NAME` is for shells, which expand it in a script and not in the value of a variable. The
    program gets the name and not the value: it writes to a folder named `$OUT`, or cannot read a number. With `$PATH:/opt/bin` as PATH,
    the folders of the image are lost, and programs or libraries are not found.
    Instead: write `$(NAME)`, or run the program in a shell; of a variable of the image, write the whole value, or export it in a shell.
    Fix: writes `$(NAME)` in `command` and `args`, and in `env` if the variable is defined before.
    Before: 'command: [python, train.py, "--out=$OUT"]'
    After: 'command: [python, train.py, "--out=$(OUT)"]'
    Evidence: https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/
    """
    for container in job.containers:
        words = [each for field in ("command", "args") for each in items(container.tree.get(field))]
        line = [str(each.value) for each in words]
        is_expanded = any(is_shell(each) or each.endswith((".sh", ".bash")) for each in line)
        known = {name for name, _ in container.variables} if items(container.tree.get("command")) and not is_expanded else ()
        for place, said in zip(words, line, strict=True) if known else ():
            names = [each for each in _of_shells(said) if each in known]
            if names and place.mark.line:
                wanted = said
                for name in names:
                    wanted = wanted.replace(f"${{{name}}}", f"$({name})").replace(f"${name}", f"$({name})")
                message = f"no shell expands `${names[0]}`: the program gets this text"
                yield Finding(place, message, f"write `$({names[0]})`, which Kubernetes expands", edits=[(place, set_to((), wanted))])
        yield from unexpanded_values(job, container)


def _of_shells(word: str) -> list[str]:
    """The variables in a word that a shell would expand; none in a text with blanks, which may be a script for a program."""
    if "$" not in word or "$$" in word or any(each.isspace() for each in word):
        return []
    import re

    return [braced or plain for braced, plain in re.findall(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", word)]


def expanded_here_document(job: LintedJob) -> Iterator[Finding]:
    """The shell replaces a variable in Python code: the here-document that holds it is not quoted.

    Why: behind `<< EOM` a shell replaces `$NAME` and commands in backquotes before Python sees the code. A variable that the container does
    not have becomes empty. The Kubeflow SDK writes the source of a training function so.
    Instead: quote the delimiter; in a function of the SDK, read `os.environ`.
    Before: |
        python - << EOM
        print("costs $PRICE")
        EOM
    After: |
        python - << 'EOM'
        print("costs $PRICE")
        EOM
    Evidence: 2.7.4 of the Shell Command Language of POSIX; `get_command_using_train_func` of kubeflow/sdk 0.5.0
    """
    for container in job.containers:
        known = {name for name, _ in container.variables}
        script = container.program.script
        for document in script.here_documents if script and not items(container.tree.get("envFrom")) else ():
            missing = [each for each in document.used if each not in known and each not in script.assigned] if script else []
            place = next((word for word in container.program.words if script and str(word.value) == script.text), None)
            if missing and place and place.mark.line and any(line.lstrip().startswith(_PYTHON) for line in document.text.split("\n")):
                names = listed([f"${each}" for each in missing])
                message = f"the shell replaces {names} in the Python code of an unquoted here-document"
                yield Finding(place, message, "quote the delimiter: `<< 'EOM'`; in a function of the SDK, read `os.environ`")


#: How lines begin that a program in Python has, and a shell's script has not.
_PYTHON = ("import ", "from ", "def ", "print(")


def variable_before_definition(job: LintedJob) -> Iterator[Finding]:
    """A variable refers to one that comes later in the list.

    Why: `$(NAME)` in `env` is filled from the entries before it; else the text stays as it is. training-operator appends MASTER_ADDR and
    its others behind those of the job. In `command` and `args` the order does not matter.
    Instead: define the other variable first; of an operator's, use it in `args`.
    Before: "env: [{name: URL, value: 'tcp://$(HOST):80'}, {name: HOST, value: a}]"
    After: "env: [{name: HOST, value: a}, {name: URL, value: 'tcp://$(HOST):80'}]"
    Evidence: AI-Hypercomputer/xpk#140; `value` of EnvVar in the API of Kubernetes
    """
    for container in job.containers:
        seen: set[str] = set()
        every = dict(container.variables)
        for name, each in container.variables:
            said = each.get("value")
            later = [other for other in references(text(said)) if other in every and other not in seen]
            if said and said.mark.line and later and not items(container.tree.get("envFrom")):
                is_operators = not every[later[0]].mark.line
                message = f"`{name}` keeps the text `$({later[0]})`: `{later[0]}` comes after it{' (set by the operator)' * is_operators}"
                hint = f"use `$({later[0]})` in `args`" if is_operators else f"define `{later[0]}` before it"
                yield Finding(said, message, hint)
            seen.add(name)


def _used(word: MarkedTree, script: Script | None) -> list[str]:
    """The variables that a word of a command line uses: of a shell's script, those that launchers and operators alone set."""
    said = str(word.value)
    if script is None or said != script.text:
        return [each for each in references(said) if each.isupper() and is_name(each)]
    of_operators = {each for each in script.used if each in OF_LAUNCHERS or each.startswith(_OF_OPERATORS)}
    return [] if script.reads_files else sorted(of_operators - script.assigned)


#: How names begin that operators give their variables.
_OF_OPERATORS = ("LWS_", "PET_", "JOB_COMPLETION_")


def _is_of_service(name: str) -> bool:
    """Whether Kubernetes may set a variable, for a service of the namespace."""
    return name.endswith(("_SERVICE_HOST", "_SERVICE_PORT")) or (name.endswith("_PORT") and name not in OF_LAUNCHERS) or "_PORT_" in name


def _removal(variable: MarkedTree, container: MarkedTree) -> list[Edit]:
    """The edit that removes a variable; none where another one takes its value, which would be another one then."""
    wanted = f"$({text(variable, 'name')})"
    is_taken = any(wanted in text(each, "value") for each in items(container.get("env")))
    return [] if is_taken else [(variable, remove())]


RULES = (
    Rule(overridden_variable, "warning", reads=["env"]),
    Rule(replaced_variable, "warning", sees="runtime's pods", reads=TORCH),
    Rule(replacing_variable, "warning", sees="TrainJob", reads=JAX, has_unsafe_fix=True),
    Rule(undefined_variable, "warning", sees="any pods", reads=["$"]),
    Rule(unexpanded_variable, "warning", sees="any pods", reads=["$"], has_unsafe_fix=True),
    Rule(variable_before_definition, "warning", sees="any pods", reads=["$("]),
    Rule(expanded_here_document, "warning", reads=["<<"]),
    Rule(missing_machine_rank, "warning", sees="job", reads=["machines"]),
    Rule(hardcoded_rank, "warning", sees="job", reads=[*_RANKS, *_RANKS_OF_PODS, "machine"]),
)
