"""The named formats of CEL, such as `format.dns1123Label()`.

Follows k8s.io/apiserver pkg/cel/library/format.go, 1.36.
"""

from __future__ import annotations

from jobspec.validation import metadata
from jobspec.validation.text_formats import CHECKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Check = Callable[[str], str]

_TEXTS = ("uri", "uuid", "byte", "date", "datetime")


def _as_prefix(check: Check) -> Check:
    """The check of a name's prefix, which may end with a dash."""
    return lambda text: check(metadata.masked(text))


def _as_format(name: str) -> Check:
    return lambda text: "" if CHECKS[name](text) else f"it has not the format `{name}`"


#: The check of each format: why a text is not of that format, empty where it is.
FORMATS: dict[str, Check] = {
    "dns1123Label": metadata.bad_label_name,
    "dns1123Subdomain": metadata.bad_subdomain,
    "dns1035Label": metadata.bad_dns1035_label,
    "qualifiedName": metadata.bad_qualified_name,
    "dns1123LabelPrefix": _as_prefix(metadata.bad_label_name),
    "dns1123SubdomainPrefix": _as_prefix(metadata.bad_subdomain),
    "dns1035LabelPrefix": _as_prefix(metadata.bad_dns1035_label),
    "labelValue": metadata.bad_label_value,
    **{name: _as_format(name) for name in _TEXTS},
}


def named(name: str) -> dict[str, str]:
    """The format of that name as a value of CEL, empty for an unknown name."""
    return {"format": name} if name in FORMATS else {}


def validate(format_: dict[str, str], text: str) -> list[str]:
    """Why a text is not of a format; empty where it is."""
    why = FORMATS[format_["format"]](text)
    return [why] if why else []
