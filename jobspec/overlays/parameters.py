"""Parameters of an overlay: their values, from `--set` and defaults, and the substitution of `${name}`."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Mark
from jobspec.documents.marked_tree import MarkedTree, field_value
from jobspec.go.formats import is_quantity
from jobspec.kubernetes.problems import closest
from jobspec.overlays.directives import WHEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Values = Mapping[str, Any]

TRAINING = "training"  # `${training}`: the container that the operator requires


class Given:
    """A value that somebody gives to a parameter of an overlay: its text, and where they gave it."""

    __slots__ = ("name", "overlay", "place", "text")

    def __init__(self, overlay: str, name: str, text: str, place: str) -> None:
        self.overlay = overlay
        self.name = name
        self.text = text
        self.place = place
        """What diagnostics show as the file, such as `--set gpu-nccl.gpus=2`."""

    @property
    def mark(self) -> Mark:
        """The place of a mistake in it."""
        return Mark(self.place, layer=self.overlay)


def parameter_values(overlay: str, declared: MarkedTree | None, given: Mapping[str, Given]) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The value of each declared parameter: the given text as the parameter's type, else the default, else None for unset.

    A mistake in a text is reported where it was given; a missing value at the declaration in the *overlay*.
    """
    declarations: dict[str, MarkedTree] = declared.value if declared else {}
    problems = [_unknown(each, declarations) for name, each in given.items() if name not in declarations]
    found: dict[str, Any] = {}
    for name, declaration in declarations.items():
        try:
            found[name] = _value(name, declaration, given[name].text if name in given else None, overlay)
        except _Mistake as mistake:
            mark = given[name].mark if name in given else declaration.place()
            problems.append(Diagnostic(mistake.rule, mistake.message, mark, hint=mistake.hint, field=f"spec.parameters[{name}]"))
            found[name] = None
    return found, problems


def _unknown(given: Given, declarations: Mapping[str, MarkedTree]) -> Diagnostic:
    known = f"it has {', '.join(f'`{each}`' for each in declarations)}" if declarations else "it has none"
    hint = closest(given.name, declarations) or known
    return Diagnostic("unknown-parameter", f"the overlay has no parameter `{given.name}`", given.mark, hint=hint)


class _Mistake(Exception):
    def __init__(self, rule: str, message: str, hint: str = "") -> None:
        self.rule = rule
        self.message = message
        self.hint = hint


def _value(name: str, declaration: MarkedTree, given: str | None, overlay: str) -> Any:
    kind = field_value(declaration, "type")
    if given is not None:
        value = _typed(name, given, kind)
    elif (default := field_value(declaration, "default")) is not None:
        value = default
        if not fits(value, kind):
            raise _Mistake("invalid-overlay", f"the default of `{name}` is not of its type, {kind}")
    elif field_value(declaration, "optional"):
        return None
    else:
        raise _Mistake("missing-parameter", f"the overlay needs a value for `{name}`", f"give one with `--set {overlay}.{name}=...`")
    rule = "wrong-parameter" if given is not None else "invalid-overlay"
    _check_limits(name, value, declaration, rule)
    return value


def _typed(name: str, text: str, kind: str) -> Any:
    if kind == "integer" and _is_integer(text):
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    if kind == "quantity" and is_quantity(text):
        return int(text) if _is_integer(text) else text
    if kind == "string":
        return text
    examples = {"integer": "an integer", "boolean": "`true` or `false`", "quantity": "a quantity such as `2`, `500m` or `8Gi`"}
    raise _Mistake("wrong-parameter", f"`{name}` takes {examples[kind]}, not `{text}`")


def _is_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isdecimal() and digits.isascii() and len(digits) <= 19  # 64 bits, as any integer of an API


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a parameter's type."""
    if kind == "quantity":
        return type(value) is int or (isinstance(value, str) and is_quantity(value))
    return type(value) is {"integer": int, "boolean": bool, "string": str}[kind]


def _check_limits(name: str, value: Any, declaration: MarkedTree, rule: str) -> None:
    enum = declaration.get("enum")
    if enum and as_text(value) not in enum.data():
        choices = ", ".join(f"`{each}`" for each in enum.data())
        raise _Mistake(rule, f"`{name}` takes {choices}, not `{value}`", closest(value, enum.data()))
    least, most = field_value(declaration, "minimum"), field_value(declaration, "maximum")
    if type(value) is int and least is not None and value < least:
        raise _Mistake(rule, f"`{name}` takes at least {least}, not {value}")
    if type(value) is int and most is not None and value > most:
        raise _Mistake(rule, f"`{name}` takes at most {most}, not {value}")


class Substitution:
    """Puts the values of parameters into parts of one overlay; leaves out what is unset and what `$when` excludes.

    The overlay has passed `check_overlay`: every name that it uses is declared.
    """

    def __init__(self, values: Values) -> None:
        self.values = values
        self.problems: list[Diagnostic] = []

    def __call__(self, tree: MarkedTree) -> MarkedTree | None:
        """The tree with every `${name}` replaced, None where nothing is left of it."""
        return self._substituted(tree) if has_dollar(tree) else tree

    def _substituted(self, tree: MarkedTree) -> MarkedTree | None:
        value = tree.value
        if isinstance(value, dict):
            return self._mapping(tree)
        if isinstance(value, list):
            kept = [child for child in map(self._substituted, value) if child]
            return tree.with_value(kept) if kept or not value else None
        if isinstance(value, str) and "$" in value:
            text = self._text(value)
            return None if text is None else tree.with_value(text)
        return tree

    def _mapping(self, tree: MarkedTree) -> MarkedTree | None:
        if WHEN in tree.value and not self._holds(tree.value[WHEN]):
            return None
        rest = [(name, child) for name, child in tree.value.items() if name != WHEN]
        kept: dict[str, MarkedTree] = {}
        for name, child in rest:
            key = self._text(name) if "$" in name else name
            result = self._substituted(child)
            if result is None or key is None:
                continue
            if key in kept:
                message = f"the key `{name}` becomes `{as_text(key)}`, which stands in this mapping already"
                self.problems.append(Diagnostic("invalid-overlay", message, child.key or child.mark))
            kept[as_text(key)] = result
        return tree.with_value(kept) if kept or not rest else None

    def _holds(self, when: MarkedTree) -> bool:
        """Whether `$when: {form: [both, label]}` holds: every parameter in it has one of the listed values."""
        return all(self.values[name] in choices.data() for name, choices in when.value.items())

    def _text(self, text: str) -> Any:
        """A text with its parameters substituted: a whole `${name}` keeps the value's type; None where one is unset."""
        parts = pieces(text)
        values = [self.values[part] if is_name else part for part, is_name in parts]
        if len(parts) == 1 or None in values:
            return None if None in values else values[0]
        return "".join(map(as_text, values))


def has_dollar(tree: MarkedTree) -> bool:
    """Whether a dollar is in a tree; without one, nothing is to be substituted."""
    value = tree.value
    if isinstance(value, dict):
        return any("$" in name for name in value) or any(map(has_dollar, value.values()))
    if isinstance(value, list):
        return any(map(has_dollar, value))
    return isinstance(value, str) and "$" in value


def pieces(text: str) -> list[tuple[str, bool]]:
    """A text cut into pieces, each with whether it is a name in `${}`; `$${` is a literal `${`."""
    found = []
    literal, rest = "", text
    while "${" in rest:
        before, _, rest = rest.partition("${")
        if before.endswith("$"):
            literal += before[:-1] + "${"
            continue
        name, _, rest = rest.partition("}")
        found += [(literal + before, False), (name, True)]
        literal = ""
    found.append((literal + rest, False))
    return [(part, is_name) for part, is_name in found if part or is_name] or [("", False)]


def as_text(value: object) -> str:
    """A value as a text has it, and as `--set` takes it: booleans in lower case."""
    return str(value).lower() if isinstance(value, bool) else str(value)
