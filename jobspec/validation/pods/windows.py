"""Identities of containers on Windows.

Follows `validateWindowsSecurityContextOptions`, k8s.io/kubernetes pkg/apis/core/validation, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_subdomain
from jobspec.validation.pods.complaints import wrong_name
from jobspec.validation.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_LONGEST_SPEC = 64 * 1024
_LONGEST_DOMAIN = 255
_LONGEST_USER = 104
_NET_BIOS = r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}'
_DNS_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"


def windows_problems(options: dict[str, Any], path: Path) -> Iterator[Problem]:
    """The problems of the `windowsOptions` of a security context."""
    name, spec, user = (options.get(field) for field in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    if name is not None and (why := bad_subdomain(name)):
        yield wrong_name(name, "a GMSA credential spec", why, (*path, "gmsaCredentialSpecName"))
    if spec is not None and not 0 < len(spec.encode()) <= _LONGEST_SPEC:
        message = f"a GMSA credential spec has 1 to {_LONGEST_SPEC:,} bytes, not {len(spec.encode()):,}"
        yield Problem("wrong-size", (*path, "gmsaCredentialSpec"), message)
    if user is not None and (why := _bad_user(user)):
        yield wrong_name(user, "a user on Windows", why, (*path, "runAsUserName"))


def _bad_user(text: str) -> str:
    """Why a text is no user, with or without a domain and a backslash before it; empty if it is one."""
    import re

    if not text:
        return "it is empty"
    if re.search(r"[\x00-\x1f\x7f]", text):
        return "it holds control characters"
    domain, backslash, user = text.rpartition("\\")
    if "\\" in domain:
        return "it holds more than one backslash"
    if backslash and (why := _bad_domain(domain)):
        return why
    if not 0 < len(user.encode()) <= _LONGEST_USER:
        return f"the user has 1 to {_LONGEST_USER} characters"
    if not user.strip(". "):
        return "the user cannot be of dots and blanks alone"
    return 'the user cannot hold any of `"/:;|=,+*?<>@[]`' if re.search(r'["/:;|=,+*?<>@\[\]]', user) else ""


def _bad_domain(domain: str) -> str:
    import re

    if len(domain.encode()) > _LONGEST_DOMAIN:
        return f"the domain has more than {_LONGEST_DOMAIN} characters"
    fits = re.fullmatch(_NET_BIOS, domain, re.DOTALL) or re.fullmatch(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*", domain)
    return "" if fits else "the part before the backslash is neither a NetBIOS name nor a DNS name"
