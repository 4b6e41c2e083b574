"""What files of a repository are: patches, inputs and templates are no manifests, and are counted where a folder is walked."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from jobspec.diagnostics import Diagnostic, DocumentResult, FileResult, Mark
from jobspec.repository import without_placeholders
from tests.support.processes import run_here
from tests.support.reference import ROOT

#: What lint says of every small job.
ADVICE = ("unpinned-image", "no-limits")
REPOSITORIES = ROOT / "tests" / "cases" / "repositories"


def _reported(folder: Path, *arguments: str) -> dict[str, tuple[str, list[str]]]:
    """File -> why it is skipped, and the rules of its errors."""
    done = run_here("lint", *arguments, "-o", "json", cwd=folder)
    files = json.loads(done.stdout)["files"]
    return {
        each["path"].removeprefix("./"): (
            "".join(row.get("reason", "") for row in each["documents"]),
            [found["rule"] for found in each["diagnostics"] if found["severity"] == "error"],
        )
        for each in files
    }


def test_what_kustomizations_name_as_patches_and_inputs_is_skipped() -> None:
    found = _reported(REPOSITORIES / "kustomize", ".")
    of_base = [f"base/patches/{name}.yaml" for name in ("memory", "unused", "webhook")]
    inputs = ["base/more.yaml", "base/names.yaml", "base/settings.yaml", "components/shared.yaml"]
    assert [path for path, (why, _) in found.items() if why == "kustomize patch"] == [*of_base, "overlays/prod/replicas.yaml"]
    assert [path for path, (why, _) in found.items() if why == "kustomize input"] == sorted(inputs)


def test_what_builds_fill_in_is_not_missing() -> None:
    found = _reported(REPOSITORIES / "kustomize", ".")
    assert {path: errors for path, (_, errors) in found.items() if errors} == {"alone/binding.yaml": ["missing-field"]}
    assert _reported(REPOSITORIES / "kustomize", "base/server.yaml")["base/server.yaml"][1] == ["missing-field"]


def test_a_chart_has_templates_and_other_files_may_be_some() -> None:
    found = _reported(REPOSITORIES / "helm", ".")
    charts = ["chart/files/service.yaml", "chart/templates/job.yaml", "chart/templates/service.yaml"]
    assert [path for path, (why, _) in found.items() if why == "Helm chart file"] == charts
    assert [path for path, (why, _) in found.items() if why == "template"] == ["job.jinja.yaml"]
    note = run_here("lint", "job.jinja.yaml", "--skip-unknown", cwd=REPOSITORIES / "helm").stdout.splitlines()[0]
    assert note == "job.jinja.yaml:4:1: info: a template, not judged: 1 line has an action, such as `{{ name }}` [unjudged-template]"
    errors = {path: errors for path, (_, errors) in found.items() if errors}
    assert errors == {"broken.yaml": ["yaml-syntax"], "chart/crds/broken.yaml": ["missing-field"]}  # a text with `{{` is no template


def test_nothing_is_said_of_placeholders_but_how_many_there_are() -> None:
    folder = REPOSITORIES / "placeholders"
    files = json.loads(run_here("lint", ".", "-o", "json", cwd=folder).stdout)["files"]
    found = {
        each["path"].removeprefix("./"): (
            [row["status"] for row in each["documents"]],
            [(one["line"], one["rule"], one["message"].partition(":")[0]) for one in each["diagnostics"] if one["rule"] not in ADVICE],
        )
        for each in files
    }
    note = ("unjudged-template", "a template, not judged at {} places")
    assert found == {
        "job.yaml": (["partly"], [(4, note[0], note[1].format(4))]),
        "secret.yaml": (["partly"], [(5, note[0], note[1].format(2))]),
        "wrong.yaml": (["invalid"], [(5, "invalid-name", "`MNIST` is no name for an object")]),
    }
    strict = _reported(folder, "job.yaml")["job.yaml"]
    assert strict == ("", ["invalid-name", "invalid-name", "invalid-metadata", "wrong-type"])


def test_what_is_wrong_in_another_file_is_no_placeholder_of_this_one() -> None:
    elsewhere = Diagnostic("invalid-name", "", Mark("runtime.yaml", 1, 1, 1, 9))
    result = FileResult("job.yaml", [DocumentResult(0, "invalid")], [elsewhere])
    assert without_placeholders(result, "${NAMES}", ()) is result


def test_a_file_that_is_named_is_judged_as_it_is_unless_unknown_kinds_are_skipped() -> None:
    patch = "overlays/prod/replicas.yaml"
    folder = REPOSITORIES / "kustomize"
    assert _reported(folder, patch) == {patch: ("", ["training-container"])}
    assert _reported(folder, patch, "--skip-unknown") == {patch: ("kustomize patch", [])}
    chart = "chart/templates/job.yaml"
    assert _reported(REPOSITORIES / "helm", chart)[chart] == ("", ["yaml-syntax"])
    assert _reported(REPOSITORIES / "helm", chart, "--skip-unknown")[chart] == ("Helm chart file", [])


@pytest.mark.parametrize("name", ["kustomization.yml", "Kustomization"])
def test_a_kustomization_may_have_other_names(name: str, tmp_path: Path) -> None:
    shutil.copytree(REPOSITORIES / "kustomize", tmp_path / "repository")
    prod = tmp_path / "repository" / "overlays" / "prod"
    (prod / "kustomization.yaml").rename(prod / name)
    assert _reported(tmp_path / "repository", ".")["overlays/prod/replicas.yaml"][0] == "kustomize patch"


def test_the_last_line_counts_what_is_skipped_by_reason() -> None:
    folder = REPOSITORIES / "kustomize"
    last = run_here("validate", ".", cwd=folder).stdout.splitlines()[-1]
    reasons = Counter(why for why, _ in _reported(folder, ".").values() if why)
    assert reasons == {"kustomize input": 4, "kustomize patch": 4}
    assert "4 kustomize inputs" in last
    assert "4 kustomize patches" in last
