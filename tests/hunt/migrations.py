"""Jobs at random that are migrated, as the command does it: to TrainJobs of each release, and from each release to each other.

What is reported is what is left of the comparison of the texts' jobs; a plainer comparison of the pods, field by field, finds nothing else.
"""

import json
import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from jobspec.apis.kinds import PYTORCHJOB, TRAINJOB
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.comments import comments_of
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.journey import checking
from jobspec.journey.steps import Source
from jobspec.migrate.facts import compared, job_facts, nodes_of
from jobspec.migrate.files import File, MigratedFile, to_release, to_trainjobs
from jobspec.migrate.jobs import meaning_in, report_of
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand, value_of
from jobspec.world.world import Cluster
from tests.hunt.finds import Find, bug
from tests.support.migration_growth import pytorchjobs_text, trainjobs_text

Data = dict[str, Any]

RELEASES = ("2.0", "2.1", "2.2", "2.3")
_FILE = "job.yaml"
_STAYS = "metadata:   {name: x}   # stays"


def finds(random: Random, *, count: int = 20) -> Iterator[Find]:
    """The files whose migration is not what it says."""
    for _ in range(count):
        text = pytorchjobs_text(random) if random.random() < 0.7 else trainjobs_text(random)
        if said := difference(text):
            yield Find(text, said, "the same pods, and a report of all else")


def difference(text: str) -> str:
    """What is wrong with the migrations of a file; empty where nothing is."""
    try:
        documents = _read(text, "2.0") or _read(text, "2.3")
        if not documents:
            return ""
        is_old = any(each.group_kind == PYTORCHJOB for each in documents)
        return next(_of_pytorchjobs(text) if is_old else _there_and_back(text), "")
    except Exception:
        return bug()


def _cluster(release: str) -> Cluster:
    return Cluster({"trainer": release})


def _read(text: str, release: str) -> list[Document]:
    """The documents of a text; none where a server refuses one."""
    checked = checking.checked(Source(_FILE, text), (), _cluster(release))
    return list(checked.documents) if checked.result.valid else []


def _job_in(documents: Sequence[Document]) -> Document:
    return next(each for each in documents if each.group_kind in (PYTORCHJOB, TRAINJOB))


def _of_pytorchjobs(text: str) -> Iterator[str]:
    gangs = ("", "volcano", "scheduler-plugins") if "schedulingPolicy" in text else ("",)
    for release in RELEASES:
        for gang in gangs:
            before = _read(text, release)
            (made,) = to_trainjobs([File(_FILE, text, before)], _cluster(release), gang_scheduler=gang)
            for said in _wrong(before, made, release, release, gang=gang):
                yield f"to TrainJob of {release}{gang and f' from {gang}'}: {said}"


def _there_and_back(text: str) -> Iterator[str]:
    """From 2.0 to each release, and back."""
    before = _read(text, "2.0")
    for release in RELEASES[1:] if before else ():
        (made,) = to_release([File(_FILE, text, before)], _cluster("2.0"), _cluster(release))
        yield from (f"from 2.0 to {release}: {each}" for each in _wrong(before, made, "2.0", release))
        if any(each.rule == "not-migrated" for each in made.diagnostics):
            continue
        there = _read(made.text, release)
        (back,) = to_release([File(_FILE, made.text, there)], _cluster(release), _cluster("2.0"))
        yield from (f"from {release} back to 2.0: {each}" for each in _wrong(there, back, release, "2.0"))
        reported = [*made.diagnostics, *back.diagnostics]
        if not any(each.rule == "not-migrated" for each in reported):
            again = _read(back.text, "2.0")
            yield from (f"from 2.0 to {release} and back: {each}" for each in _plain_losses(before, again, "2.0", "2.0", reported))


def _wrong(before: Sequence[Document], made: MigratedFile, old: str, new: str, *, gang: str = "") -> Iterator[str]:
    """What is wrong with a migrated file."""
    if any(each.rule == "not-migrated" for each in made.diagnostics):
        if made.file.text != made.text and len(before) == 1:
            yield "a text that changes, of a job that does not"
        return
    after = _read(made.text, new)
    if not after:
        yield f"a server refuses {checking.checked(Source(_FILE, made.text), (), _cluster(new)).result.diagnostics}"
        return
    yield from (f"the comment {each!r} is lost" for each in comments_of(made.file.text) if each not in made.text)
    if _STAYS in made.file.text and _STAYS not in made.text:
        yield "another object has changed"
    job, other = _job_in(before), _job_in(after)
    first = job_facts(job, before, _cluster(old).target, gang_scheduler=gang)
    left = compared(first, job_facts(other, after, _cluster(new).target))
    said = report_of([meaning_in(first.facts, each) for each in left], left, job)
    left_over, reported = list(map(_words, said)), list(map(_words, made.diagnostics))
    yield from (f"a difference that is not reported: {each}" for each in left_over if each not in reported)
    if job.group_kind == PYTORCHJOB:
        yield from (f"reported, and no difference: {each}" for each in reported if each not in left_over)
    yield from _plain_losses(before, after, old, new, made.diagnostics, gang=gang)
    if job.group_kind == PYTORCHJOB:
        target = _cluster(new).target
        objects = with_api_defaults(expand(_running(other), after, target).objects, after, target)
        yield from _plain_life(job, other, [each.data() for each in objects], made.diagnostics)


def _words(reported: Diagnostic) -> str:
    return f"{reported.rule}: {reported.mark}: {reported.field}: {reported.message}"


def _plain_losses(
    before: Sequence[Document], after: Sequence[Document], old: str, new: str, reported: Sequence[Diagnostic], *, gang: str = ""
) -> Iterator[str]:
    """The differences of pods, field by field, that nothing which is reported has a word of."""
    words = " ".join(f"{each.message} {each.field}" for each in reported)
    one = dict(_leaves(_plain_pods(before, old, gang)))
    other = dict(_leaves(_plain_pods(after, new, "")))
    for path in dict.fromkeys([*one, *other]):
        if one.get(path) != other.get(path) and not any(re.search(rf"\b{re.escape(str(step))}\b", words) for step in path[1:]):
            yield f"{'.'.join(path)} was {one.get(path)!r} and is {other.get(path)!r}, which is not reported"


def _plain_life(before: Document, after: Document, objects: Sequence[Data], reported: Sequence[Diagnostic]) -> Iterator[str]:
    """What a PyTorchJob says of its life that its TrainJob does not say, and that nothing which is reported has a word of."""
    policy, spec = before.data["spec"].get("runPolicy") or {}, after.data["spec"]
    jobs = [each["spec"] for each in objects if each["kind"] == "Job"]
    sets = [each["spec"] for each in objects if each["kind"] == "JobSet"]
    own = policy.get("managedBy") in (None, "kubeflow.org/training-operator")
    pairs = {
        "suspend": (policy.get("suspend") or False, spec.get("suspend") or False),
        "managedBy": (None if own else policy["managedBy"], spec.get("managedBy")),
        "activeDeadlineSeconds": (
            policy.get("activeDeadlineSeconds"),
            spec.get("activeDeadlineSeconds") or _of_all(jobs, "activeDeadlineSeconds"),
        ),
        "ttlSecondsAfterFinished": (policy.get("ttlSecondsAfterFinished"), _of_all(sets, "ttlSecondsAfterFinished")),
        "labels": (before.data["metadata"].get("labels"), after.data["metadata"].get("labels")),
        "annotations": (before.data["metadata"].get("annotations"), after.data["metadata"].get("annotations")),
    }
    words = " ".join(each.message for each in reported)
    yield from (
        f"{name} was {one} and is {other}, which is not reported"
        for name, (one, other) in pairs.items()
        if one != other and name not in words
    )


def _of_all(specs: Sequence[Data], name: str) -> Any:
    """What all specs say of a field; None where they do not agree."""
    found = [each.get(name) for each in specs]
    return found[0] if found and all(each == found[0] for each in found) else None


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _leaves(each, (*path, str(name)))
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _leaves(each, (*path, str(number)))
    else:
        yield path, value


#: What a pod is called: JobSet says that itself, training-operator leaves it to the job.
_NAMES = ("hostname", "subdomain")
#: What operators write on pods, for themselves and for those who schedule them.
_PREFIXES = (
    "training.kubeflow.org/",
    "jobset.sigs.k8s.io/",
    "alpha.jobset.sigs.k8s.io/",
    "batch.kubernetes.io/",
    "job-name",
    "controller-uid",
    "volcano.sh/",
)
#: What operators and launchers set, each in its own words; how a program gets it is compared by `view` alone.
_VARIABLES = re.compile(
    r"PET_|RANK$|WORLD_SIZE$|MASTER_|TRAINJOB_NAME$|JOB_COMPLETION_INDEX$|PYTHONUNBUFFERED$|LOCAL_|GROUP_RANK$|ROLE_RANK$"
)


#: The operators' words for one thing: the label with the job's name, and the port at which processes meet.
_ALIKE = {r"(training\.kubeflow\.org/job-name|jobset\.sigs\.k8s\.io/jobset-name)": "<label>", r":(23456|29500|4000)\b": ":<port>"}


def _plain_pods(documents: Sequence[Document], release: str, gang: str) -> Data:
    """The pods of the job by the names that they have on both sides, as plain data without what names differ in."""
    job = _running(_job_in(documents))
    target = _cluster(release).target
    objects = with_api_defaults(expand(job, documents, target, gang_scheduler=gang).objects, documents, target)
    nodes = nodes_of(objects, job.group_kind)
    hosts = {each.pod.host_name: f"<{each.name}>" for each in nodes if each.pod.host_name}
    left_out = ("restartPolicy", *(_NAMES if job.group_kind == TRAINJOB else ()))
    found = {node.name: _plain_pod(node.pod.tree, node.training, left_out) for node in nodes}
    text = json.dumps(found)
    for one, name in _ALIKE.items():
        text = re.sub(one, name, text)
    for name in sorted(hosts, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])(\.[a-z-]+)*", hosts[name], text)
    whole: Data = json.loads(text)
    return whole


def _running(job: Document) -> Document:
    """A job as it is when its pods are made."""
    spec = _at_work(job.data["spec"])
    spec |= {"runPolicy": _at_work(spec["runPolicy"])} if spec.get("runPolicy") else {}
    return job.changed({**job.data, "spec": spec})


def _at_work(fields: Data) -> Data:
    """A spec or run policy by which pods are made."""
    return {name: each for name, each in fields.items() if name not in ("suspend", "managedBy")}


def _plain_pod(pod: MarkedTree, training: MarkedTree | None, left_out: Sequence[str]) -> Data:
    data = pod.data()
    spec = {name: each for name, each in data["spec"].items() if name not in left_out}
    trees = {field: items(pod.get("spec", field)) for field in ("containers", "initContainers")}
    for field, found in trees.items():
        spec[field] = {
            "training" if each is training else each.data()["name"]: _plain_container(each, pod)
            for each in found
            if not each.data()["name"].startswith("init-pytorch")
        }
    metadata = data.get("metadata", {})
    kept = {
        field: {name: value for name, value in (metadata.get(field) or {}).items() if not name.startswith(_PREFIXES)}
        for field in ("labels", "annotations")
    }
    return {**kept, **spec}


def _plain_container(container: MarkedTree, pod: MarkedTree) -> Data:
    data: Data = container.data()
    has_gpus = "nvidia.com/gpu" in (data.get("resources") or {}).get("limits", {})
    known: dict[str, str] = {}
    for each in items(container.get("env")):
        value = re.sub(r"\$\((\w+)\)", lambda found: known.get(found[1], found[0]), value_of(each, pod))
        name = each.data()["name"]
        known[name] = "auto" if has_gpus and (name, value) == ("PET_NPROC_PER_NODE", "gpu") else value  # which torchrun takes for the same
    ports = [each for each in data.get("ports") or [] if each.get("name") != "pytorchjob-port" and each["containerPort"] != 29500]
    fields = {name: each for name, each in data.items() if name not in ("name", "env", "ports", "command", "args")}
    lines = [re.sub(r"\$\((\w+)\)", lambda found: known.get(found[1], found[0]), each) for each in data.get("command") or []]
    lines += [re.sub(r"\$\((\w+)\)", lambda found: known.get(found[1], found[0]), each) for each in data.get("args") or []]
    variables = {name: value for name, value in known.items() if not _VARIABLES.match(name)}
    found = {"ports": ports, "env": variables, "command line": lines}
    return {**fields, **{name: each for name, each in found.items() if each}}
