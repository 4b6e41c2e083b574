"""Parameters of an overlay: their values from `--set` and defaults, and `${name}` in what the overlay says."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.overlays.tree import Tree
from jobspec.validation.formats import is_quantity
from jobspec.validation.wording import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Values = Mapping[str, Any]

TRAINING = "training"  # `${training}`: the container that the operator requires
WHEN = "$when"


def values(declared: Tree | None, given: Mapping[str, str], owner: Tree) -> tuple[dict[str, Any], list[Diagnostic]]:
    """The value of each declared parameter: the text that was given, as its type, else the default, else None for unset."""
    declarations: dict[str, Tree] = declared.value if declared else {}
    found: dict[str, Any] = {}
    problems = []
    for name in given.keys() - declarations.keys():
        known = f"it has {', '.join(f'`{each}`' for each in declarations)}" if declarations else "it has none"
        hint = closest(name, declarations) or known
        mark = declared.place() if declared else owner.place()
        problems.append(Diagnostic("unknown-parameter", f"the overlay has no parameter `{name}`", mark, hint=hint))
    for name, declaration in declarations.items():
        try:
            found[name] = _value(name, declaration, given.get(name))
        except _Problem as problem:
            problems.append(
                Diagnostic(problem.rule, problem.message, declaration.place(), hint=problem.hint, field=f"spec.parameters[{name}]")
            )
            found[name] = None
    return found, problems


class _Problem(Exception):
    def __init__(self, rule: str, message: str, hint: str = "") -> None:
        self.rule = rule
        self.message = message
        self.hint = hint


def _value(name: str, declaration: Tree, given: str | None) -> Any:
    kind = _say(declaration, "type")
    if given is not None:
        value = _typed(name, given, kind)
    elif (default := _say(declaration, "default")) is not None:
        value = default
        if not _fits(value, kind):
            raise _Problem("invalid-overlay", f"the default of `{name}` is not of its type, {kind}")
    elif _say(declaration, "optional"):
        return None
    else:
        raise _Problem("missing-parameter", f"the overlay needs a value for `{name}`", f"give one with `--set OVERLAY.{name}=...`")
    _check_limits(name, value, declaration)
    return value


def _typed(name: str, text: str, kind: str) -> Any:
    if kind == "integer" and text.lstrip("-").isdecimal() and text.isascii():
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    if kind == "quantity" and is_quantity(text):
        return int(text) if text.isdecimal() else text
    if kind == "string":
        return text
    examples = {"integer": "an integer", "boolean": "`true` or `false`", "quantity": "a quantity such as `2`, `500m` or `8Gi`"}
    raise _Problem("wrong-parameter", f"`{name}` takes {examples[kind]}, not `{text}`")


def _fits(value: Any, kind: str) -> bool:
    if kind == "quantity":
        return type(value) is int or (isinstance(value, str) and is_quantity(value))
    return type(value) is {"integer": int, "boolean": bool, "string": str}[kind]


def _check_limits(name: str, value: Any, declaration: Tree) -> None:
    enum = declaration.get("enum")
    if enum and value not in enum.data():
        choices = ", ".join(f"`{each}`" for each in enum.data())
        raise _Problem("wrong-parameter", f"`{name}` takes {choices}, not `{value}`", closest(value, enum.data()))
    least, most = _say(declaration, "minimum"), _say(declaration, "maximum")
    if type(value) is int and least is not None and value < least:
        raise _Problem("wrong-parameter", f"`{name}` takes at least {least}, not {value}")
    if type(value) is int and most is not None and value > most:
        raise _Problem("wrong-parameter", f"`{name}` takes at most {most}, not {value}")


def _say(declaration: Tree, field: str) -> Any:
    child = declaration.get(field)
    return child.value if child else None


class Substitution:
    """Puts values into the trees of one overlay; what is unset, and what `$when` excludes, is left out."""

    def __init__(self, given: Values) -> None:
        self.given = given
        self.problems: list[Diagnostic] = []

    def __call__(self, tree: Tree) -> Tree | None:
        """The tree with every `${name}` replaced, None where nothing is left of it."""
        value = tree.value
        if isinstance(value, dict):
            return self._mapping(tree)
        if isinstance(value, list):
            kept = [child for child in map(self, value) if child]
            return tree.having(kept) if kept or not value else None
        if isinstance(value, str) and "$" in value:
            text = self._text(value, tree)
            return None if text is None and value is not None else tree.having(text)
        return tree

    def _mapping(self, tree: Tree) -> Tree | None:
        if WHEN in tree.value and not self._holds(tree.value[WHEN]):
            return None
        kept = {}
        rest = [(name, child) for name, child in tree.value.items() if name != WHEN]
        for name, child in rest:
            key = self._text(name, child) if "$" in name else name
            result = self(child)
            if result and key is not None:
                kept[str(key)] = result
        return tree.having(kept) if kept or not rest else None

    def _holds(self, when: Tree) -> bool:
        """`$when: {form: [both, label]}`: every named parameter has one of the values beside it."""
        if not isinstance(when.value, dict):
            self._problem("`$when` takes a mapping of parameters to lists of values", when)
            return False
        for name, choices in when.value.items():
            if name not in self.given:
                self._problem(f"`$when` asks for `{name}`, which is no parameter of this overlay", choices)
            elif not isinstance(choices.value, list):
                self._problem(f"`$when` takes a list of values for `{name}`", choices)
            elif self.given[name] not in choices.data():
                return False
        return True

    def _text(self, text: str, tree: Tree) -> Any:
        """A text with its parameters in place: a whole `${name}` keeps the value's type; None where it is unset."""
        if text.startswith("${") and text.find("}") == len(text) - 1:
            return self._parameter(text[2:-1], tree)
        result = ""
        rest = text
        while "${" in rest:
            before, _, rest = rest.partition("${")
            if before.endswith("$"):
                result += before[:-1] + "${"
                continue
            name, _, rest = rest.partition("}")
            value = self._parameter(name, tree)
            if value is None:
                return None
            result += before + (str(value).lower() if isinstance(value, bool) else str(value))
        return result + rest

    def _parameter(self, name: str, tree: Tree) -> Any:
        if name not in self.given:
            hint = closest(name, self.given) or "write `$${` for a literal `${`"
            self._problem(f"`${{{name}}}` is no parameter of this overlay", tree, hint)
            return None
        return self.given[name]

    def _problem(self, message: str, tree: Tree, hint: str = "") -> None:
        self.problems.append(Diagnostic("invalid-overlay", message, tree.place(), hint=hint))
