"""TrainJobs with changes inside the pods of their runtimes, or in overrides: Jobs and pods come, or are refused, as `validate` says."""

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import yaml

from jobspec.apis.releases import Target, choose
from jobspec.diagnostics.results import FileResult
from jobspec.documents.manifest import document_of
from jobspec.operators.expansion import expand
from jobspec.operators.made import with_generated_names
from jobspec.schemas import shapes
from tests.agreement import corpus
from tests.hunt import operated
from tests.hunt.finds import Find
from tests.hunt.operated import OF_JOB, Foreseen
from tests.support import quick_yaml, template_mutants
from tests.support.server import Answer, Server
from tests.support.trainjob_growth import renewed, trainjob

Data = dict[str, Any]

_VERSION = "trainer.kubeflow.org/v1alpha1"
_WAITING = re.compile(r"dependsOn|InOrder|podGroup")
"""What lets Jobs or pods of a runtime wait for others."""


@dataclass(frozen=True)
class _Accepted:
    """A job that the server has accepted, with its runtime."""

    runtime: Data
    job: Data
    foreseen: Foreseen

    @property
    def name(self) -> str:
        return str(self.job["metadata"]["name"])


def finds(server: Server, random: Random, tally: Counter[str], *, jobs: int = 30) -> Iterator[Find]:
    """The jobs of which the server and the operators make something else than we say."""
    with operated.namespace(server) as namespace:
        accepted = []
        for number in range(jobs):
            sent = _sent(server, namespace, number, random, tally)
            if isinstance(sent, Find):
                yield sent
            else:
                accepted.append(sent)
        last = _last(server, namespace)
        there = operated.settled(server, namespace, [each.foreseen for each in (*accepted, last)])
        assert not last.foreseen.differs(there), "the operators answer no more"
        reported = operated.refusals(server, namespace)
        for each in accepted:
            tally["refused" if each.foreseen.refused else "came"] += 1
            messages = [message for name, several in reported.items() if f"{name}-".startswith(f"{each.name}-") for message in several]
            apart = each.foreseen.differs(there)
            if apart or bool(each.foreseen.said) is not bool(each.foreseen.refused):
                text = quick_yaml.dump_all([each.runtime, each.job])
                came = each.foreseen.all_came(there)
                yield Find(text, each.foreseen.said, f"{apart}; {messages}", "operators", came, outcome=True, target=server.releases)
            else:
                yield from _fields(server, each, reported, tally)


def _fields(server: Server, accepted: _Accepted, reported: dict[str, list[str]], tally: Counter[str]) -> Iterator[Find]:
    """The find of pods that the server refuses for other fields than we."""
    for (kind, name), problems in accepted.foreseen.refused.items():
        messages = [each for each in reported.get(name, ()) if kind == OF_JOB and operated.named_in(each)]
        tally["fields compared"] += bool(messages)
        apart = [each for message in messages if (each := operated.fields_apart(message, problems))]
        if apart:
            text = quick_yaml.dump_all([accepted.runtime, accepted.job])
            yield Find(text, accepted.foreseen.said, f"{apart}; {messages}", "operators", outcome=True, target=server.releases)


def _sent(server: Server, namespace: str, number: int, random: Random, tally: Counter[str]) -> _Accepted | Find:
    """The first job that the server accepts, or that it answers otherwise than we do."""
    while True:
        runtime, job = _mutant(f"j{number}", f"r{number}-{random.randrange(1 << 32):x}", namespace, random, server.releases)
        result = operated.validated(server.target, runtime, job)
        if any(each.rule == "operator-crash" for each in result.diagnostics):
            continue
        answer = _create(server, namespace, runtime)
        if answer.accepted:
            answer = _create(server, namespace, job)
        tally["sent"] += 1
        if not operated.agree(result, answer):
            said = str([each for each in result.diagnostics if each.stage != "outcome"])
            return Find(quick_yaml.dump_all([runtime, job]), said, str(answer), "operators", answer.accepted, target=server.releases)
        if answer.accepted:
            return _Accepted(runtime, job, _foreseen(runtime, job, result, server.target))


def _create(server: Server, namespace: str, made: Data) -> Answer:
    """The server's answer; the trainer's webhook may learn of a new runtime late."""
    for _ in range(20):
        answer = operated.create(server, namespace, made)
        if answer.accepted or "not found" not in answer.message:
            break
        time.sleep(0.2)
    return answer


def _last(server: Server, namespace: str) -> _Accepted:
    runtime, job = _pair("last", "last", namespace, {"template": {"spec": {"replicatedJobs": [_PLAIN]}}}, {})
    for each in (runtime, job):
        answer = _create(server, namespace, each)
        assert answer.accepted, answer
    return _Accepted(runtime, job, _foreseen(runtime, job, operated.validated(server.target, runtime, job), server.target))


def _foreseen(runtime: Data, job: Data, result: FileResult, target: Target) -> Foreseen:
    """What comes one from the other: the JobSet, its Service, its Jobs in order as long as the server refuses none, and their pods."""
    name, said = job["metadata"]["name"], operated.said(result)
    expansion = expand(document_of(job, "job.yaml"), [document_of(runtime, "runtime.yaml", index=1)], target)
    if any(each.severity == "error" for each in expansion.diagnostics):
        return Foreseen(said, Counter(), {("JobSet", name): []})
    comes, refused = Counter({("JobSet", name): 1}), {}
    made = list(map(with_generated_names, expansion.objects))
    for each in (each for each in made if each["kind"] in ("Service", "Job")):
        own = each["kind"], each["metadata"]["name"]
        if refused_for := operated.why_refused(each, target):
            return Foreseen(said, comes, {**refused, own: refused_for})
        comes[own] += 1
        pods = [pod for pod in made if pod["kind"] == "Pod" and pod["metadata"]["ownerReferences"][0]["name"] == own[1]]
        if each["kind"] == "Job" and pods and (wrong := operated.why_refused(pods[0], target)):
            refused[OF_JOB, own[1]] = wrong
        elif each["kind"] == "Job":
            comes[OF_JOB, own[1]] += len(pods)
    return Foreseen(said, comes, refused)


def _mutant(name: str, runtime_name: str, namespace: str, random: Random, releases: str) -> tuple[Data, Data]:
    target = choose(releases.split())
    runtime, job = (each["spec"] for each in trainjob(random, name, namespace))
    if random.random() < 0.3:
        trainer = {"command": ["torchrun", "train.py"], "numNodes": random.choice((1, 2))}
        runtime, job = json.loads(random.choice(_bases(releases))), {"trainer": trainer}
    jobs, in_runtime = runtime["template"]["spec"]["replicatedJobs"], random.random() < 0.75
    if not in_runtime and not job.get("podSpecOverrides"):
        job = {**job, "podSpecOverrides": [{"targetJobs": [{"name": random.choice(jobs)["name"]}]}]}
    runtime, job = renewed(runtime, job, target)
    if in_runtime:
        chosen = random.randrange(len(jobs))
        made = _changed(jobs[chosen], random, target)
        jobs = [made if number == chosen else each for number, each in enumerate(jobs)]
    else:
        field = "runtimePatches" if "runtimePatches" in job else "podSpecOverrides"
        shape = shapes.load(_VERSION, "TrainJob", target)
        inside = shape and shape.at(("spec", field, 0))
        assert inside
        job = {**job, field: [template_mutants.changed(job[field][0], inside, random), *job[field][1:]]}
    jobset = {field: each for field, each in runtime["template"]["spec"].items() if field != "successPolicy"}  # by it, Jobs could go early
    template = {**runtime["template"], "spec": {**jobset, "replicatedJobs": jobs}}
    return _pair(name, runtime_name, namespace, {**runtime, "template": template}, job)


def _changed(replicated: Data, random: Random, target: Target) -> Data:
    """A replicated job with another pod template."""
    shape = shapes.load(_VERSION, "TrainingRuntime", target)
    inside = shape and shape.at(("spec", "template", "spec", "replicatedJobs", 0, "template", "spec", "template"))
    assert inside
    job = replicated["template"]["spec"]
    changed = {**job, "template": template_mutants.changed(job["template"], inside, random)}
    return {**replicated, "template": {**replicated["template"], "spec": changed}}


def _pair(name: str, runtime_name: str, namespace: str, runtime: Data, job: Data) -> tuple[Data, Data]:
    """A runtime and a job that names it, and is not suspended."""
    own = {field: each for field, each in job.items() if field != "suspend"}
    spec = {**own, "runtimeRef": {"kind": "TrainingRuntime", "name": runtime_name}}
    return _object("TrainingRuntime", runtime_name, namespace, runtime), _object("TrainJob", name, namespace, spec)


def _object(kind: str, name: str, namespace: str, spec: Data) -> Data:
    return {"apiVersion": _VERSION, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


_PLAIN: Data = {
    "name": "node",
    "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "a:1"}]}}},
    },
}


@cache
def _bases(releases: str) -> list[str]:
    """Runtimes of real projects whose Jobs wait for no others, and of which a job runs, as JSON."""
    found = {}
    for case in corpus.of_projects():
        if case.kind in ("TrainingRuntime", "ClusterTrainingRuntime") and not _WAITING.search(case.text):
            try:
                spec = quick_yaml.load(case.text)["spec"]
                jobs = spec["template"]["spec"]["replicatedJobs"]
                pair = _pair("a", "a", "a", spec, {"trainer": {"command": ["torchrun"]}})
                if jobs and operated.validated(choose(releases.split()), *pair).valid:
                    found[json.dumps(spec, sort_keys=True)] = None
            except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError):
                continue
    return list(found)
