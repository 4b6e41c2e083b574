"""Each room lists its doors: the modules that other rooms may import."""

import ast
import importlib
from collections.abc import Iterator

import pytest

from tests.support.reference import ROOT

PACKAGE = ROOT / "jobspec"
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def _modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"), ast.parse(path.read_text())


@pytest.fixture(scope="module")
def entered() -> dict[str, dict[str, list[str]]]:
    """By room, the modules of it that other rooms import, each with the modules that do."""
    names = {name for name, _ in _modules()}
    found: dict[str, dict[str, list[str]]] = {room: {} for room in ROOMS}
    for module, tree in _modules():
        for node in ast.walk(tree):
            imported = []
            if isinstance(node, ast.ImportFrom) and node.module:
                whole = [f"{node.module}.{alias.name}" for alias in node.names]
                imported = [each if each in names else node.module for each in whole]
            elif isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            for each in imported:
                room, _, door = each.removeprefix("jobspec.").partition(".")
                if each.startswith("jobspec.") and room in found and not f"{module}.".startswith(f"jobspec.{room}.") and door:
                    found[room].setdefault(door, []).append(module)
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_other_rooms_import_the_doors_of_a_room_alone(room: str, entered: dict[str, dict[str, list[str]]]) -> None:
    doors = set(importlib.import_module(f"jobspec.{room}").DOORS)
    assert {door: modules for door, modules in entered[room].items() if door not in doors} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_each_door_is_used(room: str, entered: dict[str, dict[str, list[str]]]) -> None:
    doors = importlib.import_module(f"jobspec.{room}").DOORS
    assert [door for door in doors if door not in entered[room]] == []
    assert list(doors) == sorted(doors)
