"""Change stored jobs of all kinds at random, and compare `validate --from` with a server that has the operator of each kind.

Some new states are of the object as the server has it, after whatever its operator wrote; others are of the manifest that it was made of.
"""

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random
from typing import Any

from jobspec import api
from jobspec.documents.document import Document
from jobspec.journey import checking
from jobspec.journey.steps import Checked, Source
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from jobspec.world.world import StoredObjects
from tests.agreement.corpus import ENDLESS
from tests.agreement.live import Live
from tests.hunt import job_kinds, kueue
from tests.hunt.finds import Find, errors_of
from tests.hunt.job_kinds import KINDS, OF_OTHER_HUNTS, Kinds
from tests.hunt.updates import documents, namespace
from tests.support import quick_yaml
from tests.support.mutants import mutant
from tests.support.server import OF_V1, PLURALS, STRICT, WORKLOADS, Answer

_APPLY = "fieldManager=jobspec&force=true&fieldValidation=Strict"
#: What a manifest says that has an engine delete the object first, so that nothing is an update of it.
_OF_ENGINES = ("argocd.argoproj.io/", "helm.sh/", "kustomize.toolkit.fluxcd.io/")
_QUEUE = "kueue.x-k8s.io/queue-name"
#: What the trainer's webhook says of a TrainJob whose JobSet has pods, which its manifest does not tell.
_ONLY_THE_CLUSTER_KNOWS = "is still active"
_TRIES = 4  # where a controller writes the object between our reading and the server's answer
_PATHS = {**PLURALS, **OF_V1, **WORKLOADS}
_IDENTITY = ("uid", "resourceVersion", "managedFields", "generation", "creationTimestamp", "deletionTimestamp")
_KINDS: Kinds = {**KINDS, **OF_OTHER_HUNTS}
Data = dict[str, Any]


class Stored:
    """A job on the server, and the manifest that was applied."""

    def __init__(self, live: Live, kind: str, manifest: Data, collection: str) -> None:
        self.kind = kind
        self.manifest = manifest
        self._live = live
        self.needs_server = kind in ("Job", "JobSet", "TrainJob") or bool((manifest["metadata"].get("labels") or {}).get(_QUEUE))
        """Whether the server alone knows what an update meets: what it wrote into a Job or JobSet, and what Kueue has suspended."""
        self._path = f"{collection}/{manifest['metadata']['name']}"

    def read(self) -> Data:
        """The object as the server has it now, without who set which field."""
        data = self._live.server.get(self._path)
        data.get("metadata", {}).pop("managedFields", None)
        return data

    def put(self, data: Data) -> tuple[Data, Data, Answer]:
        """The object as it was before, the new state as it was sent, and the reply to a dry update."""
        for _ in range(_TRIES):
            before = self.read()
            if "metadata" not in before:
                return {}, data, Answer(404)
            body = {**data, "metadata": {**data["metadata"], "resourceVersion": before["metadata"]["resourceVersion"]}}
            answer = self._live.server.call("PUT", self._path + STRICT, _json(body))
            if answer.code != 409:
                break
        return before, body, answer

    def apply(self, data: Data) -> Answer:
        """The reply to a manifest that is applied dryly over the one before, as kubectl does it."""
        now = self.read()
        if "metadata" not in now:
            return Answer(404)
        return self._live.server.patch(self._path + STRICT, _json(_merge_patch(self.manifest, now, data)))

    def delete(self) -> None:
        """Delete it with what its operator made."""
        self._live.server.call("DELETE", f"{self._path}?propagationPolicy=Background")


def finds(live: Live, random: Random, tally: Counter[str], *, count: int = 8, each: int = 30, kinds: Kinds = _KINDS) -> Iterator[Find]:
    """Yield the updates on which the server and we disagree: some of each of as many stored jobs of each kind."""
    with namespace(live.server) as place, ThreadPoolExecutor(4) as pool:
        for kind in kinds:
            stored = list(_stored(live, kind, random, count, kinds, place))
            made = [(old, old.read() if old.needs_server or random.random() < 0.5 else None) for old in stored for _ in range(each)]
            updates = [(old, bool(now), new) for old, now in made if (new := _changed(old, now or old.manifest, random, live))]
            for found in pool.map(lambda update: _find(live, *update, tally), updates):
                yield from found
            for old in stored:
                old.delete()


def _stored(live: Live, kind: str, random: Random, count: int, kinds: Kinds, place: str) -> Iterator[Stored]:
    """As many jobs of a kind that the server takes."""
    collection = _PATHS[kinds[kind][1]].format(place)
    number = 0
    while number < count:
        data = _data(job_kinds.manifest(live, kind, random, kinds))
        if not data or (data["apiVersion"], data["kind"]) != (kinds[kind][0], kind) or any(each in _json(data) for each in _OF_ENGINES):
            continue
        manifest = {**_without_identity(data), "metadata": {**data["metadata"], "name": f"a{number}", "namespace": place}}
        stored = Stored(live, kind, manifest, collection)
        if any(each.rule == "operator-crash" for each in api.check(_json(manifest), cluster=live.cluster).diagnostics):
            continue
        if live.server.apply(f"{collection}/a{number}?{_APPLY}", _json(manifest)).accepted:
            yield stored
            number += 1


def _without_identity(data: Data) -> Data:
    kept = {field: value for field, value in data.items() if field != "status"}
    metadata = {field: value for field, value in data["metadata"].items() if field not in _IDENTITY and value is not None}
    return {**kept, "metadata": metadata}


def _find(live: Live, old: Stored, is_of_server: bool, new: Data, tally: Counter[str]) -> list[Find]:
    """What is found in an update: nothing where both say the same, or the object is gone."""
    before, new, answer = old.put(new) if is_of_server else (old.manifest, new, old.apply(new))
    if answer.code in (404, 409, 500) or _ONLY_THE_CLUSTER_KNOWS in answer.message or (old.kind == "Job" and _lacks_generated(new, before)):
        return []
    judge = job_kinds.judge_of(live, old.kind)
    text = _json(new)
    checked = _checked(judge, text, before)
    errors = errors_of(checked)
    tally[f"{old.kind} {'of the server' if is_of_server else 'of the manifest'}, {'accepted' if answer.accepted else 'refused'}"] += 1
    if answer.accepted == (not errors and bool(checked.result.documents)) or job_kinds.is_of_no_queue(live, old.kind, answer.message):
        return []
    target = " ".join(f"{operator}={release}" for operator, release in judge.cluster.target.items())
    return [Find(text, str(errors), str(answer), live.name, answer.accepted, target=target, stored=_json(before))]


def _merge_patch(old: Data, now: Data, new: Data) -> Data:
    """What kubectl sends to apply a manifest over the one that it applied before."""
    made = dict.fromkeys(old.keys() - new.keys())
    for field, value in new.items():
        if isinstance(value, dict) and isinstance(now.get(field), dict):
            before = old.get(field)
            if inside := _merge_patch(before if isinstance(before, dict) else {}, now[field], value):
                made[field] = inside
        elif field not in now or _json(now[field]) != _json(value):
            made[field] = value
    return made


def _checked(live: Live, text: str, before: Data) -> Checked:
    """What we say."""
    cluster = live.cluster.updating(StoredObjects(_documents(_json(before))))
    return checking.checked(Source("manifest.yaml", text.encode()), (), cluster)


def _lacks_generated(new: Data, before: Data) -> bool:
    return kueue.lacks_generated(new.get("spec"), before["spec"])


def _changed(old: Stored, now: Data, random: Random, live: Live) -> Data | None:
    """Another state of a job; None where the change makes it another one, or no object at all."""
    if "metadata" not in now:
        return None
    given = {field: value for field, value in json.loads(json.dumps(now)).items() if field != "status"}
    shape = shapes.part(given["apiVersion"], given["kind"], live.cluster.target)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        changed = _with_change(old, given, shape, random, live)
        metadata = changed.get("metadata") if changed else None
        if changed and isinstance(metadata, dict) and _identity(changed) == _identity(now):
            given = changed
    is_patch_of_null = now is old.manifest and "null" in _json(given)  # which a patch removes from mappings, and keeps in lists
    return None if is_patch_of_null or ENDLESS.search(quick_yaml.dump(given)) else given


def _with_change(old: Stored, data: Data, shape: Shape, random: Random, live: Live) -> Data | None:
    chance = random.random()
    if chance < 0.3:
        return _data(mutant(quick_yaml.dump(data), shape, random))
    made: Data = json.loads(json.dumps(data))
    if chance < 0.6:
        _tweak(made.get("spec"), random)
    elif chance < 0.8:
        other = _data(job_kinds.manifest(live, old.kind, random, {old.kind: (data["apiVersion"], old.kind)}))
        if other:
            _graft(made, other, random)
    else:
        made["metadata"] = {**made["metadata"], "labels": made["metadata"].get("labels") or {}}
        made["metadata"]["annotations"] = made["metadata"].get("annotations") or {}
        with suppress(TypeError, AttributeError):  # where another change left no mapping
            kueue.change_names(made, random)
    return made


def _tweak(data: Any, random: Random) -> None:
    """Give one leaf another value of its type."""
    leaves = [(container, key) for container, key in _leaves(data) if not isinstance(container[key], (dict, list))]
    if leaves:
        container, key = random.choice(leaves)
        value = container[key]
        numbers = (0, 1, 2, 3, -1)
        container[key] = not value if isinstance(value, bool) else random.choice(numbers) if isinstance(value, int) else f"{value}a"


def _leaves(data: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(data, (dict, list)):
        for key in data if isinstance(data, dict) else range(len(data)):
            yield data, key
            yield from _leaves(data[key])


def _graft(data: Any, other: Any, random: Random) -> None:
    """Take a part of another job in the place of the same part of this one; or drop the part, or add one that this one lacks."""
    if not (isinstance(data, dict) and isinstance(other, dict)):
        return
    keys = [key for key in ("spec", *data, *other) if key not in ("apiVersion", "kind", "metadata", "status")] or list(data)
    key = random.choice(keys)
    if isinstance(data.get(key), dict) and isinstance(other.get(key), dict) and (key == "spec" or random.random() < 0.7):
        _graft(data[key], other[key], random)
    elif isinstance(data.get(key), list) and isinstance(other.get(key), list) and data[key] and other[key] and random.random() < 0.6:
        _graft(random.choice(data[key]), random.choice(other[key]), random)
    elif key in other:
        data[key] = json.loads(json.dumps(other[key], default=str))
    elif key in data:
        del data[key]


def _identity(data: Data) -> tuple[Any, ...]:
    """What says of an object which one it is."""
    return data.get("apiVersion"), data.get("kind"), *(data["metadata"].get(field) for field in ("name", "namespace", *_IDENTITY))


def _data(text: str) -> Data | None:
    """The only document of a text as data, as JSON has it."""
    found = _documents(text)
    if len(found) != 1 or not isinstance(found[0].data, dict):
        return None
    try:
        data: Data = json.loads(json.dumps(found[0].data, allow_nan=False))
    except (TypeError, ValueError):
        return None
    return data if isinstance(data.get("metadata"), dict) else None


def _documents(text: str) -> list[Document]:
    return documents(text, "job.yaml")


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)
