"""The runtime class of a pod: the overhead and the nodes that it brings.

Follows k8s.io/kubernetes plugin/pkg/admission/runtimeclass and `MergeTolerations`, pkg/util/tolerations, 1.36.
"""

from __future__ import annotations

from jobspec.admission.plugins.amounts import amounts
from jobspec.admission.plugins.values import sequence
from jobspec.diagnostics import Key
from jobspec.kinds import RUNTIME_CLASS
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.admission.plugins.objects import PolicyObjects

    Data = dict[str, Any]


def with_runtime_class(pod: Data, objects: PolicyObjects) -> tuple[Data, list[Problem]]:
    """A pod with the overhead and the nodes of its runtime class, and why the server refuses it.

    An overhead without any class is refused on every cluster, and `validation` says so.
    """
    spec = mapping(pod, "spec")
    name = spec.get("runtimeClassName")
    if name is None:
        return pod, []
    runtime_class = objects.find(RUNTIME_CLASS, "", name)
    if runtime_class is None:
        return pod, [_unknown(name, objects)] if objects.closed else []
    scheduling = mapping(runtime_class, "scheduling")
    overhead = mapping(runtime_class, "overhead", "podFixed") if runtime_class.get("overhead") is not None else None
    wrong = [*_overhead(spec, overhead), *_nodes(spec, scheduling, name)]
    filled: Data = {"overhead": overhead} if overhead else {}
    if scheduling:
        filled["nodeSelector"] = {**mapping(spec, "nodeSelector"), **mapping(scheduling, "nodeSelector")}
        tolerations = _merged([*sequence(spec, "tolerations"), *sequence(scheduling, "tolerations")])
        filled |= {"tolerations": tolerations} if tolerations else {}
    return {**pod, "spec": {**spec, **filled}}, wrong


def _overhead(spec: Data, given: Data | None) -> Iterator[Problem]:
    """The problem of a pod's own overhead, where its class has another, or *given* is None since it has none."""
    own = spec.get("overhead")
    if own is None or (given is not None and (not own or _values(own) == _values(given))):
        return
    theirs = " and ".join(f"{each} of `{name}`" for name, each in amounts(given).items())
    whose = f"that has {theirs}" if theirs else "there is none that has one"
    message = f"the server takes a pod's `overhead` from its runtime class, and {whose}"
    yield Problem("refused-by-class", ("spec", "overhead"), message, "leave it out")


def _values(data: Data) -> dict[str, int]:
    return {name: each.nanos for name, each in amounts(data).items()}


def _nodes(spec: Data, scheduling: Data, name: str) -> Iterator[Problem]:
    own = mapping(spec, "nodeSelector")
    for label, value in mapping(scheduling, "nodeSelector").items():
        if label in own and own[label] != value:
            message = f"the runtime class `{name}` is for nodes with `{label}: {value}`, and the pod wants `{own[label]}`"
            yield Problem("refused-by-class", ("spec", "nodeSelector", Key(label)), message)


def _merged(tolerations: list[Data]) -> list[Data]:
    """Tolerations without those that another one covers; of two equal ones, the first stays."""
    merged: list[Data] = []
    for index, each in enumerate(tolerations):
        later = [other for other in tolerations[index + 1 :] if other != each]
        if not any(_covers(other, each) for other in (*merged, *later)):
            merged.append(each)
    return merged


def _covers(wide: Data, narrow: Data) -> bool:
    if wide == narrow:
        return True
    is_exists = wide.get("operator") == "Exists"
    if narrow.get("key") != wide.get("key") and (wide.get("key") or not is_exists):
        return False
    if wide.get("effect") and narrow.get("effect") != wide["effect"]:
        return False
    if wide.get("effect") == "NoExecute" and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    return is_exists or (narrow.get("operator") == "Equal" and (narrow.get("value") or "") == (wide.get("value") or ""))


def _unknown(name: str, objects: PolicyObjects) -> Problem:
    from jobspec.validation.wording import closest

    message = f"there is no RuntimeClass `{name}`, so the server refuses the pod"
    return Problem(
        "unresolved-reference", ("spec", "runtimeClassName"), message, closest(name, objects.names(RUNTIME_CLASS)) or "give its file, too"
    )
