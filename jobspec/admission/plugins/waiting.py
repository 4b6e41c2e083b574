"""What an accepted pod waits for, for ever: a claim, ConfigMap or Secret that does not exist, or a key that it does not have."""

from __future__ import annotations

from jobspec.admission.plugins.references import references
from jobspec.kinds import PERSISTENT_VOLUME_CLAIM
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.admission.plugins.objects import PolicyObjects
    from jobspec.admission.plugins.references import Reference

    Data = dict[str, Any]

_EVERYWHERE = "kube-root-ca.crt"
"""The ConfigMap that every namespace has."""


def waiting_problems(pod: Data, namespace: str, objects: PolicyObjects) -> Iterator[Problem]:
    """What the pod needs and does not find, where the world is closed."""
    for each in references(mapping(pod, "spec")) if objects.closed else ():
        if each.is_optional:
            continue
        found = objects.find(each.kind, namespace, each.name)
        if found is not None:
            yield from _keys(each, found)
        elif each.name != _EVERYWHERE:
            yield _missing(each, namespace, objects)


def _missing(reference: Reference, namespace: str, objects: PolicyObjects) -> Problem:
    from jobspec.validation.wording import closest

    kind = reference.kind[1]
    what = "is never scheduled" if reference.kind == PERSISTENT_VOLUME_CLAIM else "never starts its containers"
    message = f"there is no {kind} `{reference.name}` in the namespace of the pod, so the server takes the pod, and it {what}"
    hint = closest(reference.name, objects.names(reference.kind, namespace)) or "give its file, too"
    return Problem("pod-waits", reference.path, message, hint)


def _keys(reference: Reference, found: Data) -> Iterator[Problem]:
    from jobspec.validation.wording import closest

    known = {key for field in ("data", "stringData", "binaryData") for key in mapping(found, field)}
    for key, path in reference.keys:
        if key not in known:
            message = f"the {reference.kind[1]} `{reference.name}` has no key `{key}`, so the pod never starts its containers"
            yield Problem("pod-waits", path, message, closest(key, known))
