"""What a pod gets of its priority class, its runtime class and its ServiceAccount, and when the server refuses it for them.

Follows `Plugin.admitPod`, k8s.io/kubernetes plugin/pkg/admission/priority, 1.36.
"""

from __future__ import annotations

from jobspec.apis.kinds import PRIORITY_CLASS, RUNTIME_CLASS, SECRET, SERVICE_ACCOUNT
from jobspec.diagnostics.places import Data, Key
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.values import TRUE_WORDS, mapping
from jobspec.kubernetes.admission.objects import references, sequence
from jobspec.kubernetes.index import Index
from jobspec.kubernetes.pods.amounts import amounts
from jobspec.kubernetes.pods.annotations import MIRROR
from jobspec.kubernetes.pods.defaults import of_class
from jobspec.kubernetes.pods.pod import priority_problems
from jobspec.kubernetes.problems import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.apis.kinds import GroupKind


_POLICY = "PreemptLowerPriority"


def with_priority(pod: Data, objects: Index) -> tuple[Data, list[Problem]]:
    """A pod with the priority of its class, or of the default class, and why the server refuses it.

    The priority is that of the pod's class, or of the default class. The rules about the system's own classes are the same on every
    cluster, and are with the rules of pods.
    """
    spec = mapping(pod, "spec")
    own = spec.get("priorityClassName") or ""
    found = objects.default_priority_class() if not own else (own, objects.find(PRIORITY_CLASS, "", own))
    if not found:
        return {**pod, "spec": {**spec, **of_class({})}}, list(priority_problems(spec))
    name, chosen = found
    filled = priority_of(own, objects)
    if filled is None:
        return pod, [_unknown_class(PRIORITY_CLASS, own, "priorityClassName", objects)] if objects.complete.lack(PRIORITY_CLASS, "") else []
    wrong = []
    for field in ("priority", "preemptionPolicy") if chosen else ():
        if spec.get(field) is not None and spec[field] != filled[field]:
            message = f"`{field}` comes from the PriorityClass `{name}`, which has {filled[field]}, so it cannot be {spec[field]}"
            wrong.append(Problem("refused-by-class", ("spec", field), message, "remove it"))
    return {**pod, "spec": {**spec, **filled}}, wrong


def priority_of(named: str, objects: Index) -> Data | None:
    """Return the fields that the server fills in for the priority class of a pod.

    If the pod names no class, it is the default class. If the class is unknown, return None.
    """
    name, chosen = (named, objects.priority_class(named)) if named else objects.default_priority_class() or ("", {})
    if chosen is None:
        return None
    filled = {"priority": int(chosen.get("value") or 0), "preemptionPolicy": chosen.get("preemptionPolicy") or _POLICY}
    return {"priorityClassName": name, **filled} if name else filled


def _unknown_class(kind: GroupKind, name: str, field: str, objects: Index, namespace: str = "") -> Problem:
    """Return the problem of a field that names a missing object."""
    own, where = ([_DEFAULT], " in the namespace of the pod") if kind == SERVICE_ACCOUNT else ([], "")
    message = f"no {kind[1]} `{name}`{where}, so the server refuses the pod"
    hint = closest(name, [*own, *objects.names(kind, namespace)]) or "pass its file, too"
    return Problem("unresolved-reference", ("spec", field), message, hint)


# The runtime class of a pod: the overhead and the nodes that it brings.
#
# Follows k8s.io/kubernetes plugin/pkg/admission/runtimeclass and `MergeTolerations`, pkg/util/tolerations, 1.36.


def with_runtime_class(pod: Data, objects: Index) -> tuple[Data, list[Problem]]:
    """A pod with the overhead and the nodes of its runtime class, and why the server refuses it.

    An overhead without any class is refused on every cluster, by the rules of pods.
    """
    spec = mapping(pod, "spec")
    name = spec.get("runtimeClassName")
    if name is None:
        return pod, []
    runtime_class = objects.find(RUNTIME_CLASS, "", name)
    if runtime_class is None:
        return pod, [_unknown_class(RUNTIME_CLASS, name, "runtimeClassName", objects)] if objects.complete.lack(RUNTIME_CLASS, "") else []
    scheduling = mapping(runtime_class, "scheduling")
    overhead = mapping(runtime_class, "overhead", "podFixed") if runtime_class.get("overhead") is not None else None
    wrong = [*_overhead(spec, overhead), *_nodes(spec, scheduling, name)]
    filled: Data = {"overhead": overhead} if overhead else {}
    if scheduling:
        filled["nodeSelector"] = {**mapping(spec, "nodeSelector"), **mapping(scheduling, "nodeSelector")}
        tolerations = _merged_tolerations([*sequence(spec, "tolerations"), *sequence(scheduling, "tolerations")])
        filled |= {"tolerations": tolerations} if tolerations else {}
    return {**pod, "spec": {**spec, **filled}}, wrong


def _overhead(spec: Data, given: Data | None) -> Problems:
    """Yield the problem of a pod's own overhead, if the class has another one.

    If *given* is None, the class has none.
    """
    own = spec.get("overhead")
    if own is None or (given is not None and (not own or _nanos_of_amounts(own) == _nanos_of_amounts(given))):
        return
    theirs = " and ".join(f"{each} of `{name}`" for name, each in amounts(given).items())
    whose = f"that has {theirs}" if theirs else "there is none that has one"
    message = f"the server takes a pod's `overhead` from its runtime class, and {whose}"
    yield Problem("refused-by-class", ("spec", "overhead"), message, "remove it")


def _nanos_of_amounts(data: Data) -> dict[str, int]:
    return {name: each.nanos for name, each in amounts(data).items()}


def _nodes(spec: Data, scheduling: Data, name: str) -> Problems:
    own = mapping(spec, "nodeSelector")
    for label, value in mapping(scheduling, "nodeSelector").items():
        if label in own and own[label] != value:
            message = f"the runtime class `{name}` is for nodes with `{label}: {value}`, and the pod selects `{own[label]}`"
            yield Problem("refused-by-class", ("spec", "nodeSelector", Key(label)), message)


def _merged_tolerations(tolerations: list[Data]) -> list[Data]:
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


# The ServiceAccount of a pod: whether it is there, and which Secrets it lets the pod use.
#
# Follows `Plugin.Admit` and `limitSecretReferences`, k8s.io/kubernetes plugin/pkg/admission/serviceaccount, 1.36.


_DEFAULT = "default"
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"


def account_of(spec: Data) -> str:
    """Return the name of a pod's account. `serviceAccount` is the older name of the field."""
    return str(spec.get("serviceAccountName") or spec.get("serviceAccount") or _DEFAULT)


def with_account(pod: Data, namespace: str, objects: Index) -> tuple[Data, list[Problem]]:
    """A pod with its account and that account's pull secrets, and why the server refuses it."""
    spec = mapping(pod, "spec")
    if MIRROR in mapping(pod, "metadata", "annotations"):
        return pod, list(_mirror_problems(spec))
    name = account_of(spec)
    account = objects.find(SERVICE_ACCOUNT, namespace, name)
    filled = {**spec, "serviceAccountName": name}
    if account is None:
        is_missing = name != _DEFAULT and objects.complete.lack(SERVICE_ACCOUNT, namespace)
        field = "serviceAccountName" if spec.get("serviceAccountName") else "serviceAccount"
        return {**pod, "spec": filled}, [_unknown_class(SERVICE_ACCOUNT, name, field, objects, namespace)] if is_missing else []
    if not sequence(spec, "imagePullSecrets") and sequence(account, "imagePullSecrets"):
        filled["imagePullSecrets"] = [{"name": each.get("name")} for each in sequence(account, "imagePullSecrets")]
    enforced = mapping(account, "metadata", "annotations").get(_ENFORCED) in TRUE_WORDS
    return {**pod, "spec": filled}, list(_secrets(filled, name, account)) if enforced else []


def _secrets(spec: Data, name: str, account: Data) -> Problems:
    """Yield the Secrets of a pod that its account does not list, if the account restricts them."""
    allowed = {each.get("name") for each in sequence(account, "secrets")}
    for each in references(spec):
        if each.kind == SECRET and not each.is_projected and each.name not in allowed:
            message = f"the ServiceAccount `{name}` restricts Secrets to its own, which do not include `{each.name}`"
            yield Problem("refused-by-account", each.path, message, "add it to the account's `secrets`")
    pulls = {each.get("name") for each in sequence(account, "imagePullSecrets")}
    for index, item in enumerate(sequence(spec, "imagePullSecrets")):
        if item.get("name") not in pulls:
            message = f"the ServiceAccount `{name}` does not list the pull secret `{item.get('name')}`"
            yield Problem("refused-by-account", ("spec", "imagePullSecrets", index), message, "add it to the account's `imagePullSecrets`")


def _mirror_problems(spec: Data) -> Problems:
    """The problems of a mirror pod, which a kubelet makes from a file."""
    what = f"a pod with the annotation `{MIRROR}` is a mirror of one that a kubelet made from a file, which has no"
    for field in ("serviceAccountName", "serviceAccount"):
        if spec.get(field):
            yield Problem("refused-by-account", ("spec", field), f"{what} account", "remove the annotation")
    for each in references(spec):
        if each.kind == SECRET:
            yield Problem("refused-by-account", each.path, f"{what} Secrets", "remove the annotation")
    for index, volume in enumerate(sequence(spec, "volumes")):
        for number, source in enumerate(sequence(mapping(volume, "projected"), "sources")):
            if source.get("serviceAccountToken") is not None:
                path = ("spec", "volumes", index, "projected", "sources", number, "serviceAccountToken")
                yield Problem("refused-by-account", path, f"{what} token", "remove the annotation")
