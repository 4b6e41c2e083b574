"""PyTorchJobs with changes inside their pod templates: their pods come, or are refused, as `validate` says, and for the same fields."""

import json
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
from tests.hunt.operated import Foreseen, Named
from tests.support import quick_yaml, template_mutants
from tests.support.job_growth import grown_job
from tests.support.server import Server

Data = dict[str, Any]

_LAST = {"Worker": {"template": {"spec": {"containers": [{"name": "pytorch", "image": "a:1"}]}}}}
_MOST = 2  # pods of a role


@dataclass(frozen=True)
class _Accepted:
    """A job that the server has accepted."""

    job: Data
    foreseen: Foreseen

    @property
    def name(self) -> str:
        return str(self.job["metadata"]["name"])


def finds(server: Server, random: Random, tally: Counter[str], *, jobs: int = 40) -> Iterator[Find]:
    """The jobs of which the server and the operator make something else than we say."""
    with operated.namespace(server) as namespace:
        accepted = []
        for number in range(jobs):
            sent = _sent(server, namespace, lambda number=number: _mutant(f"j{number}", random, server.releases), tally)
            if isinstance(sent, Find):
                yield sent
            else:
                accepted.append(sent)
        # The operator takes one job after the other: when this has come, it has tried all others.
        last = _sent(server, namespace, lambda: _job("last", _LAST), Counter())
        assert isinstance(last, _Accepted), last
        there = operated.settled(server, namespace, [each.foreseen for each in (*accepted, last)])
        assert not last.foreseen.differs(there), "the operator answers no more"
        reported = operated.refusals(server, namespace)
        for each in accepted:
            tally["refused" if each.foreseen.refused else "came"] += 1
            if apart := _difference(each.foreseen, there, reported.get(each.name, []), tally):
                came = each.foreseen.all_came(there)
                yield Find(quick_yaml.dump(each.job), each.foreseen.said, apart, "operators", came, outcome=True, target=server.releases)


def _difference(foreseen: Foreseen, there: Counter[Named], reported: list[str], tally: Counter[str]) -> str:
    if apart := foreseen.differs(there):
        return f"{apart}; {reported}"
    if bool(foreseen.said) is not bool(foreseen.refused):
        return f"`validate` does not say so: {sorted(foreseen.refused)}"
    named = [(message, name) for message in reported if (name := operated.named_in(message))]
    tally["fields compared"] += bool(named)
    apart = ((operated.fields_apart(message, foreseen.refused.get(name, ())), message) for message, name in named)
    return "; ".join(f"{each}: {message}" for each, message in apart if each)


def _sent(server: Server, namespace: str, make: Any, tally: Counter[str]) -> _Accepted | Find:
    """The first job that the server accepts, or that it answers otherwise than we do; none is sent that would crash the operator."""
    while True:
        job = make()
        result = operated.validated(server.target, job)
        if any(each.rule == "operator-crash" for each in result.diagnostics):
            continue
        answer = operated.create(server, namespace, job)
        tally["sent"] += 1
        if not operated.agree(result, answer):
            said = str([each for each in result.diagnostics if each.stage != "outcome"])
            return Find(quick_yaml.dump(job), said, str(answer), "operators", answer.accepted, target=server.releases)
        if answer.accepted:
            return _Accepted(job, _foreseen(job, result, server.target))


def _foreseen(job: Data, result: FileResult, target: Target) -> Foreseen:
    """What the operator makes of a job: all, or less where the server refuses something, at which it stops.

    It tries again with the roles in another order, but at longer and longer intervals: nobody can wait for what may come of the other one.
    """
    expansion = expand(document_of(job, "job.yaml"), (), target)
    if any(each.severity == "error" for each in expansion.diagnostics):
        pods = [("Pod", f"{job['metadata']['name']}-{role.lower()}-0") for role in _roles(job)]
        return Foreseen(operated.said(result), Counter(), {each: [] for each in pods})
    made = {_named(data): data for each in expansion.objects if (data := with_generated_names(each))["kind"] in ("Pod", "Service")}
    refused = {name: problems for name, each in made.items() if (problems := operated.why_refused(each, target))}
    return Foreseen(operated.said(result), Counter() if refused else Counter(list(made)), refused)


def _roles(job: Data) -> Data:
    roles: Data = job["spec"]["pytorchReplicaSpecs"]
    return roles


def _named(made: Data) -> Named:
    return made["kind"], made["metadata"]["name"]


def _mutant(name: str, random: Random, releases: str) -> Data:
    base = grown_job(name, random) if random.random() < 0.4 else json.loads(random.choice(_bases(releases)))
    shape = shapes.load("kubeflow.org/v1", "PyTorchJob", choose(releases.split()))
    template = shape and shape.at(("spec", "pytorchReplicaSpecs", "Worker", "template"))
    assert template
    roles = {role: {**each, "replicas": min(each.get("replicas") or 1, _MOST)} for role, each in _roles(base).items()}
    for role in random.choice((list(roles), [random.choice(list(roles))])):
        roles[role] = {**roles[role], "template": template_mutants.changed(roles[role]["template"], template, random)}
    return _job(name, roles, base["spec"])


def _job(name: str, roles: Data, spec: Data | None = None) -> Data:
    """A job whose pods come at once and stay as many: no policies, and no limits that would have an autoscaler change their number."""
    whole = {field: each for field, each in (spec or {}).items() if field not in ("elasticPolicy", "runPolicy")}
    elastic = (spec or {}).get("elasticPolicy")
    if elastic:
        whole["elasticPolicy"] = {field: each for field, each in elastic.items() if field not in ("minReplicas", "maxReplicas")}
    whole["pytorchReplicaSpecs"] = roles
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": name}, "spec": whole}


@cache
def _bases(releases: str) -> list[str]:
    """Jobs of real projects and probes that run, each once, as JSON."""
    found = {}
    for case in corpus.of_projects():
        if case.kind == "PyTorchJob":
            try:
                data = quick_yaml.load(case.text)
                job = _job("a", _roles(data), data["spec"])
                if _roles(job) and operated.validated(choose(releases.split()), job).valid:
                    found[json.dumps(job, sort_keys=True)] = None
            except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError):
                continue
    return list(found)
