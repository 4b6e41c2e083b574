"""How docstrings read: the functions and classes that another room imports say in one short clause what they do or are."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.reference import ROOT

PACKAGE = ROOT / "jobspec"

LONGEST = 90
"""The most characters in the first line."""


@cache
def _modules() -> dict[str, ast.Module]:
    """The code of every module, by its dotted name."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {_dotted(each): ast.parse(each.read_text()) for each in paths}


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _room(module: str) -> str:
    return "".join(module.split(".")[1:2])


def _imported(module: str) -> Iterator[tuple[str, str]]:
    """The names that a module imports from other modules of the package, each with the module's name."""
    for node in ast.walk(_modules()[module]):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, alias.name) for alias in node.names)


def _attributes(module: str) -> Iterator[tuple[str, str]]:
    """The names that a module uses as attributes of imported modules, such as `shapes.load`."""
    tree = _modules()[module]
    names = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if f"{node.module}.{alias.name}" in _modules()
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            yield names[node.value.id], node.attr


@cache
def _used_elsewhere() -> set[tuple[str, str]]:
    """Module and name of everything that another room imports."""
    return {
        (source, name)
        for module in _modules()
        for source, name in (*_imported(module), *_attributes(module))
        if _room(source) and _room(source) != _room(module)
    }


def _wrong(first: str) -> str:
    """Why a first line breaks a rule; empty if it breaks none."""
    if not first:
        return "no docstring"
    if len(first) > LONGEST:
        return f"{len(first)} characters"
    if re.match(r"(Of|What)\b", first):
        return "begins with Of or What"
    return "more than one of which, that, whose" if len(re.findall(r"\b(which|that|whose)\b", first)) > 1 else ""


ROOMS = sorted({_room(module) for module in _modules()} - {"", "__main__"})


@pytest.mark.parametrize("room", ROOMS)
def test_first_lines_are_one_short_clause(room: str) -> None:
    found = [
        (f"{module}.{node.name}", why, first)
        for module, tree in _modules().items()
        if _room(module) == room
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (module, node.name) in _used_elsewhere()
        for first in [(ast.get_docstring(node) or "").partition("\n")[0]]
        for why in [_wrong(first)]
        if why
    ]
    assert found == []
