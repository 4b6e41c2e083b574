"""Load overlays by name or path: find each, check it, and give its parameters their values."""

from __future__ import annotations

import os

from jobspec import data, shapes
from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.documents.reader import read
from jobspec.documents.text import decode
from jobspec.kinds import OVERLAY
from jobspec.overlays.marked_tree import MarkedTree, with_marks
from jobspec.overlays.overlay import Overlay, name_of
from jobspec.overlays.overlay_check import check_overlay
from jobspec.overlays.parameters import parameter_values
from jobspec.validation.verdict import verdict
from jobspec.validation.wording import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.shapes import Shape
    from jobspec.targets import Target


def shipped() -> list[str]:
    """The names of the overlays that come with jobspec."""
    return sorted(name.removesuffix(".yaml") for name in os.listdir(data.path("overlays")) if name.endswith(".yaml"))


def load(names: Sequence[str], sets: Sequence[str], target: Target) -> tuple[list[Overlay], list[Diagnostic]]:
    """The overlays with these names or paths, in order, each once, and the problems of their files and parameters.

    Raises JobspecError for a name that is no overlay and for a `--set` that fits none.
    """
    trees: dict[str, MarkedTree] = {}
    problems: list[Diagnostic] = []
    for path in dict.fromkeys(map(locate, names)):
        tree, found = _read(path, target)
        problems += found
        if tree:
            name = name_of(tree)
            if name in trees:
                raise JobspecError(f"{trees[name].mark.file} and {tree.mark.file} have the same name, {name}")
            trees[name] = tree
    given = _set_values(sets, list(trees), broken=bool(problems))
    overlays = []
    for name, tree in trees.items():
        spec = tree.get("spec")
        assert spec
        found_values, found = parameter_values(name, spec.get("parameters"), given.get(name, {}))
        problems += found
        overlays.append(Overlay(tree, found_values))
    return overlays, problems


def locate(name: str) -> str:
    """The file of an overlay: a shipped name, or a path. Raises JobspecError where there is none."""
    path = data.overlay_path(name)
    if os.sep not in name and not name.endswith((".yaml", ".yml", ".json")):
        if os.path.isfile(path):
            return path
        known = shipped()
        hint = closest(name, known)
        raise JobspecError(
            f"no overlay `{name}`: {f'{hint} ' if hint else ''}jobspec ships {', '.join(known)}; your own is given by its path"
        )
    if not os.path.isfile(name):
        raise JobspecError(f"no overlay at {name}: there is no such file")
    return name


def _read(path: str, target: Target) -> tuple[MarkedTree | None, list[Diagnostic]]:
    try:
        with open(path, "rb") as file:
            text = decode(file.read(), path, layer=_stem(path))
    except OSError as error:
        raise JobspecError(f"{path}: {error.strerror}") from None
    if isinstance(text, Diagnostic):
        return None, [text]
    documents, problems = read(text, file=_file_of_marks(path), layer=_layer_name(text, path))
    if problems:
        return None, problems
    if len(documents) != 1:
        raise JobspecError(f"{path}: an overlay's file holds one document, and this one {len(documents)}")
    document = documents[0]
    found = verdict(document, target)
    if (found.status == "valid" and document.group_kind != OVERLAY) or found.status == "partly":
        raise JobspecError(f"{path}: this is no overlay, but a {document.kind}")
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


def _layer_name(text: str, path: str) -> str:
    """The `layer` of the overlay's marks: its name, or that of its file where it has none."""
    documents, _ = read(text, file=path)
    return (documents[0].name if documents else "") or _stem(path)


def _file_of_marks(path: str) -> str:
    """What marks have as their file: an overlay that comes with jobspec is shown by its name, not by a path of the installation."""
    name = _stem(path)
    return data.overlay_label(name) if path == data.overlay_path(name) else path


def _stem(path: str) -> str:
    return os.path.basename(path).rpartition(".")[0]


def _set_values(sets: Sequence[str], names: list[str], *, broken: bool) -> dict[str, dict[str, str]]:
    """The values of `--set OVERLAY.NAME=VALUE` by overlay and name; the last of several for one name counts."""
    given: dict[str, dict[str, str]] = {}
    for text in sets:
        place, equals, value = text.partition("=")
        overlay, dot, name = place.rpartition(".")
        if not equals or not dot or not overlay or not name:
            raise JobspecError(f"--set {text}: write OVERLAY.NAME=VALUE")
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise JobspecError(f"--set {place}: the value is not UTF-8")
        if overlay not in names and not broken:
            applied = ", ".join(names) or "none"
            raise JobspecError(f"--set {text}: no overlay `{overlay}` is applied (applied: {applied})")
        given.setdefault(overlay, {})[name] = value
    return given
