"""The rules of Kueue's webhooks for jobs, by their labels and annotations. A webhook looks at all jobs, those without a queue, too.

Follows `validation.go`, sigs.k8s.io/kueue pkg/controller/jobframework, and pkg/controller/jobs, 0.18.2 and 0.19.2.
"""

from __future__ import annotations

from jobspec.apis.kinds import JOB, POD, QUEUED_TRAINING_JOBS, GroupKind
from jobspec.apis.kinds import QUEUE_GROUP as GROUP
from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Data, Key, Path, items_at, value_at
from jobspec.diagnostics.rules import Finding
from jobspec.go.values import FALSE_WORDS, TRUE_WORDS, integer, mapping
from jobspec.kubernetes.metadata import bad_subdomain
from jobspec.operators.kueue import pods as plain_pods
from jobspec.operators.kueue import ray
from jobspec.operators.kueue.keys import ELASTIC, FEWEST, GATED, PREBUILT, PRIORITY, SYNCED
from jobspec.operators.kueue.workload_rules import asks_to_be_elastic, meta
from jobspec.operators.trainer.merged_pods import PATCHES
from jobspec.operators.webhooks import bad_manager, misnamed
from jobspec.operators.workloads import MAXIMUM_TIME, PREFERRED_TOPOLOGY, QUEUE, REQUIRED_TOPOLOGY, Workload, suspend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_LONGEST_GATE = 63
BOOLEANS = (*TRUE_WORDS, *FALSE_WORDS)


def label_of(name: str) -> Path:
    """The path of a label."""
    return ("metadata", "labels", Key(name))


def _annotation(name: str) -> Path:
    return ("metadata", "annotations", Key(name))


def queue_label(workload: Workload, target: Target) -> Iterator[Finding]:
    """The labels that name a job's queue and its Workload must be valid names: lower-case letters, digits, `-` and `.`."""
    yield from _bad_name(workload, QUEUE, "queue")


def prebuilt_workload(workload: Workload, target: Target) -> Iterator[Finding]:
    """The annotation or label `kueue.x-k8s.io/prebuilt-workload-name` must be a valid object name."""
    data, kind = workload.document.data, workload.document.group_kind
    said = meta(data, "annotations").get(PREBUILT, "")
    if kind in (*QUEUED_TRAINING_JOBS, POD) and workload.old and not _is_suspended(kind, data):
        return
    if said:
        yield from misnamed(_annotation(PREBUILT), said, bad_subdomain, "the name of a Workload")
    else:
        yield from _bad_name(workload, PREBUILT, "Workload")


def _bad_name(workload: Workload, label: str, what: str) -> Iterator[Finding]:
    name = meta(workload.document.data, "labels").get(label)
    if why := "" if name is None else bad_subdomain(name):
        hint = "name one, or remove the label" if not name else ""
        yield Finding(label_of(label), f"`{name}` cannot be the name of a {what}: {why}", hint)


def execution_time(workload: Workload, target: Target) -> Iterator[Finding]:
    """The label `kueue.x-k8s.io/max-exec-time-seconds` must be a number of seconds above 0."""
    text = meta(workload.document.data, "labels").get(MAXIMUM_TIME)
    if text is not None and (integer(text) or 0) <= 0:
        yield Finding(label_of(MAXIMUM_TIME), f"`{text}` is not a number of seconds above 0")


def queued_job_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """Queue, prebuilt Workload and maximum execution time of a job can change only while it is suspended; its priority class stays.

    Kueue starts a job by `suspend: false`. A running job gets no priority class that it did not have, and none loses the one it has.
    """
    assert workload.old
    now, before = workload.document.data, workload.old.data
    labels, labels_before = meta(now, "labels"), meta(before, "labels")
    suspended, was_suspended = (_is_suspended(workload.document.group_kind, each) for each in (now, before))
    hint = "suspend the job, or create a new one"
    if not suspended and labels.get(QUEUE, "") != labels_before.get(QUEUE, ""):
        yield Finding(label_of(QUEUE), "the queue of a job that is not suspended cannot be changed", hint)
    if not suspended and not asks_to_be_elastic(before) and _prebuilt(now) != _prebuilt(before):
        yield Finding(label_of(PREBUILT), "the prebuilt Workload of a job that is not suspended cannot be changed", hint)
    if not (suspended and was_suspended) and labels.get(MAXIMUM_TIME, "") != labels_before.get(MAXIMUM_TIME, ""):
        yield Finding(label_of(MAXIMUM_TIME), "the maximum execution time of a job that is not suspended cannot be changed", hint)
    priority, priority_before = labels.get(PRIORITY, ""), labels_before.get(PRIORITY, "")
    if priority and not priority_before and not suspended:
        yield Finding(label_of(PRIORITY), "a job that is not suspended cannot get a priority class", hint)
    elif priority_before and not priority:
        yield Finding(label_of(PRIORITY), "the priority class of a job cannot be removed", f"keep `{priority_before}`, or name another one")


def _prebuilt(data: Data) -> str:
    return meta(data, "annotations").get(PREBUILT) or meta(data, "labels").get(PREBUILT, "")


def elastic_job(workload: Workload, target: Target) -> Iterator[Finding]:
    """Only a Job can be elastic, from its creation on, and without `job-min-parallelism` and a topology for all of its pods."""
    data, name = workload.document.data, _annotation(ELASTIC)
    is_elastic = asks_to_be_elastic(data)
    if workload.old and is_elastic != asks_to_be_elastic(workload.old.data):
        yield Finding(name, "whether a job is elastic cannot be changed", "create a new job")
    if not is_elastic:
        return
    if workload.document.group_kind in ray.KINDS or (workload.document.group_kind == POD and workload.old):
        return
    if workload.document.group_kind != JOB:
        yield Finding(name, f"a {workload.document.kind} cannot be elastic", "remove the annotation")
        return
    template: Path = ("spec", "template", "metadata", "annotations")
    for level in (each for each in (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY) if each in mapping(value_at(data, template))):
        yield Finding((*template, Key(level)), f"`{level}` cannot be asked for by an elastic job")
    fewest, before = meta(data, "annotations").get(FEWEST), meta(workload.old.data, "annotations") if workload.old else {}
    if fewest is not None and not (workload.old and before.get(FEWEST, "") == fewest):
        yield Finding(_annotation(FEWEST), "an elastic job cannot start with fewer pods")


def admission_gates(workload: Workload, target: Target) -> Iterator[Finding]:
    """An admission gate has a domain and a name, such as `example.com/data`; once the job exists, gates can only be removed."""
    said = meta(workload.document.data, "annotations").get(GATED, "")
    gates = _gates(said)
    if workload.old and said:
        before = meta(workload.old.data, "annotations").get(GATED, "")
        if not before:
            yield Finding(_annotation(GATED), "no gate can be added to an existing job")
        elif any(gate not in _gates(before) for gate in gates):
            yield Finding(_annotation(GATED), "gates of an existing job can only be removed")
    for number, gate in enumerate(gates):
        if not gate:
            yield Finding(_annotation(GATED), "a gate has no name")
        elif gate in gates[:number]:
            yield Finding(_annotation(GATED), f"duplicate gate `{gate}`")
        elif why := bad_manager(gate) or ("it has more than 63 characters" if len(gate) > _LONGEST_GATE else ""):
            yield Finding(_annotation(GATED), f"`{gate}` is not a gate: {why}")


def _gates(text: str) -> list[str]:
    return [each.strip() for each in text.split(",")] if text.strip() else []


def _is_suspended(kind: GroupKind, data: Data) -> bool:
    return plain_pods.is_suspended(data) if kind == POD else value_at(data, suspend_of(kind)) is True


def partial_admission(workload: Workload, target: Target) -> Iterator[Finding]:
    """`kueue.x-k8s.io/job-min-parallelism` must be at least 1 and less than the number of pods; checked where it changes."""
    name, data = FEWEST, workload.document.data
    text = meta(data, "annotations").get(name)
    if text is not None and not (workload.old and meta(workload.old.data, "annotations").get(name, "") == text):
        number, pods = integer(text), pods_at_once(mapping(data, "spec"))
        in_32_bits = ((number or 0) + 2**31) % 2**32 - 2**31
        if number is None or number <= 0 or in_32_bits >= pods:
            yield Finding(_annotation(name), f"`{text}` is not a number of pods from 1 to {pods - 1}")


def synced_completions(workload: Workload, target: Target) -> Iterator[Finding]:
    """With `job-completions-equal-parallelism`, a Job must be `Indexed`, and `completions` must equal `parallelism`."""
    data = workload.document.data
    text = meta(data, "annotations").get(SYNCED)
    if text is None:
        return
    if text not in BOOLEANS:
        yield Finding(_annotation(SYNCED), f"`{text}` is not a boolean", "write `true`, or remove it")
    elif text in TRUE_WORDS:
        spec = mapping(data, "spec")
        if spec.get("completionMode") != "Indexed":
            yield Finding(_annotation(SYNCED), "the completions of a Job that is not `Indexed` cannot follow `parallelism`")
        if one_if_absent(spec, "parallelism") != one_if_absent(spec, "completions"):
            yield Finding(("spec", "completions"), "`completions` have to equal `parallelism`, as the annotation says")


def partial_job_frozen(workload: Workload, target: Target) -> Iterator[Finding]:
    """While a Job with partial admission runs, `parallelism` and `job-completions-equal-parallelism` cannot change."""
    assert workload.old
    now, before = workload.document.data, workload.old.data
    was_suspended, suspended = (value_at(each, ("spec", "suspend")) is True for each in (before, now))
    parallelism, parallelism_before = (one_if_absent(mapping(each, "spec"), "parallelism") for each in (now, before))
    if FEWEST in meta(before, "annotations") and not was_suspended and parallelism != parallelism_before:
        message = "`parallelism` of a Job that can start with fewer pods cannot be changed while it runs"
        yield Finding(("spec", "parallelism"), message, "suspend the Job")
    synced, synced_before = (meta(each, "annotations").get(SYNCED) in TRUE_WORDS for each in (now, before))
    if not suspended and not was_suspended and synced != synced_before:
        yield Finding(_annotation(SYNCED), "this annotation of a Job cannot be changed while it runs", "suspend the Job")


def one_if_absent(spec: Data, field: str) -> int:
    """A number of a spec, 1 without it."""
    value = spec.get(field)
    return 1 if value is None else int(value)


def pods_at_once(spec: Data) -> int:
    """How many pods a Job has at a time."""
    parallelism, completions = one_if_absent(spec, "parallelism"), spec.get("completions")
    return parallelism if completions is None else min(parallelism, int(completions))


def kueue_patch(workload: Workload, target: Target) -> Iterator[Finding]:
    """Kueue adds an entry to the `runtimePatches` of every new TrainJob: a manifest cannot have one of the same manager."""
    assert not workload.old
    for path, patch in items_at(workload.document.data, PATCHES):
        if patch["manager"] == f"{GROUP}/manager":
            yield Finding((*path, "manager"), "Kueue adds the patch of this manager itself", "remove the patch")
