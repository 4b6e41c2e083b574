"""What a pod is called on its network, and how it finds others.

Follows `validatePodDNSConfig`, `ValidateHostAliases`, `validatePodHostName` and `ValidatePodSpec`, k8s.io/kubernetes
pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_name, bad_subdomain
from jobspec.validation.pods.complaints import describe, missing, unsupported
from jobspec.validation.problem import Problem, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_POLICIES = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_MAX_SERVERS, _MAX_SEARCHES, _MAX_SEARCH_LIST, _MAX_HOSTNAME = 3, 32, 2048, 64


def host_name_problems(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of DNS, of `hostAliases`, and of the pod's own names."""
    yield from _dns(spec, path)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        at = (*path, "hostAliases", index)
        if alias.get("ip"):
            yield from address_problems(alias["ip"], (*at, "ip"))
        else:
            yield missing("ip", alias, at)
        for order, name in enumerate(alias.get("hostnames") or ()):
            if why := bad_subdomain(name):
                yield Problem("invalid-name", (*at, "hostnames", order), f'"{name}" is no name for a host: {why}')
    for field in ("hostname", "subdomain"):
        if spec.get(field) and (why := bad_label_name(spec[field])):
            hint = "it is one part of the name, the others come from the pod's namespace" if "." in spec[field] else ""
            yield Problem("invalid-name", (*path, field), f"`{spec[field]}` cannot be the `{field}`: {why}", hint)
    yield from _override(spec, path)


def address_problems(text: str, path: Path) -> Iterator[Problem]:
    """The problem of a text that is no IP address, or one that programs read differently."""
    from ipaddress import ip_address

    try:
        address = None if "%" in text else ip_address(text)
    except ValueError:
        address = None
    mapped = getattr(address, "ipv4_mapped", None)
    if address is None or mapped is not None:
        hint = f"write `{mapped}`" if mapped is not None else ""
        yield Problem("wrong-format", path, f"{name_of(path)} takes an IP address, not {describe(text)}", hint)


def _override(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    name, at = spec.get("hostnameOverride"), (*path, "hostnameOverride")
    if name is None:
        return
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            message = f"`hostnameOverride` excludes `{field}: true`, which sets the name of the host, too"
            yield Problem("conflicting-values", at, message, "remove one of the two", at_key=True)
    if len(name) > _MAX_HOSTNAME:
        yield Problem("wrong-size", at, f"a host's name has at most {_MAX_HOSTNAME} characters, and this has {len(name)}")
    elif why := bad_subdomain(name):
        yield Problem("invalid-name", at, f"`{name}` is no name for a host: {why}")


def _dns(spec: dict[str, Any], path: Path) -> Iterator[Problem]:
    policy, config, at = spec.get("dnsPolicy") or "ClusterFirst", spec.get("dnsConfig"), (*path, "dnsConfig")
    if policy not in _POLICIES:
        yield unsupported(policy, _POLICIES, (*path, "dnsPolicy"))
    if config is None:
        if policy == "None":
            yield missing("dnsConfig", spec, path, "with `dnsPolicy: None`, name at least one of its `nameservers`")
    elif policy == "None" and not config.get("nameservers"):
        yield missing("nameservers", config, at, "with `dnsPolicy: None`, name at least one")
    else:
        yield from _dns_config(config, at)


def _dns_config(config: dict[str, Any], path: Path) -> Iterator[Problem]:
    servers, searches = config.get("nameservers") or (), config.get("searches") or ()
    if len(servers) > _MAX_SERVERS:
        message = f"a resolver asks at most {_MAX_SERVERS} name servers, and here are {len(servers)}"
        yield Problem("wrong-size", (*path, "nameservers"), message)
    for index, server in enumerate(servers):
        yield from address_problems(server, (*path, "nameservers", index))
    if len(searches) > _MAX_SEARCHES:
        yield Problem("wrong-size", (*path, "searches"), f"a resolver tries at most {_MAX_SEARCHES} domains, and here are {len(searches)}")
    if len(" ".join(searches).encode()) > _MAX_SEARCH_LIST:
        yield Problem("wrong-size", (*path, "searches"), f"the domains have more than {_MAX_SEARCH_LIST} characters together")
    for index, domain in enumerate(searches):
        if domain != "." and not _is_search_domain(domain.removesuffix(".")):
            message = f"{describe(domain)} is no domain: it is of lower-case letters, digits, `-`, `_` and `.`"
            yield Problem("wrong-format", (*path, "searches", index), message)
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield missing("name", option, (*path, "options", index))


def _is_search_domain(domain: str) -> bool:
    """Whether a text is a DNS subdomain whose labels may hold underscores, also at their beginning, but not at their end."""
    import re

    label = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
    return len(domain) <= 253 and re.fullmatch(rf"{label}(\.{label})*", domain) is not None
