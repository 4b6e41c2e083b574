"""What an update of a pod can change: images, some of its times, tolerations that are added, gates that are removed.

Follows `ValidatePodUpdate`, k8s.io/kubernetes pkg/apis/core/validation, 1.36, and `Admit`, plugin/pkg/admission/defaulttolerationseconds.
As where a manifest is applied, what neither the stored state nor the new one says stays as it is: so does an account of which only one
name is removed. A stored state with a `uid` comes from the cluster: what the cluster gave to the pod stays, too, which is its node, its
account and the token.
"""

from __future__ import annotations

from jobspec.diagnostics import Key, spell
from jobspec.validation.pods.changes import changes, pull_policy
from jobspec.validation.pods.complaints import describe
from jobspec.validation.pods.gated import gate_problems, node_affinity_differs
from jobspec.validation.pods.pod_admission import of_class
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

    Data = dict[str, Any]

_SPEC: Path = ("spec",)
_FREE = ("activeDeadlineSeconds", "schedulingGates", "tolerations")  # which have rules of their own
_BY_ADMISSION = ("priority", "preemptionPolicy")  # which takes them from a class, and keeps them where an update does not say them
_BY_CLUSTER = ("nodeName",)
_ACCOUNT = ("serviceAccountName", "serviceAccount")  # the older name of the same; the cluster writes both
_CONTAINERS = ("containers", "initContainers")
_OF_IMAGES = ("image", "imagePullPolicy")
_ACCESS = "kube-api-access-"  # begins the name of the volume by which every pod gets its account's token
_MIRROR = "kubernetes.io/config.mirror"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_GIVEN = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")  # taints that admission has every pod tolerate
_ANEW = "put back what was there, or delete the pod and make another"


def pod_update_problems(new: Data, old: Data) -> Iterator[Problem]:
    """The problems of changes from the decoded pod *old* to *new*, which has its account, with what the server fills in for pods alone."""
    yield from _annotations(_annotated(new), _annotated(old))
    now, was = new.get("spec", {}), old.get("spec", {})
    if _is_from_cluster(old):
        now, was = {**_kept(was, _BY_CLUSTER), **now}, _without_token(was, now)
    was = {**of_class(was), **was, **({"serviceAccountName": account} if (account := _account(was)) else {})}
    now = {**_kept(was, _BY_ADMISSION), **{field: each for field, each in now.items() if field in was or field not in _BY_ADMISSION}}
    for field in _CONTAINERS:
        count, before = len(now.get(field, ())), len(was.get(field, ()))
        if count != before:
            message = f"a pod keeps its `{field}`, of which there were {before}, and are {count} now"
            yield Problem("immutable-field", (*_SPEC, field), message, _ANEW)
            return
    yield from _deadline(now.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds"))
    yield from _tolerations(now.get("tolerations", []), was.get("tolerations", []))
    yield from gate_problems(now, was)
    yield from _fixed(now, was, is_gated=bool(was.get("schedulingGates")))


def with_account(new: Data, old: Data) -> Data:
    """A new state with the account names that stay: those that the stored one does not say; of one from the cluster, both or none."""
    now, was = new.get("spec", {}), old.get("spec", {})
    if _is_from_cluster(old):
        kept = {} if _account(now) else _kept(was, _ACCOUNT)
    else:
        kept = {name: account for name in _ACCOUNT if (account := _account(was)) and name not in was}
    return {**new, "spec": {**kept, **now}}


def with_nulls_as_texts(pod: Data) -> Data:
    """A pod with the empty text in place of null, where applying tells what is said to be empty from what is not said."""
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        return pod
    made = _without_nulls(spec, _ACCOUNT)
    for field in _CONTAINERS:
        if isinstance(spec.get(field), list):
            made[field] = [_without_nulls(each, ("imagePullPolicy",)) if isinstance(each, dict) else each for each in spec[field]]
    return {**pod, "spec": made}


def _without_nulls(data: Data, fields: tuple[str, ...]) -> Data:
    return {field: "" if each is None and field in fields else each for field, each in data.items()}


def _fixed(now: Data, was: Data, *, is_gated: bool) -> Iterator[Problem]:
    """The problems of changes of what cannot change."""
    for path in (*_policies(now, was), *changes(_without_free(now, was, is_gated=is_gated), _without_free(was, now, is_gated=is_gated))):
        yield Problem("immutable-field", (*_SPEC, *path), _told(path, now, was), _ANEW)


def _policies(now: Data, was: Data) -> Iterator[Path]:
    """The paths at which it changes when an image is pulled; where neither state says it, it stays, and an empty one is filled in anew."""
    for field in _CONTAINERS:
        for index, (new, old) in enumerate(zip(now.get(field, ()), was.get(field, ()), strict=True)):
            is_said = "imagePullPolicy" in new or "imagePullPolicy" in old
            if is_said and len({pull_policy(each, "image", "imagePullPolicy") for each in (new, old)}) > 1:
                yield (field, index, "imagePullPolicy")


def _annotated(pod: Data) -> Data:
    found: Data = pod.get("metadata", {}).get("annotations", {})
    return found


def _kept(was: Data, fields: tuple[str, ...]) -> Data:
    """Those of some fields that stay as they were, where the new spec does not say them."""
    return {field: was[field] for field in fields if field in was}


def _is_from_cluster(stored: Data) -> bool:
    return bool(stored.get("metadata", {}).get("uid"))


def _account(spec: Data) -> Any:
    """The account of a pod, under either name; empty or None where it has none."""
    return spec.get("serviceAccountName") or spec.get("serviceAccount")


def _without_token(was: Data, now: Data) -> Data:
    """The stored spec without the token that the cluster mounts, where the new one does not say it."""
    tokens = {each.get("name", "") for each in was.get("volumes", ())} - {each.get("name", "") for each in now.get("volumes", ())}
    tokens = {name for name in tokens if name.startswith(_ACCESS)}
    if not tokens:
        return was
    made = {**was, "volumes": [each for each in was["volumes"] if each.get("name") not in tokens]}
    for field in _CONTAINERS:
        made[field] = [
            {**each, "volumeMounts": [mount for mount in each.get("volumeMounts", ()) if mount.get("name") not in tokens]}
            for each in was.get(field, ())
        ]
    return made


def _without_free(spec: Data, other: Data, *, is_gated: bool) -> Data:
    """A spec without what can change: and for a pod that gates hold back, without what it asks of its node, where the *other* differs."""
    made = {field: each for field, each in spec.items() if field not in (*_FREE, *(("nodeSelector",) if is_gated else ()))}
    for field in _CONTAINERS:
        if field in made:
            made[field] = [{name: each for name, each in one.items() if name not in _OF_IMAGES} for one in made[field]]
    if "affinity" in made and is_gated and node_affinity_differs(spec, other):
        rest = {field: each for field, each in made.pop("affinity").items() if field != "nodeAffinity"}
        return {**made, "affinity": rest} if rest else made
    return made


def _deadline(new: int | None, old: int | None) -> Iterator[Problem]:
    path = (*_SPEC, "activeDeadlineSeconds")
    if new is None and old is not None:
        yield Problem("immutable-field", path, f"the deadline of a pod cannot be removed, and was {old} seconds", f"write at most {old}")
    elif new is not None and old is not None and new > old:
        yield Problem("immutable-field", path, f"the deadline of a pod can only come earlier than {old} seconds, not at {new}")


def _tolerations(new: list[Data], old: list[Data]) -> Iterator[Problem]:
    kept = [_without_seconds(each) for each in _with_given(new)]
    for each in _with_given(old):
        if _without_seconds(each) not in kept:
            message = f"tolerations of a pod can be added, not changed or removed, as that of {_taint(each)} is"
            yield Problem("immutable-field", (*_SPEC, "tolerations"), message, "put it back; its `tolerationSeconds` can change")
            return


def _with_given(tolerations: list[Data]) -> list[Data]:
    """Tolerations with those that admission adds."""
    covered = {each.get("key", "") for each in tolerations if each.get("effect", "") in ("", "NoExecute")}
    given = [key for key in _GIVEN if covered.isdisjoint((key, ""))]
    return [*tolerations, *({"key": key, "operator": "Exists", "effect": "NoExecute"} for key in given)]


def _taint(toleration: Data) -> str:
    return f"the taint `{toleration['key']}`" if toleration.get("key") else "every taint"


def _without_seconds(toleration: Data) -> Data:
    return {field: each for field, each in toleration.items() if field != "tolerationSeconds" and each}


def _annotations(new: Data, old: Data) -> Iterator[Problem]:
    for key in {**old, **new}:
        if (key == _MIRROR or key.startswith(_APP_ARMOR)) and new.get(key) != old.get(key):
            path: Path = ("metadata", "annotations", *((Key(key),) if key in new else ()))
            yield Problem("immutable-field", path, f"the annotation `{key}` of a pod can be neither added, changed nor removed", _ANEW)


def _told(path: Path, now: Data, was: Data) -> str:
    """What changed at a path of the spec, in words."""
    name, after, before = f"`{spell(path)}`", _at(path, now), _at(path, was)
    if before is None and after is not None:
        return f"{name} cannot be added to a pod that is there"
    value = "" if before is None or isinstance(before, dict | list) else f", and was {describe(before)}"
    return f"{name} of a pod cannot {'change' if after is not None else 'be removed'}{value}"


def _at(path: Path, spec: Data) -> Any:
    """What a spec says at a path; None where it says nothing, as of what the server fills in."""
    value: Any = spec
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError):
            return None
    return value
