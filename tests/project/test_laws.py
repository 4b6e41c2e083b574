"""The laws of projects, over random ones: a tree is the same again and in any order, and `blame` is right about every value."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from jobspec.apis.shipped import path_of_file
from tests.support import quick_yaml
from tests.support.processes import run_here
from tests.support.projects import RandomProject, projects
from tests.support.seeds import examples

#: The values in a tree, as JSON, and how often each is there, by the variant, the object's kind, and the path without numbers of items.
Seen = dict[tuple[str, str, str], Counter[str]]

#: Values that some fields take besides the one that they have.
CHOICES = ("Equal", "None", "ReadWriteOnce", "label", "true", "false")


def rendered(folder: Path) -> dict[str, bytes] | None:
    """The files of a rendered project; None where it cannot be rendered."""
    if run_here("render", "--no-outcome", cwd=folder).returncode:
        return None
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in (folder / "rendered").rglob("*") if path.is_file()}


def objects_of(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "rendered").glob("*/*.yaml") if path.name != "kustomization.yaml")


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value with nothing inside by its path."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from leaves(child, f"{path}.{key}")
    elif isinstance(value, list) and value:
        for number, child in enumerate(value):
            yield from leaves(child, f"{path}.{number}")
    else:
        yield path.lstrip("."), value


def in_file(path: Path) -> dict[str, Any]:
    return dict(leaves(yaml.load(path.read_text(), yaml.CSafeLoader)))


def dotted(field: str) -> str:
    return field.replace("[", ".").replace("]", "")


def blamed(folder: Path, path: Path) -> list[dict[str, Any]]:
    """The fields of a rendered file and those that are gone, as `blame` reports them to programs."""
    done = run_here("blame", path, ".", "-o", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    assert reported["state"] == "same"
    fields: list[dict[str, Any]] = reported["fields"]
    return fields


@pytest.mark.slow
@settings(max_examples=10)
@given(projects(), st.randoms(use_true_random=False))
def test_rendering_again_and_in_another_order_gives_the_same_bytes(project: RandomProject, chance: Random) -> None:
    with TemporaryDirectory() as name, TemporaryDirectory() as other:
        tree = rendered(project.write(Path(name)))
        assert tree
        assert rendered(Path(name)) == tree
        assert run_here("render", "--no-outcome", "--check", cwd=Path(name)).returncode == 0
        assert rendered(project.shuffled(chance).write(Path(other))) == tree


@pytest.mark.slow
def test_every_value_of_every_object_has_an_origin() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=examples(10, fresh=16))
    @given(projects(), st.randoms(use_true_random=False))
    def law(project: RandomProject, chance: Random) -> None:
        with TemporaryDirectory() as name:
            folder = project.write(Path(name))
            assert rendered(folder)
            paths = objects_of(folder)
            for path in chance.sample(paths, min(4, len(paths))):
                reported = blamed(folder, path)
                there = [each for each in reported if not each["removed"]]
                assert {dotted(each["field"]): each["value"] for each in there} == in_file(path)
                lines = [each["renderedLine"] for each in there]
                assert lines == sorted(set(lines))
                seen.update(history_of(each, project) for each in reported)

    law()
    assert min(seen["overrode"], seen["from the start"]) > 50, seen
    assert seen["removed"] > 0, seen


def history_of(field: dict[str, Any], project: RandomProject) -> str:
    """What became of a field; fails where an origin is nowhere, or that of the value before."""
    origins = [field, *field["overrode"]]
    places = [(origin["file"], origin["line"], origin["column"]) for origin in origins]
    for (file, line, _), origin in zip(places, origins, strict=True):
        assert line > 0
        assert file in project.files or file == f"overlay {origin['layer']}"
    assert not any(one == other for one, other in pairwise(places)), field
    return "removed" if field["removed"] else "overrode" if field["overrode"] else "from the start"


def place_in_tree(path: Path, field: str) -> tuple[str, str, str]:
    return path.parent.name, path.name.partition("-")[0], re.sub(r"\.\d+(?=\.|$)", ".*", field)


def seen_in(folder: Path) -> Seen:
    """The values of a rendered tree."""
    found: Seen = {}
    for path in objects_of(folder):
        for field, value in in_file(path).items():
            place = place_in_tree(path, field)
            words = str(value).split("=", 1) if place[2].endswith((".args.*", ".command.*")) else [value]  # `--f=v` says what `--f v` says
            found.setdefault(place, Counter()).update(map(json.dumps, words))
    return found


def span(text: str, place: dict[str, Any]) -> tuple[int, int]:
    """Where in a text the value of a place begins and ends."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    return starts[place["line"] - 1] + place["column"] - 1, starts[place["endLine"] - 1] + place["endColumn"] - 1


def mutants(written: str) -> Iterator[str]:
    """Other values in place of one, as YAML; the first that is valid there counts."""
    value = quick_yaml.load(written)
    others: list[Any] = []
    if isinstance(value, bool):
        others = [not value]
    elif isinstance(value, (int, float)):
        others = [value + 1, value - 1]
    elif isinstance(value, str):
        others = [f"{value}x", re.sub(r"\d", lambda found: str(int(found[0]) % 8 + 1), value, count=1), *CHOICES]
    end = "\n" if written.endswith("\n") else ""
    yield from (json.dumps(each) + end for each in others if each != value)


def after_change(folder: Path, place: dict[str, Any]) -> Seen | None:
    """The values after a change of what is written at a place; None where no change renders."""
    path = folder / place["file"]
    text = path.read_text()
    start, end = span(text, place)
    try:
        for mutant in mutants(text[start:end]):
            path.write_text(text[:start] + mutant + text[end:])
            if rendered(folder):
                return seen_in(folder)
        return None
    finally:
        path.write_text(text)


def outcome(folder: Path, place: dict[str, Any], field: tuple[str, str, str], before: Seen) -> str:
    """What a change at the place of a value does to it; fails where the project renders and the value is as it was."""
    if place.get("kind") == "hash":
        return "hash"
    if (place["line"], place["column"]) == (place["endLine"], place["endColumn"]):
        return "made"  # an empty mapping, or what jobspec makes of an overlay's mapping: there is no scalar to change
    if place["file"].startswith("overlay "):  # which cannot be changed: what is written there has to be a value or its parameter
        text = Path(path_of_file(place["file"])).read_text()
        start, end = span(text, place)
        assert text[start:end]
        return "shipped"
    after = after_change(folder, place)
    assert after is None or after.get(field) != before[field], (field, place)
    return "refused" if after is None else "changed"


def overridden(folder: Path, place: dict[str, Any], field: tuple[str, str, str], before: Seen) -> str:
    """What a change at an overridden place does to the value that overrode it; fails where that is another one then."""
    if place["file"].startswith("overlay ") or place["removed"] or isinstance(place["value"], (dict, list)):
        return "overridden, not changed"
    if place["layer"] == "runtime" and str(place["value"]) not in (folder / place["file"]).read_text().splitlines()[place["line"] - 1]:
        return "overridden, not changed"  # what a shipped runtime has stands nowhere in the project
    after = after_change(folder, place)
    assert after is None or after[field] == before[field], (field, place)
    return "overridden, refused" if after is None else "overridden"


@pytest.mark.slow
def test_a_change_at_the_place_of_a_value_changes_it_and_at_an_overridden_one_it_does_not() -> None:
    outcomes: Counter[str] = Counter()

    @settings(max_examples=12)
    @given(projects(), st.randoms(use_true_random=False))
    def law(project: RandomProject, chance: Random) -> None:
        with TemporaryDirectory() as name:
            folder = project.write(Path(name))
            assert rendered(folder)
            before = seen_in(folder)
            reported = [(path, each) for path in objects_of(folder) for each in blamed(folder, path) if not each["removed"]]
            reported = [
                (path, each) for path, each in reported if each["field"] not in ("apiVersion", "kind")
            ]  # any change of these is refused
            for path, each in chance.sample(reported, min(10, len(reported))):
                field = place_in_tree(path, dotted(each["field"]))
                for place in (each, *each["causes"]):
                    outcomes[outcome(folder, place, field, before)] += 1
                for place in each["overrode"]:
                    outcomes[overridden(folder, place, field, before)] += 1

    law()
    assert outcomes["changed"] > 50, outcomes
    assert outcomes["overridden"] > 10, outcomes
    assert outcomes["refused"] < outcomes["changed"] / 4, outcomes
    assert outcomes["made"] < outcomes["changed"] / 4, outcomes


@pytest.mark.slow
def test_the_generator_reaches_what_the_laws_are_about() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=examples(100, fresh=300))
    @given(projects())
    def count(project: RandomProject) -> None:
        text = "".join(project.files.values())
        variants = project.spec["variants"]
        seen.update(
            word for word in ("PyTorchJob", "TrainingRuntime", "torch-distributed", "Worker:", "$remove", "$append") if word in text
        )
        seen.update({key for each in (project.spec.get("defaults", {}), *variants) for key in each})
        seen["several variants"] += len(variants) > 1
        seen["own overlays in use"] += "overlays/" in project.files["jobspec.yaml"]
        seen["flow style"] += project.flow is True

    count()
    wanted = [
        "PyTorchJob",
        "TrainingRuntime",
        "torch-distributed",
        "Worker:",
        "$remove",
        "$append",
        "several variants",
        "own overlays in use",
    ]
    fields = ["matrix", "namespace", "overlays", "flags", "labels", "annotations", "naming", "jobName", "resources"]
    assert {name: seen[name] for name in (*wanted, *fields, "flow style") if seen[name] < 5} == {}
