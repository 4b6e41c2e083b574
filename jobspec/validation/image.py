"""The tag of an image, by which a server chooses the pull policy.

Follows `SetDefaults_Container`, k8s.io/kubernetes pkg/apis/core/v1, and `ParseImageName`, pkg/util/parsers, 1.36; and
`ParseNormalizedNamed`, github.com/distribution/reference 0.6.
"""

from __future__ import annotations

_ALPHANUMERIC = r"[a-z0-9]+"
_PART = rf"{_ALPHANUMERIC}(?:(?:[._]|__|[-]+){_ALPHANUMERIC})*"
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[(?:[a-fA-F0-9:]+)\])"
_NAME = rf"(?:{_HOST}(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = rf"(?P<name>{_NAME})(?::(?P<tag>[\w][\w.-]{{0,127}}))?(?:@(?P<digest>{_DIGEST}))?"
_LONGEST = 255


def default_pull_policy(image: str) -> str:
    """The pull policy of an image for which none is said: a tag `latest` is asked for each time."""
    return "Always" if tag_of(image) == "latest" else "IfNotPresent"


def tag_of(image: str) -> str:
    """The tag of an image, `latest` where it has neither tag nor digest; empty where it has a digest alone, or is no image's name."""
    import re

    found = re.fullmatch(_REFERENCE, _normalized(image), re.ASCII)
    if not found or re.fullmatch("[a-f0-9]{64}", image) or len(found["name"]) > _LONGEST:
        return ""
    return found["tag"] or ("" if found["digest"] else "latest")


def _normalized(image: str) -> str:
    """The image's name with its registry before it."""
    first, slash, rest = image.partition("/")
    if slash and (any(each in first for each in ".:") or first == "localhost" or first.lower() != first):
        return f"{first}/library/{rest}" if first in ("docker.io", "index.docker.io") and "/" not in rest else image
    return f"docker.io/{image}" if slash else f"docker.io/library/{image}"
