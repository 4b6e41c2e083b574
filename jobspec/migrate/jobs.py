"""Migrate one job: choose the TrainJob that changes least, compare its pods, and report the differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from jobspec.apis.kinds import JOB, MPIJOB, PYTORCHJOB, TRAINJOB
from jobspec.apis.kinds import JOBSET as JOBSET_KIND
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import Mark, Path
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, as_document, walk, with_marks
from jobspec.journey.checking import check
from jobspec.journey.references import resolve
from jobspec.journey.steps import Manifests
from jobspec.migrate.facts import JOBSET, NAME, TRAINING, Difference, Fact, JobFacts, Key, compared, job_facts, main_container
from jobspec.migrate.jobset import BatchSource, batch_ways, starts_torchrun
from jobspec.migrate.mpijob import OF_CONTROLLER, OPEN_MPI, V1, WORKER, MPISource, as_v2, first_container, is_idle, mpi_ways, root_with_key
from jobspec.migrate.pytorchjob import SourceJob, ways
from jobspec.programs.command_lines import LAUNCHER, SETTINGS
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Severity


_REFUSED = 1_000_000_000


class MigratedJob:
    """A job, and the manifests that take its place."""

    __slots__ = ("after", "before", "differences", "documents", "job", "refusals", "trees")

    def __init__(
        self, job: Document, trees: Sequence[MarkedTree], before: JobFacts, cluster: Cluster, context: Sequence[Document] = ()
    ) -> None:
        """*context*: further documents that the new manifests may refer to."""
        self.job = job
        """As it was."""
        self.trees = trees
        """The manifests that take its place, with the places in the source that their values come from; the job comes last."""
        self.documents = [as_document(each, job) for each in trees]
        """The same as documents."""
        self.before = before
        self.refusals: list[str] = _refusals(self.documents, context, cluster)
        """Why a server or an operator refuses the new manifests; empty where they take them."""
        self.after = None if self.refusals else job_facts(self.documents[-1], [*self.documents, *context], cluster.target)
        self.differences: list[Difference] = []
        if self.after:
            found = compared(before, self.after)
            self.differences = [each for each in found if not _is_of_ssh(each, job)] if job.group_kind == MPIJOB else found
            self.refusals = [each.message for each in self.after.refusals if each.severity == "error"]

    def rules(self) -> list[str]:
        """Return the rule of each difference."""
        return [meaning_in(self.before.facts, each) for each in self.differences]

    def cost(self) -> int:
        """Return the loss as a number, to compare candidates."""
        return _REFUSED if self.refusals else sum(COST[rule] for rule in self.rules())


def _refusals(documents: Sequence[Document], context: Sequence[Document], cluster: Cluster) -> list[str]:
    """Why a server that has the *context* refuses new manifests; empty where it does not."""
    around = check(Manifests("", [*context]), cluster) if context else None
    checked = check(Manifests(documents[-1].file, documents), cluster)
    resolved = resolve([checked, *([around] if around else [])], cluster)[0]
    return [each.message for each in resolved.result.diagnostics if each.severity == "error"]


# The TrainJob that changes least, found by comparing the pods of each candidate with those of the job.


def becomes_trainjob(job: Document) -> bool:
    """True if a job is one that `migrate --to TrainJob` converts."""
    return job.group_kind in (PYTORCHJOB, MPIJOB) or (job.group_kind in (JOB, JOBSET_KIND) and starts_torchrun(job))


def becomes_v2(job: Document) -> bool:
    """True if a job is one that `migrate --to MPIJob` converts: an MPIJob of training-operator."""
    return job.group_kind == MPIJOB and job.api_version == V1


def migrate_to_trainjob(
    job: Document, context: Sequence[Document], cluster: Cluster, *, gang_scheduler: str = ""
) -> MigratedJob | Diagnostic:
    """Return the TrainJob that comes closest to a job, or why there is none.

    If several are equally close, it is the plainest.
    """
    before = job_facts(job, context, cluster.target, gang_scheduler=gang_scheduler)
    if not before.nodes:
        why = next((each.message for each in before.refusals), "it has no pods")
        return cannot(job, f"its controller creates no pods of it: {why}")
    if job.group_kind == MPIJOB and (library := MPISource(job, before.objects, cluster.target).library) != OPEN_MPI:
        return cannot(job, f"the trainer has {OPEN_MPI} alone, and this job has {library}")
    found = []
    for trees in _ways(job, before, cluster, gang_scheduler):
        candidate = MigratedJob(job, trees, before, cluster)
        found.append(candidate)
        if candidate.cost() < COST[LOST]:
            break
    best = min(found, key=lambda each: each.cost() // COST[LOST])
    return cannot(job, "; ".join(dict.fromkeys(best.refusals))) if best.refusals else best


def _ways(job: Document, before: JobFacts, cluster: Cluster, gang_scheduler: str) -> Iterator[list[MarkedTree]]:
    if job.group_kind == PYTORCHJOB:
        return ways(SourceJob(job, before.objects, cluster.target, gang_scheduler=gang_scheduler))
    if job.group_kind == MPIJOB:
        return mpi_ways(MPISource(job, before.objects, cluster.target))
    itself = [with_marks(job.data, job.marks)] if job.group_kind == JOB else []
    return batch_ways(BatchSource(job, [*itself, *before.objects], cluster.target))


def migrate_to_v2(job: Document, context: Sequence[Document], cluster: Cluster) -> MigratedJob | Diagnostic:
    """Return an MPIJob of training-operator as one of mpi-operator, or why there is none."""
    before = job_facts(job, context, cluster.target)
    if not before.nodes:
        why = next((each.message for each in before.refusals), "it has no pods")
        return cannot(job, f"training-operator creates no pods of it: {why}")
    found = MigratedJob(job, [as_v2(MPISource(job, before.objects, cluster.target))], before, cluster)
    return cannot(job, "; ".join(dict.fromkeys(found.refusals))) if found.refusals else found


def cannot(job: Document, why: str, *, severity: Severity = "error") -> Diagnostic:
    """Return the diagnostic of a job that cannot be migrated."""
    return job.problem("not-migrated", f"{job.kind} {job.name} is not migrated: {why}", ("metadata", "name"), severity=severity)


# The rule of a difference: a loss, a change, or a note.


LOST, CHANGED, NOTE = "migration-loss", "migration-change", "migration-note"
COST = {LOST: 1_000_000, CHANGED: 1_000, NOTE: 1}
_MEETING = ("master_addr", "master_port", "node_rank")
_LAUNCHER_WORDS = ("torchrun", "torch.distributed")


def meaning_in(facts: Mapping[Key, Fact], difference: Difference) -> str:
    """Return the rule of a difference to the *facts* of the job as it was."""
    area, about = difference.key[-2:]
    before, after = difference.before, difference.after
    if "env" in difference.key[1:-1]:
        how, words = (facts.get((*difference.key[:2], "program", each)) for each in ("how", "words"))
        return _variable(about, difference, str(how.value) if how else "", " ".join(words.value) if words else "")
    if area == "launcher":
        return _setting(difference)
    if area == "life":
        return _life(about, difference)
    if before is None or not before.mark.line or (after is not None and before.mark.line and str(before.mark) == str(after.mark)):
        return CHANGED  # a value that no file has, or one of a runtime that each release ships in its own form
    return LOST


def _variable(name: str, difference: Difference, how: str, words: str) -> str:
    """Return the rule for a difference in a variable.

    Variables of torchrun mean nothing to a program that is no launcher, and may be read by one in an unknown image. *how* and *words*:
    the program of the variable's node, before.
    """
    if name == NAME:
        return NOTE
    if not name.startswith("PET_"):
        return CHANGED if difference.before is None else LOST
    if difference.before is None or how == "at once":
        return NOTE
    is_read = how == LAUNCHER or any(each in words for each in _LAUNCHER_WORDS)
    return LOST if is_read else CHANGED if how == "image" else NOTE


def _setting(difference: Difference) -> str:
    """Nodes without a place to meet lose nothing."""
    name, before = difference.key[-1], difference.before
    harmless = ("the node's own", "", *([SETTINGS[name]] if name in _MEETING else ()))
    return CHANGED if before and before.value in harmless else LOST


def _life(about: str, difference: Difference) -> str:
    before, after = difference.before, difference.after
    if about == "restarts":
        return CHANGED if before is None or before.value == "any number" else LOST
    if about == "ttlSecondsAfterFinished" and before and after:
        return CHANGED if str(before.value).split()[0] == str(after.value).split()[0] else LOST
    if about == "others after a failure":
        return NOTE
    if about == "succeeds":
        return CHANGED if before and "keep running" in str(before.value) else LOST
    return CHANGED if before is None and after else LOST


# The differences between a job and its migration in words, at the lines of the job: one diagnostic for what all its nodes share.


SEVERITIES: dict[str, Severity] = {LOST: "warning", CHANGED: "warning", NOTE: "info"}
_LONGEST = 80
#: What is reported of the life of a job, with `{before}` and `{after}`.
_LIFE = {
    "restart": "after a failure of a container: {after}; before: {before}",
    "restarts": "containers restart at most {after} times in all, then the job fails; before: {before}",
    "succeeds": "the job succeeds {after}; before: {before}",
    "others after a failure": "when the job fails, its other pods {after}; before, they {before}",
    "restarts are counted": "restarts are counted {after}, not over all pods",
    "finished pods": "finished pods {after}; before, they {before}",
    "activeDeadlineSeconds": "the job ends after {after} seconds; before: {before}",
    "ttlSecondsAfterFinished": "the pods are deleted {after}; before: {before}",
    "suspend": "the job is suspended: {after}; before: {before}",
    "managedBy": "the job is managed by {after}; before: {before}",
    "restarts of all pods": "all pods are restarted {after} times; before: {before}",
}
_WHOSE = {"job": " of the job", JOBSET: " of the JobSet"}
_HINTS = {
    "autoscaler": "a TrainJob keeps its number of nodes: choose one that the cluster has",
    "schedulingPolicy": "it has no effect unless the operator schedules gangs: if it does, use --gang-scheduler",
    "succeeds": "have every process end once the training is over",
    "ttlSecondsAfterFinished": "the trainer would run the job again; delete finished TrainJobs by other means",
    "restarts": "a TrainJob with its own runtime can set `backoffLimit`",
    "PET_NPROC_PER_NODE": "set `numProcPerNode` in the job, if torchrun starts the program",
    "nproc_per_node": "set `numProcPerNode` in the job",
}


def loss_report(migrated: MigratedJob) -> list[Diagnostic]:
    """Return the diagnostics of all differences, in the order of the comparison."""
    of_ssh = [*_need_of_ssh(migrated.job), *(_key_of_root(migrated.job) if migrated.documents[-1].group_kind == TRAINJOB else ())]
    return [*report_of(migrated.rules(), migrated.differences, migrated.job), *of_ssh]


#: The file with the hosts of an MPIJob, which each of its operators writes.
_HOSTFILE = "hostfile"
#: The container by which training-operator brings `kubectl` to the launcher.
_DELIVERY = "init container kubectl-delivery"
_SSHD = "sshd"


def _is_of_ssh(difference: Difference, job: Document) -> bool:
    """True if a difference between MPIJobs is how their operators reach the workers, or how workers end, who only serve the launcher."""
    key, marks = difference.key, [each.mark for each in (difference.before, difference.after) if each]
    if key[:2] == ("job", "files"):
        return key[2] != _HOSTFILE and key[2] not in str(job.data)
    if key[1] == "life":
        return key[-1] == "restarts are counted" or (key[0].startswith("node ") and key[0] != "node 0")
    if "program" in key and key[0] != "node 0" and _SSHD in str(difference.after and difference.after.value):
        return is_idle(difference.before.value if difference.before else ())
    is_of_controller = "env" in key[1:-1] and key[-1].startswith(OF_CONTROLLER)
    return is_of_controller or key[1] == _DELIVERY or not any(each.line for each in marks)


def _key_of_root(job: Document) -> list[Diagnostic]:
    """Return that the launcher of an MPIJob cannot use its key as root any more: the trainer lets others read the key."""
    place = root_with_key(MPISource(job, (), {"trainer": ""})) if job.group_kind == MPIJOB else None
    if place is None:
        return []
    message = "mpirun reaches no worker as root: SSH refuses a key of root that others may read, as the trainer mounts it"
    hint = "run the image as a user of its own, with the `.ssh` of its home as `sshAuthMountPath` and its group as `fsGroup`"
    return [job.problem(LOST, message, path_at(place.place(), job), hint=hint, severity="warning")]


def _need_of_ssh(job: Document) -> list[Diagnostic]:
    """Return what an MPIJob of training-operator needs of its image once workers are reached by SSH."""
    if not becomes_v2(job):
        return []
    source = MPISource(job, (), {"trainer": ""})
    replica = source.replicas.get(WORKER) or next(iter(source.replicas.values()))
    image = first_container(replica, main_container(job)).get("image") or replica
    message = "the launcher reaches the workers by SSH: the image has to have sshd and ssh; before: by `kubectl exec`"
    hint = "test it with `docker run IMAGE which sshd ssh`"
    return [job.problem(CHANGED, message, path_at(image.place(), job), hint=hint, severity="warning")]


def report_of(
    rules: Sequence[str], differences: Sequence[Difference], job: Document, *, gone: str = "has no counterpart"
) -> list[Diagnostic]:
    """Return differences as diagnostics, one for what all nodes share.

    *rules*: the rule of each difference; *gone*: the words for a value that is gone.
    """
    pairs = grouped(zip(rules, differences, strict=True), lambda each: (each[0], shared_key(each[1].key)))
    return [_diagnostic(rule, key, [each for _, each in group], job, gone) for (rule, key), group in pairs.items()]


def shared_key(key: Key) -> Key:
    """Return a key without the number of the node."""
    return ("node", *key[1:]) if key[0].startswith("node ") else key


def _diagnostic(rule: str, key: Key, group: list[Difference], job: Document, gone: str) -> Diagnostic:
    first = group[0]
    nodes = {each.key[0] for each in group}
    where = f" in {first.key[0]}" if len(nodes) == 1 and key[0] == "node" and first.key[0] != "node 0" else ""
    message = f"{_sentence(key, first, gone)}{where}"
    hint = next((_HINTS[name] for name in key if name in _HINTS and rule != NOTE), "")
    mark = first.before.mark if first.before else None
    if mark and mark.line and mark.file != job.file:  # an overlay, or a runtime in another file
        return Diagnostic(rule, message, mark, severity=SEVERITIES[rule], hint=hint)
    path = path_at(mark, job) if mark else ("kind",)
    return job.problem(rule, message, path, hint=hint, severity=SEVERITIES[rule])


def _sentence(key: Key, difference: Difference, gone: str) -> str:
    text = _mode_of_file if key[-1] in _MODES else _text_of_fact
    before, after = (text(each) for each in (difference.before, difference.after))
    if key[-2] == "life" and difference.after is None:
        return f"`{key[-1]}` {gone}; before: {difference.before.value if difference.before else 'not set'}"
    if key[-2] == "life":
        before, after = (str(each.value) if each else "not set" for each in (difference.before, difference.after))
        return _LIFE.get(key[-1], f"{key[-1]} is {{after}}; before: {{before}}").format(before=before, after=after)
    what = _what(key)
    if difference.after is None:
        shown = "" if difference.before and isinstance(difference.before.value, (list, dict)) else f" {before}"
        return f"{what}{shown} {gone}"
    return f"{what} is {after}; before: {before}" if difference.before else f"{what} is new: {after}"


def _what(key: Key) -> str:
    area, *parts = (each for each in key[1:] if each != TRAINING)
    if area == "program":
        return {"how": "the launcher", "words": "the command line"}[parts[0]]
    if area in ("env", "launcher"):
        return {"env": "the variable", "launcher": "torchrun's"}[area] + f" `{parts[0]}`"
    return f"`{'.'.join((area, *parts))}`{_WHOSE.get(key[0], '')}"


#: The fields of volumes that are modes of files, which people write in octal.
_MODES = ("mode", "defaultMode")


def _mode_of_file(fact: Fact | None) -> str:
    return f"`{fact.value:04o}`" if fact and isinstance(fact.value, int) else _text_of_fact(fact)


def _text_of_fact(fact: Fact | None) -> str:
    if fact is None:
        return "not set"
    text = " ".join(fact.value) if isinstance(fact.value, list) and all(isinstance(each, str) for each in fact.value) else str(fact.value)
    if isinstance(fact.value, dict) and fact.value:
        text = ", ".join(f"{name}: {value}" for name, value in fact.value.items())
    text = text.replace("\n", " ").strip()
    if not text:
        return "empty"
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return short if isinstance(fact.value, str) and " " in text else f"`{short}`"


def path_at(mark: Mark, job: Document) -> Path:
    """Return the path of the value at a place in a document. If there is none, return `kind`."""
    if not mark.line or mark.file != job.file:
        return ("kind",)
    places = [(path, each.place()) for path, each in walk(with_marks(job.data, job.marks))]
    found = [path for path, place in places if (place.line, place.column) == (mark.line, mark.column)]
    return found[-1] if found else ("kind",)
