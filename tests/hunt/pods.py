"""Pods at random, recorded ones, those of real jobs and grown ones: `validate` and a server say the same to them, at the same fields."""

import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from random import Random
from typing import Any

import yaml

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.journey.checking import checked
from jobspec.journey.steps import Source
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.kubernetes.pods.pod import priority_problems
from jobspec.schemas import shapes
from jobspec.world.world import Cluster
from tests.agreement import corpus, known
from tests.hunt import pod_fields
from tests.hunt.finds import Find
from tests.support import pod_mutants, quick_yaml
from tests.support.mutants import at_one_place, at_two_places
from tests.support.reference import ROOT, folder
from tests.support.server import Answer, Server, target

NAMESPACE = "jobspec-pods"
_PATHS = {"Pod": "/api/v1/namespaces/{}/pods", "PodTemplate": "/api/v1/namespaces/{}/podtemplates"}
_STRICT = "?dryRun=All&fieldValidation=Strict"

#: What depends on other objects of the cluster, which nobody gives us.
_BY_OTHERS = re.compile(
    "error looking up service account|no PriorityClass with name|RuntimeClass .* not found|does not match the namespace sent on the request"
)


def prepare(server: Server) -> Server:
    """The server, with a namespace in which pods can be."""
    assert server.has_namespace(NAMESPACE)
    for name in ("default", "a"):
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
        answer = server.call("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", json.dumps(account))
        assert answer.code in (201, 409), answer
    return server


def finds(server: Server, random: Random, *, count: int = 400) -> Iterator[Find]:
    """The pods on which the server and we disagree."""
    prepare(server)
    yield from compared(server, (_made(random) for _ in range(count)))


def compared(server: Server, texts: Iterable[str]) -> Iterator[Find]:
    """Those of some pods on which the server and we disagree."""
    ending = (text for text in texts if not corpus.ENDLESS.search(text))
    with ThreadPoolExecutor(4) as pool:
        for text, answer in pool.map(lambda text: (text, ask(server, text)), ending):
            if found := disagreement(text, answer):
                yield Find(text, found, str(answer), "control-plane", answer.accepted)


def ask(server: Server, text: str) -> Answer:
    """What the server says to a pod or a PodTemplate."""
    kind = "PodTemplate" if '"kind": "PodTemplate"' in text or "\nkind: PodTemplate" in text else "Pod"
    return server.call("POST", _PATHS[kind].format(NAMESPACE) + _STRICT, text)


def disagreement(text: str, answer: Answer) -> str:
    """How what we say differs from the server's answer; empty where it does not."""
    if answer.code in (400, 403) and _BY_OTHERS.search(answer.message):
        return ""
    if any(each.says in answer.message for each in known.pods()):
        return ""
    found = errors(text)
    if any(each.rule == "not-a-manifest" for each in found):  # the server has the kind from the address that it was sent to
        return ""
    if answer.accepted and all(any(each.is_reported_by(error) for each in known.refusals("control-plane")) for error in found):
        return ""
    if answer.accepted or not found:
        return "" if answer.accepted == (not found) else f"{[(each.field, each.message) for each in found]}"
    if answer.code != 422 or any(each.stage == "decoding" for each in found):  # then one side did not look at fields
        return ""
    return pod_fields.difference(found, answer.fields)


def errors(text: str) -> list[Diagnostic]:
    """What we have against a pod or a PodTemplate."""
    found = checked(Source("pod.yaml", text), (), Cluster(target())).result.diagnostics
    return [each for each in found if each.severity == "error"]


def _made(random: Random) -> str:
    """A pod that was made at random in one of several ways."""
    return random.choices((_mutant, _changed, _rich, _template), weights=(4, 4, 2, 1))[0](random)


def _shape(kind: str) -> shapes.Shape:
    shape = shapes.load("v1", kind, target())
    assert shape
    return shape


def _mutant(random: Random) -> str:
    """A recorded pod, or one of a real job, after changes of its text."""
    text = random.choice(_bases())
    return random.choice((at_one_place, at_one_place, at_two_places))(text, _shape("Pod"), random)


def _changed(random: Random) -> str:
    base = random.choice((pod_mutants.SMALL, pod_mutants.LARGER, pod_mutants.LARGER, json.loads(random.choice(_bases()))))
    return json.dumps(pod_mutants.changed(base, _shape("Pod"), random, times=random.choice((1, 1, 2, 3))), ensure_ascii=False)


def _rich(random: Random) -> str:
    made = pod_mutants.rich(_shape("Pod"), random, _is_valid)
    return json.dumps(pod_mutants.changed(made, _shape("Pod"), random, times=random.choice((0, 1))), ensure_ascii=False)


def _template(random: Random) -> str:
    pod = json.loads(_changed(random))
    template = {name: pod[name] for name in ("metadata", "spec") if name in pod}
    return json.dumps({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "a"}, "template": template}, ensure_ascii=False)


def _is_valid(pod: Any) -> bool:
    return not builtin_problems(pod, "v1", "Pod", target()) and not any(priority_problems(pod["spec"]))


@cache
def _bases() -> list[str]:
    """Recorded pods, and pods of the templates of real jobs, each once, as JSON."""
    made = {json.dumps(each, sort_keys=True): each for each in (*_recorded(), *_of_jobs(), *_of_cases())}
    texts = (json.dumps(each) for each in made.values() if len(str(each)) < 4000)
    return [re.sub("<(random|sha1|uid)>", r"\1", text) for text in texts]


def _recorded() -> Iterator[Any]:
    for path in sorted(folder("golden").rglob("*.json")):
        for made in json.loads(path.read_text()).get("created") or ():
            if made["kind"] == "Pod":
                spec = {name: each for name, each in made["spec"].items() if name != "nodeName"}
                meta = {name: made["metadata"][name] for name in ("labels", "annotations") if name in made["metadata"]}
                yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", **meta}, "spec": spec}


def _of_cases() -> Iterator[Any]:
    for path in sorted((ROOT / "tests" / "cases" / "validate").glob("pod*.yaml")):
        yield from (each for each in quick_yaml.load_all(path.read_text()) if each["kind"] == "Pod")


def _of_jobs() -> Iterator[Any]:
    for case in corpus.of_projects():
        try:
            data = quick_yaml.load(case.text)
            roles = data["spec"]["pytorchReplicaSpecs"].values()
        except (yaml.YAMLError, KeyError, TypeError, AttributeError):
            continue
        for role in roles:
            if isinstance(role, dict) and isinstance(role.get("template"), dict):
                yield {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": role["template"].get("spec")}
