"""The ServiceAccount of a pod: whether it is there, and which Secrets it lets the pod use.

Follows `Plugin.Admit` and `limitSecretReferences`, k8s.io/kubernetes plugin/pkg/admission/serviceaccount, 1.36.
"""

from __future__ import annotations

from jobspec.admission.plugins.references import references
from jobspec.admission.plugins.values import sequence
from jobspec.kinds import SECRET, SERVICE_ACCOUNT
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.admission.plugins.objects import PolicyObjects

    Data = dict[str, Any]

_DEFAULT = "default"
_MIRROR = "kubernetes.io/config.mirror"
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
_TRUE = ("1", "t", "T", "TRUE", "true", "True")


def account_of(spec: Data) -> str:
    """The name of a pod's account; `serviceAccount` is the older name of the field."""
    return str(spec.get("serviceAccountName") or spec.get("serviceAccount") or _DEFAULT)


def with_account(pod: Data, namespace: str, objects: PolicyObjects) -> tuple[Data, list[Problem]]:
    """A pod with its account and that account's pull secrets, and why the server refuses it."""
    spec = mapping(pod, "spec")
    if _MIRROR in mapping(pod, "metadata", "annotations"):
        return pod, list(_mirror_problems(spec))
    name = account_of(spec)
    account = objects.find(SERVICE_ACCOUNT, namespace, name)
    filled = {**spec, "serviceAccountName": name}
    if account is None:
        is_missing = objects.closed and name != _DEFAULT
        return {**pod, "spec": filled}, [_unknown(spec, name, namespace, objects)] if is_missing else []
    if not sequence(spec, "imagePullSecrets") and sequence(account, "imagePullSecrets"):
        filled["imagePullSecrets"] = [{"name": each.get("name")} for each in sequence(account, "imagePullSecrets")]
    enforced = mapping(account, "metadata", "annotations").get(_ENFORCED) in _TRUE
    return {**pod, "spec": filled}, list(_secrets(filled, name, account)) if enforced else []


def _unknown(spec: Data, name: str, namespace: str, objects: PolicyObjects) -> Problem:
    from jobspec.validation.wording import closest

    field = "serviceAccountName" if spec.get("serviceAccountName") else "serviceAccount"
    message = f"there is no ServiceAccount `{name}` in the namespace of the pod, so the server refuses the pod"
    hint = closest(name, [_DEFAULT, *objects.names(SERVICE_ACCOUNT, namespace)]) or "give its file, too"
    return Problem("unresolved-reference", ("spec", field), message, hint)


def _secrets(spec: Data, name: str, account: Data) -> Iterator[Problem]:
    """The Secrets that a pod uses and that its account does not list, where the account insists on its list."""
    allowed = {each.get("name") for each in sequence(account, "secrets")}
    for each in references(spec):
        if each.kind == SECRET and not each.is_projected and each.name not in allowed:
            message = f"the ServiceAccount `{name}` lets its pods use no other Secrets than its own, and does not list `{each.name}`"
            yield Problem("refused-by-account", each.path, message, "add it to the account's `secrets`")
    pulls = {each.get("name") for each in sequence(account, "imagePullSecrets")}
    for index, item in enumerate(sequence(spec, "imagePullSecrets")):
        if item.get("name") not in pulls:
            message = f"the ServiceAccount `{name}` does not list the pull secret `{item.get('name')}`"
            yield Problem("refused-by-account", ("spec", "imagePullSecrets", index), message, "add it to the account's `imagePullSecrets`")


def _mirror_problems(spec: Data) -> Iterator[Problem]:
    """What a pod cannot have that a kubelet made of a file."""
    what = f"a pod with the annotation `{_MIRROR}` stands for one that a kubelet made of a file, which has no"
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
