"""Find an overlay by name or path, check it, and give its parameters their values."""

from __future__ import annotations

import os

from jobspec import data, workloads
from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.documents.files import text_of
from jobspec.documents.reader import read
from jobspec.overlays.parameters import TRAINING, values
from jobspec.overlays.tree import Tree, grow
from jobspec.validation.verdict import verdict
from jobspec.validation.wording import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from jobspec.targets import Target


class Layer:
    """An overlay that is ready to be laid: checked, with values for its parameters."""

    __slots__ = ("name", "override", "spec", "tree", "values")

    def __init__(self, tree: Tree, values: Mapping[str, Any]) -> None:
        self.tree = tree
        spec = tree.get("spec")
        assert spec
        self.spec = spec
        self.name: str = tree.data()["metadata"]["name"]
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
            name = tree.data()["metadata"]["name"]
            if name in trees:
                raise JobspecError(f"the overlays {trees[name].mark.file} and {path} have the same name, {name}")
            trees[name] = tree
    given = _given(sets, list(trees), broken=bool(problems))
    layers = []
    for name, tree in trees.items():
        spec = tree.get("spec")
        assert spec
        found_values, found = values(spec.get("parameters"), given.get(name, {}), spec)
        problems += found + _job_kinds(spec)
        layers.append(Layer(tree, found_values))
    return layers, problems


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
    text = text_of(path, layer=os.path.basename(path))
    if isinstance(text, Diagnostic):
        return None, [text]
    documents, problems = read(text, file=path, layer=_layer_name(text, path))
    if problems:
        return None, problems
    if len(documents) != 1 or documents[0].kind != "Overlay":
        raise JobspecError(f"{path}: an overlay's file holds one document, of kind Overlay")
    document = documents[0]
    _, problems = verdict(document, target)
    tree = grow(document.data, document.marks)
    if not problems:
        problems = _parameter_names(tree)
    return (tree, []) if not problems else (None, problems)


def _layer_name(text: str, path: str) -> str:
    """The overlay's own name, which places in it are told with; its file's name while it has none."""
    documents, _ = read(text, file=path)
    return (documents[0].name if documents else "") or os.path.basename(path)


def _parameter_names(tree: Tree) -> list[Diagnostic]:
    declared = tree.get("spec", "parameters")
    clash = declared.get(TRAINING) if declared else None
    message = f"`{TRAINING}` is not free as a parameter's name: it stands for the training container"
    return [Diagnostic("invalid-overlay", message, clash.place())] if clash else []


def _job_kinds(spec: Tree) -> list[Diagnostic]:
    known = [kind for _, kind in workloads.KINDS]
    job = spec.get("job")
    problems = []
    for kind, partial in job.value.items() if job else ():
        if kind not in known:
            hint = closest(kind, known) or f"the kinds are {', '.join(known)}"
            problems.append(Diagnostic("invalid-overlay", f"`{kind}` is no kind of training job", partial.place(), hint=hint))
        elif not isinstance(partial.value, dict):
            problems.append(Diagnostic("invalid-overlay", f"`{kind}` takes a partial manifest, a mapping", partial.place()))
    return problems


def _given(sets: Sequence[str], names: list[str], *, broken: bool) -> dict[str, dict[str, str]]:
    """`OVERLAY.NAME=VALUE` texts by overlay and name; the last of several for one name counts."""
    given: dict[str, dict[str, str]] = {}
    for text in sets:
        place, equals, value = text.partition("=")
        overlay, dot, name = place.rpartition(".")
        if not equals or not dot or not overlay or not name:
            raise JobspecError(f"--set {text}: write OVERLAY.NAME=VALUE")
        if overlay not in names and not broken:
            laid = ", ".join(names) or "none"
            raise JobspecError(f"--set {text}: no overlay `{overlay}` is laid (laid: {laid})")
        given.setdefault(overlay, {})[name] = value
    return given
