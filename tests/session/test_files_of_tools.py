"""Files that are known by their names: kustomizations and the files of charts, named or found in a folder."""

from pathlib import Path

import pytest

from tests.support.manifests import JOB, write
from tests.support.processes import run_here

COMPONENT = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [job.yaml]\n"
FILES = {
    "app/kustomization.yaml": "resources: [job.yaml]\n",
    "app/job.yaml": JOB,
    "part/kustomization.yaml": COMPONENT,
    "part/job.yaml": JOB,
    "chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 0.1.0\n",
    "chart/values.yaml": "kind: DaemonSet\nreplicas: 2\n",
    "chart/values-prod.yaml": "replicas: 2\n",
    "chart/templates/job.yaml": "kind: {{ .Values.kind }}\n",
    "values.yaml": "kind: DaemonSet\n",
}


@pytest.mark.parametrize("options", [[], ["--no-build"]])
@pytest.mark.parametrize("path", ["app/kustomization.yaml", "part/kustomization.yaml", "chart/values.yaml", "chart/values-prod.yaml"])
def test_a_file_of_a_tool_that_is_named_is_no_error(path: str, options: list[str], tmp_path: Path) -> None:
    write(tmp_path, {".git/HEAD": "", **FILES})
    assert run_here("validate", path, *options, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("resources: [job.yaml\n", "[yaml-syntax]"),
        ("resources: [job.yaml]\nnamePrefix: Not_A_Name-\n", "[invalid-name]"),
        ("resources: [job.yaml]\nreplicas: [{name: nothing, count: 2}]\n", "[broken-kustomization]"),
    ],
)
def test_a_kustomization_that_is_named_and_wrong_is_an_error(text: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, {".git/HEAD": "", **FILES, "app/kustomization.yaml": text})
    done = run_here("validate", "app/kustomization.yaml", cwd=tmp_path)
    assert (done.returncode, said in done.stdout) == (1, True)


def test_other_values_that_are_named_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, {".git/HEAD": "", **FILES})
    assert run_here("validate", "values.yaml", cwd=tmp_path).returncode == 1


def test_the_last_line_says_how_a_chart_is_checked_and_knows_no_kind_without_a_version(tmp_path: Path) -> None:
    write(tmp_path, {".git/HEAD": "", **FILES})
    last = run_here("validate", ".", "-o", "concise", cwd=tmp_path).stdout.splitlines()[-1]
    assert "4 Helm chart files: not rendered, use --helm CHART" in last
    assert "1 not a manifest" in last and "unknown kind" not in last
