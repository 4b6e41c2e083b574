"""Checks of values, and how those of a mapping or a list are made of them."""

from __future__ import annotations

from jobspec.kubernetes.metadata import bad_label_name, bad_label_value, bad_qualified_name, bad_subdomain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Check = Callable[[Any], bool]

_MOST = 1 << 31
_MOST_PODS = 10_000
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")


def having(known: Mapping[str, Check], *needed: str) -> Check:
    """A mapping with no other fields than the *known* ones, each of which passes, and with all that are *needed*."""

    def passes(value: Any) -> bool:
        if type(value) is not dict:
            return False
        for name, each in value.items():
            check = known.get(name)
            if check is None or not check(each):
                return False
        return all(name in value for name in needed)

    return passes


def each(check: Check) -> Check:
    """A list whose every item passes."""
    return lambda value: type(value) is list and all(map(check, value))


def some(check: Check) -> Check:
    """A list that has an item, and whose every item passes."""
    return lambda value: type(value) is list and bool(value) and all(map(check, value))


def one_of(*choices: str) -> Check:
    """One of some texts."""
    return lambda value: value in choices


def is_anything(_: Any) -> bool:
    """Any value at all."""
    return True


def is_nothing(value: Any) -> bool:
    """Null."""
    return value is None


def is_text(value: Any) -> bool:
    """A text, which may be empty."""
    return type(value) is str


def is_flag(value: Any) -> bool:
    """True or false."""
    return type(value) is bool


def is_number(value: Any) -> bool:
    """A whole number that is not negative, of 31 bits."""
    return type(value) is int and 0 <= value < _MOST


def is_port(value: Any) -> bool:
    """The number of a port."""
    return type(value) is int and 0 < value < 65536


def is_label_name(value: Any) -> bool:
    """A DNS label."""
    return type(value) is str and not bad_label_name(value)


def is_name(value: Any) -> bool:
    """The name of an object: a DNS subdomain."""
    return type(value) is str and not bad_subdomain(value)


def is_key(value: Any) -> bool:
    """The key of a label."""
    return type(value) is str and not bad_qualified_name(value)


def is_label_value(value: Any) -> bool:
    """The value of a label, which may be empty."""
    return type(value) is str and not bad_label_value(value)


def is_word(value: Any) -> bool:
    """A short text of letters, digits, dashes, dots and underscores, which begins with a letter or digit."""
    return type(value) is str and 0 < len(value) < 64 and value[0].isalnum() and _WORD.issuperset(value)


def are_labels(value: Any) -> bool:
    """A mapping of keys to values of labels."""
    return type(value) is dict and all(map(is_key, value)) and all(map(is_label_value, value.values()))


def is_count_of_pods(value: Any) -> bool:
    """A number of pods that is at least 1, and short enough to stand in a name."""
    return type(value) is int and 0 < value < _MOST_PODS


def has_short_name(data: dict[str, Any], longest: int) -> bool:
    """Whether the name of a job is so short that those of all objects that operators make of it are."""
    name = data["metadata"].get("name")
    return is_label_name(name) and not name[0].isdigit() and len(name) <= longest
