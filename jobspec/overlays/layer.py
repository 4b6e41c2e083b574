"""Find an overlay by name or path, check it, and give its parameters their values."""

from __future__ import annotations

import os

from jobspec import data, shapes
from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.documents.reader import read
from jobspec.documents.text import decode
from jobspec.kinds import OVERLAY
from jobspec.overlays import statements
from jobspec.overlays.parameters import values
from jobspec.overlays.tree import Tree, grow
from jobspec.validation.verdict import verdict
from jobspec.validation.wording import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from jobspec.shapes import Shape
    from jobspec.targets import Target


class Layer:
    """An overlay that is ready to be laid: checked, with values for its parameters."""

    __slots__ = ("name", "override", "spec", "tree", "values")

    def __init__(self, tree: Tree, values: Mapping[str, Any]) -> None:
        self.tree = tree
        spec = tree.get("spec")
        assert spec
        self.spec = spec
        self.name = _name(tree)
        override = spec.get("override")
        self.override = bool(override and override.value)
        self.values = values

    def conflicts(self) -> list[Tree]:
        """The names of overlays that this one cannot be laid with."""
        named = self.spec.get("conflicts")
        return list(named.value) if named else []


def shipped() -> list[str]:
    """The names of the overlays that come with jobspec."""
    return sorted(name.removesuffix(".yaml") for name in os.listdir(data.path("overlays")) if name.endswith(".yaml"))


def load(names: Sequence[str], sets: Sequence[str], target: Target) -> tuple[list[Layer], list[Diagnostic]]:
    """The overlays of a run, in order, each once, and what is wrong with them and their parameters.

    Raises JobspecError for a name that is no overlay and for a `--set` that fits none.
    """
    trees: dict[str, Tree] = {}
    problems: list[Diagnostic] = []
    for path in dict.fromkeys(map(locate, names)):
        tree, found = _read(path, target)
        problems += found
        if tree:
            name = _name(tree)
            if name in trees:
                raise JobspecError(f"the overlays {trees[name].mark.file} and {path} have the same name, {name}")
            trees[name] = tree
    given = _given(sets, list(trees), broken=bool(problems))
    layers = []
    for name, tree in trees.items():
        spec = tree.get("spec")
        assert spec
        found_values, found = values(spec.get("parameters"), given.get(name, {}), spec)
        problems += found
        layers.append(Layer(tree, found_values))
    return layers, problems


def _name(tree: Tree) -> str:
    name = tree.get("metadata", "name")
    assert name
    return str(name.value)


def locate(name: str) -> str:
    """The file of an overlay: a shipped name, or a path. Raises JobspecError where there is none."""
    path = data.path("overlays", f"{name}.yaml")
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


def _read(path: str, target: Target) -> tuple[Tree | None, list[Diagnostic]]:
    try:
        with open(path, "rb") as file:
            text = decode(file.read(), path, layer=_stem(path))
    except OSError as error:
        raise JobspecError(f"{path}: {error.strerror}") from None
    if isinstance(text, Diagnostic):
        return None, [text]
    documents, problems = read(text, file=path, layer=_layer_name(text, path))
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
    tree = _without_nulls(grow(document.data, document.marks), shape)
    problems = statements.problems(tree)
    return (tree, []) if not problems else (None, problems)


def _without_nulls(tree: Tree, shape: Shape) -> Tree:
    """What the overlay itself leaves empty is absent; inside of what it lays, a null removes."""
    if shape.type == "any":
        return tree
    if isinstance(tree.value, list):
        assert shape.items
        return tree.having([_without_nulls(child, shape.items) for child in tree.value])
    if not isinstance(tree.value, dict):
        return tree
    kept = {}
    for name, child in tree.value.items():
        below = shape.at((name,))
        assert below
        if child.value is not None or below.type == "any":
            kept[name] = _without_nulls(child, below)
    return tree.having(kept)


def _layer_name(text: str, path: str) -> str:
    """The overlay's own name, which places in it are told with; its file's name while it has none."""
    documents, _ = read(text, file=path)
    return (documents[0].name if documents else "") or _stem(path)


def _stem(path: str) -> str:
    return os.path.basename(path).rpartition(".")[0]


def _given(sets: Sequence[str], names: list[str], *, broken: bool) -> dict[str, dict[str, str]]:
    """`OVERLAY.NAME=VALUE` texts by overlay and name; the last of several for one name counts."""
    given: dict[str, dict[str, str]] = {}
    for text in sets:
        place, equals, value = text.partition("=")
        overlay, dot, name = place.rpartition(".")
        if not equals or not dot or not overlay or not name:
            raise JobspecError(f"--set {text}: write OVERLAY.NAME=VALUE")
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise JobspecError(f"--set {place}: the value is not UTF-8")
        if overlay not in names and not broken:
            laid = ", ".join(names) or "none"
            raise JobspecError(f"--set {text}: no overlay `{overlay}` is laid (laid: {laid})")
        given.setdefault(overlay, {})[name] = value
    return given
