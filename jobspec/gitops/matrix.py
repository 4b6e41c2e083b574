"""The combinations of a matrix's values, in the order of the file, and the places where `${name}` stands for one."""

from __future__ import annotations

from itertools import product
from math import prod

from jobspec.diagnostics import Diagnostic, Mark
from jobspec.documents.marked_tree import MarkedTree
from jobspec.documents.scalars import resolve
from jobspec.kubernetes.problems import closest
from jobspec.overlays.parameters import as_text, pieces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.gitops.spelling import Spelling

    #: A matrix's values of one combination by name: text as it is spelt, or a boolean.
    Values = Mapping[str, str | bool]

LIMIT = 10_000  # variants of a project


def size_of(matrix: MarkedTree | None) -> int:
    """The number of combinations; one without a matrix."""
    return prod(len(values.value or ()) for values in matrix.value.values()) if matrix else 1


def combinations(matrix: MarkedTree | None, spelled: Spelling) -> Iterator[Values]:
    """The combinations of a matrix's values, the last name's changing fastest; a single empty one without a matrix."""
    named = matrix.value if matrix else {}
    values = [[each.value if isinstance(each.value, bool) else spelled(each) for each in listed.value] for listed in named.values()]
    for combination in product(*values):
        yield dict(zip(named, combination, strict=True))


def matrix_mistakes(matrix: MarkedTree | None, parts: Sequence[MarkedTree], spelled: Spelling) -> Iterator[Diagnostic]:
    """What is wrong with a matrix and with the names that *parts* of its variant use."""
    names = matrix.value if matrix else {}
    misread = list(_misread(names, spelled))
    if misread:
        yield from misread  # `${n}` is then no name of the matrix, for the same reason
        return
    used: set[str] = set()
    for name, place in (found for part in parts for found in names_in(part)):
        used.add(name)
        if name not in names:
            hint = closest(name, names) or "write `$${` for a literal `${`"
            yield Diagnostic("invalid-project", f"`${{{name}}}` is no name of the matrix", place, hint=hint)
    for name, values in names.items():
        if name not in used:
            hint = f"write `${{{name}}}` where its value belongs"
            yield Diagnostic("invalid-project", f"`{name}` of the matrix is used nowhere", values.place(), hint=hint)
        if not values.value:
            yield Diagnostic("invalid-project", f"`{name}` of the matrix has no value", values.place())
        for value in values.value or ():
            if value.value is None or isinstance(value.value, (dict, list)):
                yield Diagnostic("invalid-project", f"a value of `{name}` is a text, a number or a boolean", value.place())


def _misread(names: Mapping[str, MarkedTree], spelled: Spelling) -> Iterator[Diagnostic]:
    """An error for each name that YAML reads as a boolean or a number, and not as it is spelt."""
    for name, values in names.items():
        place = values.key or values.mark
        spelt = spelled.at(place)
        value = resolve(spelt)
        if spelt != name and not isinstance(value, str) and name == as_text(value):
            kind = "boolean" if isinstance(value, bool) else "number"
            message = f"the name `{spelt}` is read as {name}: without quotes it is a {kind} in Kubernetes' YAML"
            yield Diagnostic("invalid-project", message, place, hint=f'write `"{spelt}"`')


def names_in(tree: MarkedTree) -> Iterator[tuple[str, Mark]]:
    """The names in `${}` inside a value and its keys, each with its place."""
    if isinstance(tree.value, str) and "${" in tree.value:
        yield from ((name, tree.mark) for name, is_name in pieces(tree.value) if is_name)
    for child in tree.value if isinstance(tree.value, list) else ():
        yield from names_in(child)
    for key, child in tree.value.items() if isinstance(tree.value, dict) else ():
        yield from ((name, child.key or child.mark) for name, is_name in pieces(key) if is_name)
        yield from names_in(child)


def filled(tree: MarkedTree, values: Values, layer: str = "") -> MarkedTree:
    """The value with each `${name}` replaced by the matrix's value, its marks those of *layer*.

    A text that is one whole `${name}` becomes a boolean where the matrix has one.
    """
    value = tree.value
    if isinstance(value, dict):
        value = {str(_text(key, values)): filled(child, values, layer) for key, child in value.items()}
    elif isinstance(value, list):
        value = [filled(child, values, layer) for child in value]
    elif isinstance(value, str):
        value = _text(value, values)
    return MarkedTree(value, in_layer(tree.mark, layer), tree.key and in_layer(tree.key, layer))


def filled_text(tree: MarkedTree, values: Values, layer: str = "") -> MarkedTree:
    """The same for a text, which stays one whatever the matrix has."""
    found = filled(tree, values, layer)
    return found.with_value(as_text(found.value))


def _text(text: str, values: Values) -> str | bool:
    if "${" not in text:
        return text
    parts = pieces(text)
    found = [values[part] if is_name else part for part, is_name in parts]
    return found[0] if len(found) == 1 else "".join(map(as_text, found))


class VariantMark(Mark):
    """A place in a project, as one of a variant's own layer."""

    __slots__ = ()

    layer_kind = "variant"


def in_layer(mark: Mark, layer: str) -> Mark:
    """The same place, as one of a variant's own layer."""
    return VariantMark(mark.file, mark.line, mark.column, mark.end_line, mark.end_column, layer)
