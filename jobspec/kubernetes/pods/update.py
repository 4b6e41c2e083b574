"""What an update of a pod can change: images, some of its times, tolerations that are added, gates that are removed.

Follows `ValidatePodUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, and `Admit`, plugin/pkg/admission/defaulttolerationseconds.
As in an apply, a field that is in neither state keeps its value, and so does the account if only one of its two fields is removed. A
stored state with a `uid` comes from the cluster: what the cluster gave to the pod (its node, its account and the token) stays, too.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Key, Path, spell, value_at
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.quantities import comparable
from jobspec.kubernetes.pods.annotations import APP_ARMOR, MIRROR
from jobspec.kubernetes.pods.defaults import (
    CONTAINERS,
    TOLERATED_TAINTS,
    completed,
    containers_of,
    default_pull_policy,
    is_pointer,
    of_class,
)
from jobspec.kubernetes.pods.scheduling import REQUIRED
from jobspec.kubernetes.problems import describe, fixed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


_SPEC: Path = ("spec",)
_FREE = ("activeDeadlineSeconds", "schedulingGates", "tolerations")  # which have rules of their own
_BY_ADMISSION = ("priority", "preemptionPolicy")  # which takes them from a class, and keeps them where an update does not say them
_BY_CLUSTER = ("nodeName",)
_ACCOUNT = ("serviceAccountName", "serviceAccount")  # the older name of the same; the cluster writes both
_OF_IMAGES = ("image", "imagePullPolicy")
_ACCESS = "kube-api-access-"  # begins the name of the volume by which every pod gets its account's token
_ANEW = "restore the old value, or delete and recreate the pod"


def pod_update_problems(new: Data, old: Data) -> Problems:
    """Yield the problems of changes from the decoded pod *old* to *new*.

    The new pod has its account, and what the server fills in for pods alone.
    """
    notes, noted = (each.get("metadata", {}).get("annotations", {}) for each in (new, old))
    for key in {**noted, **notes}:
        if (key == MIRROR or key.startswith(APP_ARMOR)) and notes.get(key) != noted.get(key):
            path: Path = ("metadata", "annotations", *((Key(key),) if key in notes else ()))
            yield fixed(path, f"the annotation `{key}` of a pod cannot be added, changed or removed", _ANEW)
    now, was = new.get("spec", {}), old.get("spec", {})
    if _is_from_cluster(old):
        now, was = {**_of_stored(was, _BY_CLUSTER), **now}, _without_token(was, now)
    was = {**of_class(was), **was, **({"serviceAccountName": account} if (account := _account(was)) else {})}
    now = {**_of_stored(was, _BY_ADMISSION), **{field: each for field, each in now.items() if field in was or field not in _BY_ADMISSION}}
    for field in CONTAINERS:
        count, before = len(now.get(field, ())), len(was.get(field, ()))
        if count != before:
            yield fixed((*_SPEC, field), f"a pod keeps its `{field}`, of which there were {before}, and are {count} now", _ANEW)
            return
    yield from _deadline(now.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds"))
    yield from _tolerations(now.get("tolerations", []), was.get("tolerations", []))
    yield from _gates(now, was)
    is_gated = bool(was.get("schedulingGates"))
    new_rest, old_rest = _without_free(now, was, is_gated=is_gated), _without_free(was, now, is_gated=is_gated)
    for path in (*_policies(now, was), *changes(new_rest, old_rest)):
        yield fixed((*_SPEC, *path), _described_change(path, now, was), _ANEW)


def with_account(new: Data, old: Data) -> Data:
    """Return a new state with the names of the account that stay.

    Names stay if they are absent from the stored pod. If the stored pod is from the cluster, both names stay, or none.
    """
    now, was = new.get("spec", {}), old.get("spec", {})
    if _is_from_cluster(old):
        kept = {} if _account(now) else _of_stored(was, _ACCOUNT)
    else:
        kept = {name: account for name in _ACCOUNT if (account := _account(was)) and name not in was}
    return {**new, "spec": {**kept, **now}}


def with_nulls_as_texts(pod: Data) -> Data:
    """Replace nulls in a pod's account and pull policies by empty strings.

    An apply empties null fields, and keeps absent ones.
    """
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return pod
    made = _without_nulls(spec, _ACCOUNT)
    for field in CONTAINERS:
        if isinstance(spec.get(field), list):
            made[field] = [_without_nulls(each, ("imagePullPolicy",)) if isinstance(each, dict) else each for each in spec[field]]
    return {**pod, "spec": made}


def _without_nulls(data: Data, fields: tuple[str, ...]) -> Data:
    return {field: "" if each is None and field in fields else each for field, each in data.items()}


def _policies(now: Data, was: Data) -> Iterator[Path]:
    """Yield the paths of changed pull policies. An empty policy means the default.

    If both states have none, nothing changes.
    """
    for (path, new), (_, old) in zip(containers_of(now, (), CONTAINERS), containers_of(was, (), CONTAINERS), strict=True):
        is_said = "imagePullPolicy" in new or "imagePullPolicy" in old
        if is_said and len({pull_policy(each, "image", "imagePullPolicy") for each in (new, old)}) > 1:
            yield (*path, "imagePullPolicy")


def _of_stored(was: Data, fields: tuple[str, ...]) -> Data:
    """Some fields of the stored spec, which a new one without them keeps."""
    return {field: was[field] for field in fields if field in was}


def _is_from_cluster(stored: Data) -> bool:
    return bool(stored.get("metadata", {}).get("uid"))


def _account(spec: Data) -> Any:
    """The account of a pod, under either name; empty or None where it has none."""
    return spec.get("serviceAccountName") or spec.get("serviceAccount")


def _without_token(was: Data, now: Data) -> Data:
    """Return the stored spec without the volume of the token that the cluster mounts.

    If the new spec has the volume, too, it stays.
    """
    kept = {each.get("name", "") for each in now.get("volumes", ())}
    tokens = {name for each in was.get("volumes", ()) if (name := each.get("name", "")).startswith(_ACCESS)} - kept

    def without(around: Data, field: str) -> Data:
        return {**around, field: [each for each in around.get(field, ()) if each.get("name") not in tokens]}

    containers = {field: [without(each, "volumeMounts") for each in was.get(field, ())] for field in CONTAINERS}
    return {**without(was, "volumes"), **containers} if tokens else was


def _without_free(spec: Data, other: Data, *, is_gated: bool) -> Data:
    """Return a spec without the fields that can change.

    If the pod is gated, its requirements on nodes are left out, too, if the *other* spec's differ.
    """
    made = {field: each for field, each in spec.items() if field not in (*_FREE, *(("nodeSelector",) if is_gated else ()))}
    for field in CONTAINERS:
        if field in made:
            made[field] = [{name: each for name, each in one.items() if name not in _OF_IMAGES} for one in made[field]]
    if "affinity" in made and is_gated and any(changes(_node_affinity_of(spec), _node_affinity_of(other))):
        rest = {field: each for field, each in made.pop("affinity").items() if field != "nodeAffinity"}
        return {**made, "affinity": rest} if rest else made
    return made


def _deadline(new: int | None, old: int | None) -> Problems:
    path = (*_SPEC, "activeDeadlineSeconds")
    if new is None and old is not None:
        yield fixed(path, f"the deadline of a pod cannot be removed, and was {old} seconds", f"write at most {old}")
    elif new is not None and old is not None and new > old:
        yield Problem("immutable-field", path, f"the deadline of a pod can only come earlier than {old} seconds, not at {new}")


def _tolerations(new: list[Data], old: list[Data]) -> Problems:
    kept = [_without_seconds(each) for each in _with_given(new)]
    for each in _with_given(old):
        if _without_seconds(each) not in kept:
            taint = f"the taint `{each['key']}`" if each.get("key") else "every taint"
            message = f"tolerations of a pod can be added, not changed or removed, as that of {taint} is"
            yield fixed((*_SPEC, "tolerations"), message, "restore it; its `tolerationSeconds` can change")
            return


def _with_given(tolerations: list[Data]) -> list[Data]:
    """Tolerations with those that admission adds."""
    covered = {each.get("key", "") for each in tolerations if each.get("effect", "") in ("", "NoExecute")}
    given = [key for key in TOLERATED_TAINTS if covered.isdisjoint((key, ""))]
    return [*tolerations, *({"key": key, "operator": "Exists", "effect": "NoExecute"} for key in given)]


def _without_seconds(toleration: Data) -> Data:
    return {field: each for field, each in toleration.items() if field != "tolerationSeconds" and each}


def _described_change(path: Path, now: Data, was: Data) -> str:
    """Write what changed at a path of the spec, in words."""
    name, after, before = f"`{spell(path)}`", value_at(now, path), value_at(was, path)
    if before is None and after is not None:
        return f"{name} cannot be added to an existing pod"
    value = "" if before is None or isinstance(before, dict | list) else f", and was {describe(before)}"
    return f"{name} of a pod cannot {'change' if after is not None else 'be removed'}{value}"


# The differences of two specs of a pod that matter to the server.
#
# Follows `Semantic.DeepEqual`, k8s.io/apimachinery pkg/api/equality, 0.36: an empty list or map equals an absent one, and quantities
# are equal by their amount. A number, text or boolean that is zero equals an absent one unless it is a pointer in Go.


_MAPS = ("annotations", "labels", "limits", "matchLabels", "nodeSelector", "options", "overhead", "requests", "volumeAttributes")
_STRUCTS = ("metadata", "podAffinityTerm", "preference", "spec")
"""The objects that Go has no pointers for; `resources`, too, but of the pod as a whole."""
_AMOUNTS = ("limits", "overhead", "requests")
_AMOUNT = ("divisor", "sizeLimit")
_MILLI = 1_000_000


def changes(new: Data, old: Data) -> Iterator[Path]:
    """Yield the paths, from the spec, at which two decoded specs differ."""
    yield from _changes(_normalized(new), _normalized(old), ())


def _normalized(spec: Data) -> Data:
    """A spec with its defaults, and without values that mean the same as absent ones."""
    reduced = _reduced(spec, "spec")
    account = reduced.pop("serviceAccount", None)  # the older name of the other field
    if account is not None:
        reduced.setdefault("serviceAccountName", account)
    return completed({"enableServiceLinks": True, **reduced})


def _reduced(value: Any, around: str) -> Any:
    """A value without what means the same as absent; *around* is the field that it is in."""
    if isinstance(value, list):
        return [_reduced(each, around) for each in value]
    if not isinstance(value, dict):
        return value
    if around in _MAPS:
        return {name: _compared_amount(each, rounded=True) for name, each in value.items()} if around in _AMOUNTS else value
    made = {}
    for field, each in value.items():
        kept = _compared_amount(each) if field in _AMOUNT else _reduced(each, field)
        if not _is_absent(kept, field, around):
            made[field] = kept
    return made


def _compared_amount(text: str, *, rounded: bool = False) -> int | str:
    """Return the key to compare an amount by.

    *rounded*: up to a thousandth, as the server rounds.
    """
    nanos = comparable(text)
    return -(-nanos // _MILLI) * _MILLI if rounded and isinstance(nanos, int) else nanos


def _is_absent(value: Any, field: str, around: str) -> bool:
    if value == {}:
        return field in _MAPS or field in _STRUCTS or (field == "resources" and around != "spec")
    return value == [] or (value in (0, "") and not is_pointer(field, around))


def _changes(new: Any, old: Any, path: Path) -> Iterator[Path]:
    if isinstance(new, dict) and isinstance(old, dict):
        key = Key if path and path[-1] in _MAPS else str
        for field in {**old, **new}:
            at = (*path, key(field))
            if field == "pullPolicy":
                if pull_policy(new, "reference", field) != pull_policy(old, "reference", field):
                    yield at
            elif (field in new) != (field in old):
                yield at
            else:
                yield from _changes(new[field], old[field], at)
    elif isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        for index, (one, other) in enumerate(zip(new, old, strict=True)):
            yield from _changes(one, other, (*path, index))
    elif new != old or type(new) is not type(old):
        yield path


def pull_policy(around: Data, image: str, policy: str) -> Any:
    """Return the pull policy of a container: the one that is set, or the default for its tag."""
    return around.get(policy) or default_pull_policy(around.get(image) or "")


# What an update can change of a pod that gates hold back: its gates can be removed, and its node be chosen more narrowly.
#
# Follows `validateOnlyDeletedSchedulingGates`, `validateNodeSelectorMutation` and `validateNodeAffinityMutation`, k8s.io/kubernetes
# pkg/apis/core/validation, 1.36.


def _gates(now: Data, was: Data) -> Problems:
    """The problems of changed gates, and while there were gates, of what a pod asks of its node."""
    stored = {each.get("name", "") for each in was.get("schedulingGates", ())}
    for name, index in {each.get("name", ""): index for index, each in enumerate(now.get("schedulingGates", ()))}.items():
        if name not in stored:
            message = f"a pod gets its gates when it is made; `{name}` cannot be added"
            yield fixed((*_SPEC, "schedulingGates", index, "name"), message, "remove it")
    if not stored:
        return
    new = now.get("nodeSelector", {})
    for key, value in was.get("nodeSelector", {}).items():
        if new.get(key) != value:
            path = (*_SPEC, "nodeSelector", *((Key(key),) if key in new else ()))
            message = f"labels of the node can be added while gates hold the pod back, and `{key}: {value}` cannot change"
            yield fixed(path, message, "restore it")
    yield from _node_affinity(now, was)


def _node_affinity(now: Data, was: Data) -> Problems:
    """Yield the problems of changed requirements on nodes.

    While gates hold the pod back, conditions can be added to their terms.
    """
    path: Path = (*_SPEC, "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")
    new, old = (spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {}).get("nodeSelectorTerms", []) for spec in (now, was))
    if old and len(new) != len(old):
        yield fixed(path, f"there were {len(old)} terms, of which one must fit, and are {len(new)} now", "restore them")
        return
    for index, (one, other) in enumerate(zip(new, old, strict=False)):
        if not _only_adds(one, other):
            yield Problem("immutable-field", (*path, index), "conditions can be added to a term, and not be changed or removed")


def _only_adds(new: Data, old: Data) -> bool:
    """True if a term has the old conditions first.

    A term without conditions must stay without, since it fits no node.
    """
    pairs = [(new.get(field, []), old.get(field, [])) for field in ("matchExpressions", "matchFields")]
    if not any(before for _, before in pairs):
        return not any(after for after, _ in pairs)
    return all(not list(changes({"a": after[: len(before)]}, {"a": before})) for after, before in pairs)


def _node_affinity_of(spec: Data) -> Data:
    """A spec reduced to its node affinity, for comparison."""
    found = spec.get("affinity", {}).get("nodeAffinity")
    return {} if found is None else {"affinity": {"nodeAffinity": found}}
