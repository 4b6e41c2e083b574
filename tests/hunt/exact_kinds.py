"""Objects of built-in kinds at random, new ones and updates: `validate` says what a server says, at the same fields."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from jobspec.diagnostics.places import spell
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.schemas import shapes
from tests.hunt.builtin_kinds import path_of
from tests.hunt.finds import Find
from tests.support.exact_growth import of_kind
from tests.support.server import STRICT, Answer, Server, target

_RBAC = "rbac.authorization.k8s.io/v1"
KINDS = [
    *(("v1", name) for name in ("ConfigMap", "LimitRange", "Namespace", "ResourceQuota", "Secret", "ServiceAccount")),
    *((_RBAC, name) for name in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
]
#: What depends on other objects of the cluster.
_BY_OTHERS = re.compile("already exists|is being deleted|global default priority class|forbidden: attempting to grant")
#: Where the server names a place that the manifest does not have: its field up to a key, and the fields that may stand there instead.
_SPELLINGS = {
    "": ("data", "binaryData"),
    "<nil>": ("data", "binaryData"),
    "data": ("data", "stringData"),
    "spec.limits.default": ("spec.limits.max", "spec.limits.min", "spec.limits.defaultRequest"),
    "spec.limits.defaultRequest": ("spec.limits.max", "spec.limits.min", "spec.limits.default"),
    "metadata.name": ("metadata.generateName",),
}


def finds(server: Server, random: Random, *, each: int = 25) -> Iterator[Find]:
    """The objects about which a server and we disagree, as many of each kind."""
    made = [_new(*kind, random) for kind in KINDS for _ in range(each)]
    with ThreadPoolExecutor(4) as pool:
        for data, answer in pool.map(lambda data: (data, _ask(server, data)), made):
            if found := disagreement(data, answer):
                yield Find(json.dumps(data), found, str(answer), "control-plane", answer.accepted)


def changes(server: Server, random: Random, *, count: int = 40) -> Iterator[Find]:
    """The updates about which a server and we disagree: of objects that are stored for a while, some changes each."""
    for _ in range(count):
        yield from _changes_of(server, random.choice(KINDS), random)


def _changes_of(server: Server, kind: tuple[str, str], random: Random) -> Iterator[Find]:
    name = f"hunted-{random.randrange(1 << 40)}"
    for _ in range(20):
        data = {**_new(*kind, random, name), "globalDefault": False} if kind[1] == "PriorityClass" else _new(*kind, random, name)
        data["metadata"].pop("finalizers", None)
        if not builtin_problems(data, *kind, target()):
            break
    else:
        return
    path = path_of(server, *kind)
    if not server.call("POST", path, json.dumps(data)).accepted:
        return
    stored = server.get(f"{path}/{name}")
    for _ in range(6):
        other = _changed(stored, _new(*kind, random, name), random)
        answer = server.call("PUT", f"{path}/{name}" + STRICT, json.dumps(other))
        if found := disagreement(other, answer, stored):
            yield Find(json.dumps(other), found, str(answer), "control-plane", answer.accepted, stored=json.dumps(stored))
    server.call("DELETE", f"{path}/{name}")
    if kind[1] == "Namespace":  # which no controller empties on a server that is alone
        going = server.get(f"{path}/{name}")
        server.call("PUT", f"{path}/{name}/finalize", json.dumps({**going, "spec": {"finalizers": []}}))


def _new(api_version: str, kind: str, random: Random, name: str = "a-new-one") -> dict[str, Any]:
    shape = shapes.load(api_version, kind, target())
    assert shape
    return of_kind(shape, api_version, kind, name, random)


def _changed(stored: dict[str, Any], new: dict[str, Any], random: Random) -> dict[str, Any]:
    """The stored object with some fields of another one."""
    fields = [field for field in (*stored, *new) if field not in ("apiVersion", "kind", "metadata", "status")]
    chosen = random.sample(fields, min(len(fields), random.choice((0, 1, 1, 2))))
    made = {field: value for field, value in stored.items() if field not in chosen} | {
        field: new[field] for field in chosen if field in new
    }
    spec = made.get("spec")
    if spec and new.get("spec") and random.random() < 0.5:
        field = random.choice(list(new["spec"]))
        made["spec"] = {**stored["spec"], field: new["spec"][field]}
    extra = {} if random.random() < 0.8 else {key: value for key, value in new["metadata"].items() if key != "generation"}
    return {**made, "metadata": {**stored["metadata"], **extra}}


def _ask(server: Server, data: dict[str, Any]) -> Answer:
    return server.call("POST", path_of(server, data["apiVersion"], data["kind"]) + STRICT, json.dumps(data))


def disagreement(data: dict[str, Any], answer: Answer, old: Any = None) -> str:
    """What we say of an object where the server says something else; empty where both say the same."""
    if answer.code == 409 or _BY_OTHERS.search(answer.message):
        return ""
    ours = builtin_problems(data, data["apiVersion"], data["kind"], target(), old)
    reported = str([(each.rule, spell(each.path)) for each in ours])
    if answer.accepted == bool(ours):
        return f"another verdict: {reported}"
    if answer.code != 422:
        return ""
    mine, theirs = {_plain(spell(each.path)) for each in ours}, {_plain(field) for field in answer.fields}
    lacking = [field for field in theirs if not any(_is_meant(field, each) for each in mine)]
    return f"nothing of {lacking}: {reported}" if lacking else ""


def _plain(field: str) -> str:
    """A field without the indices of lists, which the server leaves out in some places."""
    return re.sub(r"\[\d+\]", "", field)


def _is_meant(theirs: str, ours: str) -> bool:
    """Whether the server means a field of ours, of which it may tell the list or map around it."""
    field, bracket, key = theirs.partition("[")
    meant = [each + bracket + key for each in (field, *_SPELLINGS.get(field, ()))]
    return any(ours == each or ours.startswith((f"{each}.", f"{each}[")) for each in meant)
