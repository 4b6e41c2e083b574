"""The pod's claims of devices; which of them its containers use is judged with their resources.

Follows `validatePodResourceClaim`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_name, bad_subdomain
from jobspec.validation.pods.complaints import listed, missing
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")


def resource_claim_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the pod's claims of devices."""
    claims = spec.get("resourceClaims") or ()
    names: set[str] = set()
    for index, claim in enumerate(claims):
        yield from _claim(claim, names, (*path, "resourceClaims", index))
        names.add(claim.get("name") or "")


def _claim(claim: dict[str, Any], names: set[str], path: Path) -> Iterator[Problem]:
    name = claim.get("name") or ""
    if not name:
        yield missing("name", claim, path)
    elif name in names:
        yield Problem("duplicate-item", (*path, "name"), f"two claims of the pod are named `{name}`", "give one of the two another name")
    elif why := bad_label_name(name):
        yield Problem("invalid-name", (*path, "name"), f"`{name}` is no name for a claim: {why}")
    given = [source for source in _SOURCES if source in claim]
    if len(given) > 1:
        message = f"a claim is one that exists or one made from a template, and this has {listed(given)}"
        yield Problem("conflicting-values", (*path, given[1]), message, "remove one of the two", at_key=True)
    if not given:
        yield missing(_SOURCES[0], claim, path, f"name a ResourceClaim, or by `{_SOURCES[1]}` a template")
    for source in given:
        if why := bad_subdomain(claim[source]):
            yield Problem("invalid-name", (*path, source), f"`{claim[source]}` is no name for an object: {why}")
