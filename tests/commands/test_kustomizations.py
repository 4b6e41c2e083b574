"""What kustomize makes of a kustomization and its patches, jobspec says: both read the same."""

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobspec.documents.kustomization_fields import FIELDS
from jobspec.documents.reader import read
from tests.support.manifests import CONFIG, write
from tests.support.processes import run_here

pytestmark = pytest.mark.skipif(not shutil.which("kustomize"), reason="kustomize is not installed")


_AS = dict.fromkeys(("NamePrefix", "nameprefix"), " (read as `namePrefix`)")


def _built(folder: Path) -> tuple[list[Any], str]:
    """Return the objects that kustomize builds of a folder, and what it says if it fails."""
    done = subprocess.run(["kustomize", "build", folder], capture_output=True, text=True, check=False)
    return list(yaml.safe_load_all(done.stdout)), done.stderr if done.returncode else ""


def _found(folder: Path, *words: str) -> list[dict[str, Any]]:
    """Return the warnings and errors of lint."""
    files = json.loads(run_here("lint", *words, "-o", "json", cwd=folder).stdout)["files"]
    return [one for each in files for one in each["diagnostics"] if one["severity"] != "info"]


def _paths(fields: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, inside in fields.items():
        yield from ((name, *rest) for rest in _paths(inside)) if inside else [(name,)]


@pytest.mark.slow
def test_kustomize_has_each_field_that_we_know_and_takes_it_in_any_case(tmp_path: Path) -> None:
    """kustomize says which field it does not know, and where it wants a list or a mapping."""
    refused = []
    for path in _paths(FIELDS):
        for lists in itertools.product([False, True], repeat=len(path) - 1):
            value: Any = None
            for name, is_list in zip(reversed(path), (False, *reversed(lists)), strict=True):
                value = {name.upper(): [value] if is_list else value}
            write(tmp_path, {"kustomization.yaml": json.dumps(value)})
            if not re.search("unknown field|cannot unmarshal", _built(tmp_path)[1]):
                break
        else:
            refused.append(path)
    assert refused == []


@pytest.mark.parametrize(
    ("text", "name", "dropped"),
    [
        ("Resources: [old.yaml]\nnamePrefix: my-\n", "my-old", []),
        ("resources: [old.yaml]\nNameprefix: my-\n", "my-old", []),
        ("Kind: Kustomization\nRESOURCES: [old.yaml]\nConfigMapGenerator:\n- {Name: old, BEHAVIOR: merge, Literals: [a=b]}\n", "old", []),
        ("resources: [new.yaml]\nResources: [old.yaml]\n", "new", [(1, "resources", 2)]),
        ("Resources: [old.yaml]\nresources: [new.yaml]\n", "new", [(2, "resources", 1)]),
        ("resources: [old.yaml]\nNamePrefix: b-\nnamePrefix:\n", "b-old", []),
        ("resources: [old.yaml]\nNAMEPREFIX: a-\nnameprefix: b-\nNamePrefix: c-\n", "b-old", [(4, "NamePrefix", 2), (3, "nameprefix", 4)]),
        ("Bases: [old.yaml]\nbases:\nresources: [new.yaml]\n", "new", [(2, "bases", 1)]),
        ("---\nresources: [old.yaml]\nnamePrefix: a-\nnamePrefix: b-\n", "b-old", [(4, "namePrefix", 3)]),
        ("# one\n---\nresources: [old.yaml]\nnamePrefix: a-\nnamePrefix: b-\n", "b-old", [(5, "namePrefix", 4)]),
        ("namePrefix: b-\nkind: Kustomization\nkind: Kustomization\nresources: [old.yaml]\n", "b-old", [(3, "kind", 2)]),
    ],
)
def test_fields_count_in_any_case_and_the_last_of_equal_ones(text: str, name: str, dropped: list[Any], tmp_path: Path) -> None:
    """kustomize decodes them as Go's encoding/json does, upper case first."""
    write(tmp_path, {f"{name}.yaml": CONFIG.replace("settings", name) for name in ("old", "new")})
    write(tmp_path, {"kustomization.yaml": text})
    objects, _ = _built(tmp_path)
    assert [each["metadata"]["name"].startswith(name) for each in objects] == [True]
    expected = [
        (line, f"kustomize takes this `{field}`{_AS.get(field, '')}, and drops the one in line {other}") for line, field, other in dropped
    ]
    for words in ([".", "--no-cache"], [".", "--no-build"], ["kustomization.yaml"]):
        assert sorted((each["line"], each["message"]) for each in _found(tmp_path, *words)) == sorted(expected)
    rows = json.loads(run_here("lint", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    assert [one["reason"] for each in rows for one in each["documents"] if each["path"] == "kustomization.yaml"] == ["kustomization"]


@pytest.mark.parametrize("folder", ["", "sub/"])
def test_a_text_is_no_kustomization_by_what_it_says_alone(folder: str) -> None:
    """A file of another name, a later document, and an object of another API are manifests."""
    twice = "Resources: []\nResources: []\n"

    def said(text: str, file: str) -> list[str]:
        return [each.severity for each in read(text, file=f"{folder}{file}")[1]]

    assert said(twice, "kustomization.yml") == ["warning"]
    assert said(twice, "base.yaml") == ["error"]
    assert said(f"a: 1\n---\n{twice}", "kustomization.yaml") == ["error"]
    assert said(f"apiVersion: v1\n{twice}", "kustomization.yaml") == ["error"]
    assert said(f"kind: PyTorchJob\n{twice}", "kustomization.yaml") == ["error"]
    assert [each.data for each in read("Resources: []\n", file="base.yaml")[0]] == [{"Resources": []}]
    assert [each.data for each in read("Resources: []\n", file="kustomization.yaml")[0]] == [{"resources": []}]


@pytest.mark.parametrize(
    ("text", "is_empty"),
    [
        ("", True),
        ("# nothing yet\n", True),
        ("resources:\n", True),
        ("bases: []\n", True),
        ("namespace: ''\n", True),
        ("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n# - job.yaml\n", True),
        ("resources: []\n", False),
        ("resources:\nnamespace: a\n", False),
        ("generatorOptions: {}\n", False),
    ],
)
@pytest.mark.parametrize("has_overlay", [False, True])
def test_an_empty_kustomization_is_refused(text: str, is_empty: bool, has_overlay: bool, tmp_path: Path) -> None:
    """kustomize takes a list without entries, but not a field without a value."""
    overlay = {"overlay/kustomization.yaml": "resources: [../base]\n"} if has_overlay else {}
    write(tmp_path, {".git/HEAD": "", "base/kustomization.yaml": text, "base/config.yaml": CONFIG, **overlay})
    assert ("kustomization.yaml is empty" in _built(tmp_path / "base")[1]) == is_empty
    said = [(each["file"], each["line"], each["severity"], each["message"]) for each in _found(tmp_path, ".")]
    expected = ("base/kustomization.yaml", 1, "error", "kustomize cannot build this: kustomization.yaml is empty")
    assert said == [expected] * is_empty
