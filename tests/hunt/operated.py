"""Jobs of a hunt on a server with operators: what we foresee of them, what has come in their namespace, and what events say."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import SystemRandom
from typing import Any

from jobspec.apis.kinds import CompleteKinds
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, spell
from jobspec.diagnostics.problems import Problem
from jobspec.diagnostics.results import FileResult
from jobspec.journey.checking import check
from jobspec.journey.outcomes import foresee
from jobspec.journey.reading import read
from jobspec.journey.steps import Source
from jobspec.kubernetes.admission.review import review_pod
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.kubernetes.index import index_of
from jobspec.world.world import Cluster
from tests.agreement import known
from tests.hunt import pod_fields
from tests.support.server import PLURALS, Answer, Server

Data = dict[str, Any]
Named = tuple[str, str]
"""Kind and name of an object; of the pods of a Job, whose names are made up, `Job's pod` and the Job's name."""

_NAMESPACES = "/api/v1/namespaces"
_LISTS = {
    "Pod": f"{_NAMESPACES}/{{}}/pods",
    "Service": f"{_NAMESPACES}/{{}}/services",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "JobSet": PLURALS["JobSet"],
}
_EVENTS = f"{_NAMESPACES}/{{}}/events"
_JOBS = ("PyTorchJob", "TrainJob")
_PATIENCE = 60.0  # seconds
_PAUSE = 1.0
_MORE = 3.0
"""Further seconds, in which something could come that we say does not."""
_THREADS = 6
OF_JOB = "Job's pod"

#: The rules that say that something of a job does not come.
_RULES = frozenset(
    ("pods-refused", "service-refused", "job-refused", "jobset-refused", "autoscaler-refused", "refused-by-operator", "never-fits")
)
_REFUSAL = re.compile(r'^Error creating: (Pod|Service) "([^"]*)" is invalid: \[?(.*)', re.DOTALL)
_CAUSES = "Invalid value|Required value|Not found|Forbidden|Unsupported value|Duplicate value|Too long|Too many|Internal error"
_FIELD = re.compile(rf"(?:^|, )((?:spec|metadata|<nil>|\[\])(?:\[[^\]]*\]|[^\s\[])*): (?:{_CAUSES})")


@dataclass(frozen=True)
class Foreseen:
    """What we say will become of a job."""

    said: str
    """The errors of `validate`; empty where all comes."""
    comes: Counter[Named]
    """What has to come, each with how many there are of it at least."""
    refused: dict[Named, list[Problem]] = field(default_factory=dict)
    """What the server will refuse, and why."""

    def all_came(self, came: Counter[Named]) -> bool:
        """Whether all of these came, those that we say are refused, too."""
        return not self.comes - came and all(came[each] for each in self.refused)

    def differs(self, came: Counter[Named]) -> str:
        """In what that which came is something else; empty where in nothing."""
        missing = sorted(self.comes - came)
        besides = sorted(each for each in self.refused if came[each])
        return f"did not come: {missing}; came all the same: {besides}" if missing or besides else ""


@contextmanager
def namespace(server: Server) -> Iterator[str]:
    """A namespace of its own, in which pods can be made, for a while."""
    name = f"job-pods-{SystemRandom().randrange(1 << 32):08x}"
    assert server.has_namespace(name)
    _waited(lambda: bool(server.get(f"{_NAMESPACES}/{name}/serviceaccounts/default").get("metadata")))
    try:
        yield name
    finally:
        for kind in _JOBS:
            server.call("DELETE", PLURALS[kind].format(name))
        _without_finalizers(server, name)
        server.call("DELETE", f"{_NAMESPACES}/{name}")


def _without_finalizers(server: Server, namespace: str) -> None:
    """Take from the pods the finalizers that nobody will ever take away."""
    held = [each for each in _listed(server, "Pod", namespace) if each["metadata"].get("finalizers")]
    with ThreadPoolExecutor(_THREADS) as pool:
        paths = [f"{_LISTS['Pod'].format(namespace)}/{each['metadata']['name']}" for each in held]
        list(pool.map(lambda path: server.patch(path, json.dumps({"metadata": {"finalizers": None}})), paths))


def create(server: Server, namespace: str, made: Data) -> Answer:
    """Create an object in a namespace."""
    path = PLURALS[made["kind"]].format(namespace) + "?fieldValidation=Strict"
    return server.call("POST", path, json.dumps(made, ensure_ascii=False))


def came(server: Server, namespace: str) -> Counter[Named]:
    """What there is in a namespace by now."""
    found: Counter[Named] = Counter()
    for kind in _LISTS:
        for each in _listed(server, kind, namespace):
            found[kind, each["metadata"]["name"]] += 1
            found.update((OF_JOB, owner["name"]) for owner in each["metadata"].get("ownerReferences", ()) if owner["kind"] == "Job")
    return found


def _listed(server: Server, kind: str, namespace: str) -> list[Data]:
    found: list[Data] = server.get(_LISTS[kind].format(namespace)).get("items") or []
    return found


def settled(server: Server, namespace: str, foreseen: Sequence[Foreseen]) -> Counter[Named]:
    """What has come by the time at which it is what we foresee of all jobs, or at which nobody would wait any longer."""
    found: Counter[Named] = Counter()

    def is_settled() -> bool:
        nonlocal found
        found |= came(server, namespace)  # what has come may have gone again by the end
        return not any(each.differs(found) for each in foreseen)

    _waited(is_settled)
    time.sleep(_MORE)
    return found | came(server, namespace)


def refusals(server: Server, namespace: str) -> dict[str, list[str]]:
    """The messages of events that tell of something which could not be made, by the name of the object that they are about.

    An operator with much to report reports some of it late, or never.
    """
    found: dict[str, list[str]] = {}
    for each in server.get(_EVENTS.format(namespace) + "?limit=5000").get("items") or ():
        if each["type"] == "Warning" and ("Failed" in each["reason"] or "invalid" in each["message"]):
            found.setdefault(each["involvedObject"]["name"], []).append(each["message"])
    return found


def named_in(message: str) -> Named | None:
    """The refused object of a message that names the fields for which it is; None for any other message."""
    match = _REFUSAL.search(message)
    return (match[1], match[2]) if match else None


def fields_apart(message: str, problems: Sequence[Problem]) -> str:
    """How the fields in a message differ from those of our problems; empty where they do not."""
    match = _REFUSAL.search(message)
    assert match, message
    ours = [Diagnostic(each.rule, each.message, Mark("pod"), field=_unordered(spell(each.path))) for each in problems]
    return pod_fields.difference(ours, map(_unordered, _FIELD.findall(match[3]) or [message]))


def _unordered(field: str) -> str:
    """A field without the index of a Service's port: the operator walks ports in no fixed order."""
    return re.sub(r"^spec\.ports\[\d+\]", "spec.ports", field)


def validated(target: Mapping[str, str], *manifests: Data) -> FileResult:
    """What `validate` says of manifests in a cluster that has nothing else."""
    return judged(target, "\n---\n".join(json.dumps(each, ensure_ascii=False) for each in manifests))


def judged(target: Mapping[str, str], text: str) -> FileResult:
    """What `validate` says of the text of manifests in a cluster that has nothing else."""
    cluster = Cluster(target, closed=True)
    return foresee(check(read(Source("job.yaml", text), target), cluster), cluster).result


def said(result: FileResult) -> str:
    """What a result says of objects that do not come; empty where all do."""
    return "; ".join(each.message for each in result.diagnostics if each.rule in _RULES)


def agree(result: FileResult, answer: Answer) -> bool:
    """Whether a result is a server's answer to the last of its manifests."""
    errors = [each for each in result.diagnostics if each.severity == "error" and each.stage != "outcome"]
    if answer.accepted and errors:
        return all(any(each.is_reported_by(error) for each in known.refusals("operators")) for error in errors)
    return answer.accepted is not bool(errors)


def why_refused(made: Data, target: Mapping[str, str]) -> list[Problem]:
    """Why a server that has nothing else refuses an object of a job."""
    found = builtin_problems(made, made["apiVersion"], made["kind"], target, encoded=True)
    if made["kind"] == "Pod" and not found:
        return list(review_pod(made, "", index_of((), complete=CompleteKinds(every=True)), target).refusals)
    return found


def _waited(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, but not for ever."""
    end = time.monotonic() + _PATIENCE
    while not is_so() and time.monotonic() < end:
        time.sleep(_PAUSE)
