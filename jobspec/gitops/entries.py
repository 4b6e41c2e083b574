"""The overlays that a variant names, with the values that it gives to their parameters."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.gitops.matrix import filled
from jobspec.overlays.overlay import Overlay
from jobspec.overlays.parameters import Given, parameter_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.gitops.matrix import Values
    from jobspec.gitops.sources import Sources
    from jobspec.gitops.spelling import Spelling


def overlays_of(
    entries: Sequence[MarkedTree], values: Values, spelled: Spelling, sources: Sources
) -> tuple[list[Overlay], list[Diagnostic]]:
    """The overlays of a variant's *entries*, in order, and what is wrong with those; of one that stands twice the later entry counts."""
    found: dict[str, Overlay] = {}
    problems: list[Diagnostic] = []
    for entry in entries:
        named = _named(filled(entry, values))
        if isinstance(named, Diagnostic):
            problems.append(named)
            continue
        name, place, parameters = named
        overlay = sources.overlay(name, place.mark)
        if not isinstance(overlay, Overlay):
            problems += overlay
            continue
        given = {key: Given(overlay.name, key, spelled(value), str(value.mark)) for key, value in parameters.items()}
        typed, wrong = parameter_values(overlay.name, overlay.spec.get("parameters"), given)
        problems += _at_places(wrong, parameters, place)
        found[overlay.name] = Overlay(overlay.tree, typed, {key: each.mark for key, each in parameters.items()})
    return list(found.values()), problems


def _named(entry: MarkedTree) -> tuple[str, MarkedTree, Mapping[str, MarkedTree]] | Diagnostic:
    """The name or path in an entry, its place, and the parameters that are set; or what is wrong with the entry."""
    value = entry.value
    if isinstance(value, str):
        return value, entry, {}
    if not isinstance(value, dict) or len(value) != 1:
        return Diagnostic("invalid-project", "an overlay is a name or a path, or a mapping of one to its parameters", entry.place())
    ((name, parameters),) = value.items()
    inner = {} if parameters.value is None else parameters.value
    if not isinstance(inner, dict) or any(isinstance(each.value, (dict, list)) for each in inner.values()):
        return Diagnostic("invalid-project", f"the parameters of `{name}` are a mapping of names to scalars", parameters.place())
    place = entry if parameters.key is None else type(entry)(name, parameters.key)
    return name, place, {key: each for key, each in inner.items() if each.value is not None}


def _at_places(wrong: Sequence[Diagnostic], parameters: Mapping[str, MarkedTree], place: MarkedTree) -> Iterator[Diagnostic]:
    """The problems of parameters, where the project gives them; of a missing one, where it names the overlay."""
    places = {str(value.mark): (value.key or value.mark, value.mark) for value in parameters.values()}
    for each in wrong:
        key, value = places.get(str(each.mark), (place.mark, place.mark))
        hint = "write `NAME: {PARAMETER: VALUE}` for the overlay" if each.rule == "missing-parameter" else each.hint
        mark = key if each.rule == "unknown-parameter" else value
        yield Diagnostic(each.rule, each.message, mark, field=each.field, hint=hint, severity=each.severity)
