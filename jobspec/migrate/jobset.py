"""The TrainJobs that a JobSet or an indexed Job with torchrun may become: with a shipped runtime, or with a runtime that has its pods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jobspec.apis.kinds import JOBSET
from jobspec.apis.releases import Target
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text, with_marks
from jobspec.migrate import facts
from jobspec.migrate.facts import NAME, JobNode
from jobspec.migrate.pytorchjob import SHIPPED, of_one_job
from jobspec.migrate.writing import (
    NAME_OF_JOB,
    by_migration,
    own_metadata,
    present,
    renamed_variable,
    template_metadata,
    without_nulls,
    words,
)
from jobspec.operators.trainer.life import has_deadline, makes_again
from jobspec.operators.trainer.runtimes import ANCESTOR, API_VERSION, TRAINER
from jobspec.operators.workloads import NODE
from jobspec.programs.command_lines import LAUNCHER, command_line, length_of_start, options_of

#: How a shell's text shows that it starts torchrun.
_LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate launch")
#: The settings of torchrun that the trainer gives each node in a variable.
_GIVEN_BY_TRAINER = ("nnodes", "node_rank", "master_addr", "master_port", "rdzv_backend", "rdzv_endpoint", "rdzv_id")
#: What a TrainJob says itself, or its controller sets, in the specs of a JobSet and of a Job.
_OF_JOBSET = ("suspend", "managedBy", "ttlSecondsAfterFinished", "coordinator")
_OF_JOB = ("suspend", "managedBy", "ttlSecondsAfterFinished", "parallelism", "completions", "completionMode", "selector", "manualSelector")


def starts_torchrun(job: Document) -> bool:
    """True if a container of a JobSet or of an indexed Job starts torchrun."""
    source = BatchSource(job, (), {})
    is_indexed = job.group_kind == JOBSET or text(source.spec, "completionMode") == "Indexed"
    return is_indexed and any(_is_launched(each) for role in source.roles for each in items(role.pod.get("spec", "containers")))


def _is_launched(container: MarkedTree) -> bool:
    command, args = ([text(each) for each in items(container.get(field))] for field in ("command", "args"))
    spoken = " ".join([*command, *args])
    return command_line(command, args).how == LAUNCHER or any(each in spoken for each in _LAUNCHERS)


class _Role:
    """A replicated job of a JobSet, or a Job as the only one: its name, how many Jobs it is, and the spec of a Job."""

    __slots__ = ("job", "name", "replicas", "tree")

    def __init__(self, name: str, replicas: int, job: MarkedTree, tree: MarkedTree) -> None:
        self.name = name
        self.replicas = replicas
        self.job = job
        self.tree = tree
        """The replicated job, or the Job."""

    @property
    def pod(self) -> MarkedTree:
        """Return the pod template."""
        return self.job.get("template") or self.job.with_value({})

    @property
    def pods(self) -> int:
        """Return the number of pods of one Job."""
        given = self.job.get("parallelism")
        return int(given.value) if given else 1


class BatchSource:
    """One JobSet or Job, and the release that it goes to."""

    __slots__ = ("document", "nodes", "release", "roles", "spec", "tree")

    def __init__(self, document: Document, objects: Sequence[MarkedTree], target: Target) -> None:
        """*objects*: what the controllers make of it."""
        self.document = document
        self.release = target.get("trainer", "")
        self.tree = without_nulls(with_marks(document.data, document.marks))
        self.spec: MarkedTree = self.tree.get("spec") or self.tree.with_value({})
        self.nodes: list[JobNode] = facts.nodes_of(objects, document.group_kind) if objects else []
        self.roles = list(self._roles())

    @property
    def is_jobset(self) -> bool:
        """True for a JobSet."""
        return self.document.group_kind == JOBSET

    def _roles(self) -> Iterator[_Role]:
        if not self.is_jobset:
            yield _Role(NODE, 1, self.spec, self.tree)
            return
        for each in items(self.spec.get("replicatedJobs")):
            replicas = each.get("replicas")
            job = each.get("template", "spec")
            if job is not None:
                yield _Role(text(each, "name"), int(replicas.value) if replicas else 1, job, each)

    @property
    def lead(self) -> _Role:
        """Return the role that starts torchrun."""
        launched = [each for each in self.roles if any(map(_is_launched, items(each.pod.get("spec", "containers"))))]
        return (launched or self.roles)[0]

    @property
    def name(self) -> str:
        """Return a name for the runtime."""
        return self.document.name or text(self.tree, "metadata", "generateName").rstrip("-")


def batch_ways(source: BatchSource) -> Iterator[list[MarkedTree]]:
    """Yield the candidates for a migrated JobSet or Job, from the simplest to the most faithful."""
    if len(source.roles) == 1 and source.lead.replicas == 1 and len(items(source.lead.pod.get("spec", "containers"))) == 1:
        yield [_train_job(source, {"name": SHIPPED}, trainer=_trainer(source))]
    yield _with_runtime(source)


def _train_job(source: BatchSource, ref: dict[str, str], *, trainer: MarkedTree | None = None) -> MarkedTree:
    deadline = source.spec.get("activeDeadlineSeconds") if not source.is_jobset and has_deadline(source.release) else None
    fields = {"suspend": source.spec.get("suspend"), "activeDeadlineSeconds": deadline, "runtimeRef": by_migration(ref), "trainer": trainer}
    metadata = own_metadata(source.tree.value["metadata"])
    tree = source.tree
    made: MarkedTree = tree.with_value(
        {
            "apiVersion": tree.value["apiVersion"].with_value(API_VERSION),
            "kind": tree.value["kind"].with_value("TrainJob"),
            "metadata": metadata,
            "spec": source.spec.with_value(present(fields)),
        }
    )
    return made


# With the shipped runtime, which has torchrun's settings in variables: those on the command line are needless.


def _trainer(source: BatchSource) -> MarkedTree:
    role = source.lead
    (container,) = items(role.pod.get("spec", "containers"))
    renamed = _renaming(source)
    command, processes = _without_settings(container)
    parallelism = role.job.get("parallelism")
    fields = {
        "numNodes": parallelism or by_migration(role.pods),
        "numProcPerNode": processes,
        "image": container.get("image"),
        **{field: words(each, renamed) for field, each in command.items() if each.value},
        "env": _environment(container.with_value({**container.value, **command}), renamed),
        "resourcesPerNode": container.get("resources"),
    }
    return container.with_value(present(fields))


def _without_settings(container: MarkedTree) -> tuple[dict[str, MarkedTree], MarkedTree | None]:
    """Return the command and the arguments without the settings that the trainer gives, and the number of processes.

    A shell's text stays as it is.
    """
    lists = {field: container.value[field] for field in ("command", "args") if field in container.value}
    both = [each for given in lists.values() for each in items(given)]
    spoken = [text(each) for each in both]
    start = length_of_start(spoken) if "command" in lists else 0
    if not start:
        return lists, None
    gone: set[int] = set()
    processes = None
    for each in options_of(spoken[start:]):
        name = (each.option or each.name).lstrip("-").replace("-", "_")
        places = range(start + each.at, start + each.value_at + 1)
        if name in _GIVEN_BY_TRAINER:
            gone.update(places)
        elif name == "nproc_per_node" and (each.value or "").isdecimal():
            gone.update(places)
            processes = both[places[-1]].with_value(int(each.value or ""))
    kept, at = {}, 0
    for field, given in lists.items():
        inner = items(given)
        kept[field] = given.with_value([word for number, word in enumerate(inner, at) if number not in gone])
        at += len(inner)
    return kept, processes


def _environment(container: MarkedTree, renamed: Callable[[str], str]) -> MarkedTree | None:
    given = container.get("env")
    own = [renamed_variable(each, renamed) for each in items(given)]
    spoken = [renamed(text(each)) for field in ("command", "args") for each in items(container.get(field))]
    is_used = any(f"$({NAME})" in each for each in [*spoken, *(text(each, "value") for each in own)])
    env = [NAME_OF_JOB, *own] if is_used else own
    return (given.with_value(env) if given else by_migration(env)) if env else None


def _renaming(source: BatchSource) -> Callable[[str], str]:
    """Return a function to replace the names of the job's pods in a text by those that they have in the replicated job `node`."""
    names = {node.pod.host_name.partition(".")[0]: of_one_job(rank) for rank, node in enumerate(source.nodes) if node.pod.host_name}
    return facts.with_other_hosts(names, facts.DOMAIN)


# With a runtime that has the pods as they are. A JobSet of the same name has replicated jobs, pods and hosts of the same names.


def _with_runtime(source: BatchSource) -> list[MarkedTree]:
    renamed = (lambda each: each) if source.is_jobset else _renaming(source)
    lead = source.lead
    is_counted = lead.replicas == 1
    jobs = [_replicated(source, each, renamed, labelled=is_counted and each is lead) for each in source.roles]
    kept = {name: each for name, each in source.spec.value.items() if name not in _OF_JOBSET} if source.is_jobset else {}
    seconds = None if makes_again(source.release) else source.spec.get("ttlSecondsAfterFinished")
    inside = {**present({"ttlSecondsAfterFinished": seconds}), **kept, "replicatedJobs": jobs}
    metadata = present({"name": source.name, "namespace": source.tree.get("metadata", "namespace")})
    metadata["labels"] = {"trainer.kubeflow.org/framework": "torch"}
    policy = {"mlPolicy": {"numNodes": lead.pods}} if is_counted else {}
    whole = {**policy, "template": {"spec": inside}}
    runtime = by_migration({"apiVersion": API_VERSION, "kind": "TrainingRuntime", "metadata": metadata, "spec": whole})
    ref = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": source.name}
    return [runtime, _train_job(source, ref)]


def _replicated(source: BatchSource, role: _Role, renamed: Callable[[str], str], *, labelled: bool) -> MarkedTree | dict[str, Any]:
    template = _pod_template(role.pod, renamed, without=() if source.is_jobset else ("hostname", "subdomain"))
    label = {ANCESTOR: TRAINER} if labelled else {}
    if not source.is_jobset:
        fields = {name: each for name, each in role.job.value.items() if name not in _OF_JOB}
        if has_deadline(source.release):
            fields.pop("activeDeadlineSeconds", None)
        return {"name": NODE, "template": {"metadata": {"labels": label}, "spec": {**fields, "template": template}}}
    outer = role.tree.value["template"]
    metadata = outer.get("metadata") or by_migration({})
    labels = metadata.get("labels")
    labelled_metadata = metadata.with_value({**metadata.value, "labels": by_migration({**(labels.value if labels else {}), **label})})
    job = role.job.with_value({**role.job.value, "template": template})
    made = outer.with_value({**outer.value, **({"metadata": labelled_metadata} if label else {}), "spec": job})
    return role.tree.with_value({**role.tree.value, "template": made})


def _pod_template(template: MarkedTree, renamed: Callable[[str], str], *, without: Sequence[str]) -> MarkedTree:
    """Return a pod template whose first container has the name that the trainer requires.

    *without*: fields by which a Job's pods find each other, which a JobSet sets itself.
    """
    spec = template.value["spec"]
    first, *others = items(spec.get("containers"))
    fields = {**first.value, "name": first.value["name"].with_value(NODE)}
    for field in ("command", "args"):
        if field in fields:
            fields[field] = words(fields[field], renamed)
    env = _environment(first, renamed)
    fields |= {"env": env} if env else {}
    containers = spec.value["containers"].with_value([first.with_value(fields), *others])
    kept = {name: each for name, each in spec.value.items() if name not in without}
    pod = spec.with_value({**kept, "containers": containers})
    made: MarkedTree = template.with_value({**template.value, **template_metadata(template), "spec": pod})
    return made
