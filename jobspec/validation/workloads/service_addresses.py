"""The addresses of a Service in the cluster, and their families.

Follows `ValidateServiceClusterIPsRelatedFields`, k8s.io/kubernetes pkg/apis/core/validation, and `normalizeClusterIPs` and
`initIPFamilyFields`, pkg/registry/core/service/storage, 1.36. Which addresses and families a cluster has, only the cluster knows.
"""

from __future__ import annotations

from jobspec.validation.pods.complaints import unsupported
from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, string_map, text, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_SPEC: Path = ("spec",)
_ALL: Path = ("spec", "clusterIPs")
_NONE = "None"
_FAMILIES = ("IPv4", "IPv6")
_SINGLE = "SingleStack"
_POLICIES = (_SINGLE, "PreferDualStack", "RequireDualStack")


def cluster_ips(spec: dict[str, Any]) -> list[str]:
    """The addresses that a Service asks for: `clusterIPs`, or `clusterIP` alone where only that is written."""
    one, several = text(spec, "clusterIP"), texts(spec, "clusterIPs")
    return several or ([one] if one else [])


def is_headless(spec: dict[str, Any]) -> bool:
    """Whether a Service has no address."""
    return cluster_ips(spec) == [_NONE]


def service_addresses(spec: dict[str, Any]) -> Iterator[Problem]:
    """The problems of the addresses and families of a Service that is no ExternalName."""
    one, several, families = text(spec, "clusterIP"), texts(spec, "clusterIPs"), texts(spec, "ipFamilies")
    if several and several[0] != one:
        message = f"`clusterIP` and the first of `clusterIPs` are one address, and here they are `{one}` and `{several[0]}`"
        yield Problem("conflicting-values", _ALL, message, "write the first address in both fields")
    for index, family in enumerate(families):
        path = (*_SPEC, "ipFamilies", index)
        if family not in _FAMILIES:
            yield unsupported(family, _FAMILIES, path)
        elif family in families[:index]:
            yield Problem("duplicate-item", path, f"the family {family} stands twice", "remove one of the two")
    if is_given(spec, "ipFamilyPolicy") and text(spec, "ipFamilyPolicy") not in _POLICIES:
        yield unsupported(text(spec, "ipFamilyPolicy"), _POLICIES, (*_SPEC, "ipFamilyPolicy"))
    yield from _addresses(cluster_ips(spec), families, _ALL if several else None)
    yield from _single_stack(spec, families)


def _addresses(asked: list[str], families: list[str], at: Path | None) -> Iterator[Problem]:
    """The problems of addresses *at* `clusterIPs`, or at `clusterIP` where that path is None."""
    if asked in ([], [_NONE]):
        return
    from jobspec.validation.workloads.addresses import address, family_of

    if len(asked) > 2:
        yield Problem("wrong-size", at or _ALL, f"a Service has at most two addresses, not {len(asked)}: one of each family")
    found = [address(each) for each in asked]
    paths = [(*at, index) if at else (*_SPEC, "clusterIP") for index in range(len(asked))]
    wrong = [index for index, each in enumerate(found) if each is None and not (index == 0 and asked[0] == _NONE)]
    for index in wrong:
        yield Problem("wrong-format", paths[index], f'"{asked[index]}" is no IP address such as `10.9.8.7` or `2001:db8::1`')
    if asked[0] == _NONE:
        yield Problem("conflicting-values", at or _ALL, "`None` means no address, and cannot stand beside one")
        return
    known = [] if wrong else [family_of(each) for each in found if each]
    if len(known) > 1 and (len(set(known)) < len(known) or len(known) > 2):
        yield Problem("conflicting-values", at or _ALL, "a Service has at most one address of each family, and these are of one")
    for index, (family, wanted) in enumerate(zip(known, families, strict=False)):
        if wanted in _FAMILIES and family != wanted:
            yield Problem("conflicting-values", paths[index], f"`{asked[index]}` is of {family}, and `ipFamilies[{index}]` says {wanted}")


def _single_stack(spec: dict[str, Any], families: list[str]) -> Iterator[Problem]:
    """The problem of two families or addresses of a Service that is to have one."""
    policy = text(spec, "ipFamilyPolicy") if is_given(spec, "ipFamilyPolicy") else default_policy(spec)
    several = [name for name, values in (("clusterIPs", cluster_ips(spec)), ("ipFamilies", families)) if len(values) == 2]
    if policy == _SINGLE and several:
        message = f"`{several[0]}` has two values, and with `ipFamilyPolicy: {_SINGLE}`, the default, a Service has one"
        yield Problem("conflicting-values", (*_SPEC, "ipFamilyPolicy"), message, "write `PreferDualStack` or `RequireDualStack`")


def default_policy(spec: dict[str, Any]) -> str:
    """The family policy of a Service that does not say: both families only without an address and pods of its own."""
    return "RequireDualStack" if text(spec, "clusterIP") == _NONE and not string_map(spec, "selector") else _SINGLE
