"""Plain pods and Kueue's webhook: what it refuses stands by the given configuration and queues, wherever these are written."""

from pathlib import Path

import pytest

from tests.support.processes import run_here

_POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: one, namespace: team, {metadata}}}
spec: {{containers: [{{name: main, image: example.com/train}}], {spec}}}
"""
_UNCOUNTED = _POD.format(metadata="labels: {kueue.x-k8s.io/pod-group-name: one}", spec="")
_UNMANAGED = _POD.format(metadata="labels: {kueue.x-k8s.io/managed: 'false'}", spec="")
_PLACED = _POD.format(metadata="labels: {kueue.x-k8s.io/queue-name: a}", spec="nodeName: a")
_QUEUE = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: default, namespace: team}\nspec: {clusterQueue: a}\n"
_CONFIGURATION = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
_JOBS = _CONFIGURATION + "integrations: {frameworks: [batch/job]}\n"
_SETS = _CONFIGURATION + "integrations: {frameworks: [batch/job, statefulset]}\n"
_ELSEWHERE = _SETS + "managedJobsNamespaceSelector: {matchLabels: {kubernetes.io/metadata.name: other}}\n"


@pytest.mark.parametrize(
    ("pod", "beside", "rule"),
    [
        (_UNCOUNTED, "", "pod-group"),
        (_UNCOUNTED, _QUEUE, "pod-group"),
        (_UNCOUNTED, _JOBS, ""),
        (_UNCOUNTED, _SETS, "pod-group"),
        (_UNCOUNTED, _ELSEWHERE, "pod-group"),
        (_UNMANAGED, "", "managed-label"),
        (_UNMANAGED, _SETS, "managed-label"),
        (_UNMANAGED, _QUEUE, ""),
        (_PLACED, _SETS, "queued-pod-placed"),
        (_PLACED, _ELSEWHERE, ""),
    ],
)
@pytest.mark.parametrize("in_one_file", [True, False])
def test_a_refusal_stands_by_the_configuration_and_the_default_queue(
    tmp_path: Path, pod: str, beside: str, rule: str, *, in_one_file: bool
) -> None:
    (tmp_path / "pod.yaml").write_text(f"{pod}---\n{beside}" if in_one_file else pod)
    (tmp_path / "beside.yaml").write_text("" if in_one_file else beside)
    done = run_here("validate", ".", "--target", "kueue=0.19", "--no-outcome", "-o", "concise", cwd=tmp_path)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.rpartition("[")[2].rstrip("]") for line in errors] == [rule] * bool(rule)


@pytest.mark.parametrize(("options", "rule"), [([], "incomplete-pod-group"), (["--target", "kueue=0.19"], "pod-group")])
def test_lint_says_once_what_the_webhook_refuses(tmp_path: Path, options: list[str], rule: str) -> None:
    (tmp_path / "pod.yaml").write_text(_UNCOUNTED)
    done = run_here("lint", ".", *options, "-o", "concise", cwd=tmp_path)
    found = [line for line in done.stdout.splitlines() if "pod-group-total-count" in line]
    assert [line.rpartition("[")[2].rstrip("]") for line in found] == [rule]
