"""What a variant says itself as one more overlay, whose marks are the lines of the project's file."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree
from jobspec.gitops.matrix import filled, in_layer
from jobspec.overlays.overlay import Overlay
from jobspec.overlays.overlay_check import check_overlay
from jobspec.overlays.parameters import as_text, has_dollar
from jobspec.workloads import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jobspec.diagnostics import Diagnostic
    from jobspec.gitops.matrix import Values
    from jobspec.gitops.spelling import Spelling


def own_layer(entry: MarkedTree, values: Values, variant: str, spelled: Spelling) -> tuple[Overlay | None, list[Diagnostic]]:
    """The overlay of a variant's flags, labels, annotations and companions, which overrides others, and what is wrong with it.

    None where the variant says none of these. Names and the namespace are no part of it: they are written into rendered objects.
    """
    said = {name: filled(part, values, variant) for name in ("flags", "labels", "annotations", "resources") if (part := entry.get(name))}
    if not said:
        return None, []
    here = MarkedTree(None, in_layer(entry.mark, variant))
    spec: dict[str, MarkedTree] = {"override": here.with_value(True)}
    if flags := said.get("flags"):
        spec["pods"] = here.with_value([here.with_value({"flags": _each_scalar(flags, lambda each: _flag(each, spelled))})])
    metadata = {name: _each_scalar(said[name], _text) for name in ("labels", "annotations") if name in said}
    if metadata:
        partial = here.with_value({"metadata": here.with_value(metadata)})
        spec["job"] = here.with_value({kind: partial for _, kind in KINDS})
    if resources := said.get("resources"):
        spec["resources"] = _each_scalar(resources, lambda each: each.with_value(_literal(each.value)))
    name = here.with_value({"name": here.with_value(variant)})
    tree = here.with_value({"metadata": name, "spec": here.with_value(spec)})
    can_be_wrong = resources or any(map(has_dollar, said.values()))  # a directive, or what is no manifest
    return Overlay(tree, {}), check_overlay(tree) if can_be_wrong else []


def _flag(value: MarkedTree, spelled: Spelling) -> MarkedTree:
    """The value of a flag as an overlay takes it: null and booleans as they are, numbers as they are spelt."""
    if value.value is None or isinstance(value.value, bool):
        return value
    return value.with_value(_literal(spelled(value)))


def _text(value: MarkedTree) -> MarkedTree:
    return value.with_value(_literal(as_text(value.value)))


def _literal(value: object) -> object:
    """A scalar in which an overlay finds no parameter."""
    return value.replace("${", "$${") if isinstance(value, str) else value


def _each_scalar(tree: MarkedTree, change: Callable[[MarkedTree], MarkedTree]) -> MarkedTree:
    if isinstance(tree.value, dict):
        return tree.with_value({str(_literal(key)): _each_scalar(child, change) for key, child in tree.value.items()})
    if isinstance(tree.value, list):
        return tree.with_value([_each_scalar(child, change) for child in tree.value])
    return change(tree)
