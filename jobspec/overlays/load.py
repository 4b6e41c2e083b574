"""Load overlays: read each, check it, and give its parameters their values."""

from __future__ import annotations

import os

from jobspec import data
from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.documents.marked_tree import MarkedTree, with_marks
from jobspec.documents.reader import decode, read
from jobspec.kinds import OVERLAY
from jobspec.kubernetes.verdict import verdict
from jobspec.overlays.overlay import Overlay, name_of
from jobspec.overlays.overlay_check import check_overlay
from jobspec.overlays.parameters import parameter_values
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobspec.documents.document import Document
    from jobspec.overlays.parameters import Given
    from jobspec.schemas.shapes import Shape
    from jobspec.targets import Target


class OverlayFile:
    """An overlay as it is written: the content of a file, or a document."""

    __slots__ = ("content", "file", "stem")

    def __init__(self, file: str, content: bytes | Document, *, stem: str = "") -> None:
        self.file = file
        """What diagnostics show as its file."""
        self.content = content
        self.stem = stem or os.path.basename(file).rpartition(".")[0]
        """What its marks have as `layer` while it has no name of its own."""


def shipped() -> list[str]:
    """The names of the overlays that come with jobspec."""
    return sorted(name.removesuffix(".yaml") for name in os.listdir(data.path("overlays")) if name.endswith(".yaml"))


def shipped_file(name: str) -> OverlayFile:
    """An overlay that comes with jobspec. Raises OSError where there is none of that name."""
    with open(data.overlay_path(name), "rb") as file:
        return OverlayFile(data.overlay_label(name), file.read(), stem=name)


def load(files: Sequence[OverlayFile], given: Sequence[Given], target: Target) -> tuple[list[Overlay], list[Diagnostic]]:
    """The overlays in *files*, in order, with the *given* values for their parameters, and the problems of both.

    Raises JobspecError for a file that holds no overlay, for two overlays of one name, and for a value of an overlay that is not there.
    """
    trees: dict[str, MarkedTree] = {}
    problems: list[Diagnostic] = []
    for file in files:
        tree, found = _read(file, target)
        problems += found
        if tree:
            name = name_of(tree)
            if name in trees:
                raise JobspecError(f"{trees[name].mark.file} and {tree.mark.file} have the same name, {name}")
            trees[name] = tree
    values = _by_overlay(given, trees, broken=bool(problems))
    overlays = []
    for name, tree in trees.items():
        spec = tree.get("spec")
        assert spec
        found_values, found = parameter_values(name, spec.get("parameters"), values.get(name, {}))
        problems += found
        overlays.append(Overlay(tree, found_values))
    return overlays, problems


def _by_overlay(given: Sequence[Given], trees: Mapping[str, MarkedTree], *, broken: bool) -> dict[str, dict[str, Given]]:
    """The values by overlay and parameter; the last of several for one parameter counts."""
    values: dict[str, dict[str, Given]] = {}
    for each in given:
        if each.overlay not in trees and not broken:
            raise JobspecError(f"{each.place}: no overlay `{each.overlay}` is applied (applied: {', '.join(trees) or 'none'})")
        values.setdefault(each.overlay, {})[each.name] = each
    return values


def _read(file: OverlayFile, target: Target) -> tuple[MarkedTree | None, list[Diagnostic]]:
    documents, problems = _documents(file)
    if problems:
        return None, problems
    if len(documents) != 1:
        raise JobspecError(f"{file.file}: an overlay's file holds one document, and this one {len(documents)}")
    document = documents[0]
    found = verdict(document, target)
    if (found.status == "valid" and document.group_kind != OVERLAY) or found.status == "partly":
        raise JobspecError(f"{file.file}: this is no overlay, but a {document.kind}")
    problems = found.diagnostics
    if not problems and not document.name:
        problems = [document.problem("missing-name", "an overlay needs `metadata.name`", ("metadata",))]
    if problems:
        return None, problems
    shape = shapes.load(document.api_version, document.kind, target)
    assert shape
    tree = _without_nulls(with_marks(document.data, document.marks), shape)
    problems = check_overlay(tree)
    return (tree, []) if not problems else (None, problems)


def _documents(file: OverlayFile) -> tuple[list[Document], list[Diagnostic]]:
    """The documents of an overlay's file, whose marks have its name as their layer."""
    if not isinstance(file.content, bytes):
        return [file.content], []
    text = decode(file.content, file.file, layer=file.stem)
    if isinstance(text, Diagnostic):
        return [], [text]
    first = next(iter(read(text, file=file.file)[0]), None)
    return read(text, file=file.file, layer=(first.name if first else "") or file.stem)


def _without_nulls(tree: MarkedTree, shape: Shape) -> MarkedTree:
    """The overlay without its own fields that are null; inside of its partial manifests null stays, since there it removes."""
    if shape.type == "any":
        return tree
    if isinstance(tree.value, list):
        assert shape.items
        return tree.with_value([_without_nulls(child, shape.items) for child in tree.value])
    if not isinstance(tree.value, dict):
        return tree
    kept = {}
    for name, child in tree.value.items():
        below = shape.at((name,))
        assert below
        if child.value is not None or below.type == "any":
            kept[name] = _without_nulls(child, below)
    return tree.with_value(kept)
