"""What is taken for a placeholder, and what is not."""

import json
import shutil
from pathlib import Path

import pytest

from jobspec.repository.placeholders import WORDS
from tests.support.manifests import write
from tests.support.processes import run_here

_JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  backoffLimit: 2
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example/train:1.0"}]}}
"""
_REPLACEMENT = """\
resources: [job.yaml]
replacements:
- source: {kind: Job, name: train, fieldPath: %s}
  targets: [{select: {kind: Job}, fieldPaths: [%s], options: {create: true}}]
"""


@pytest.mark.parametrize("text", ["your-image", "REPLACE_ME", "replaceme", "replace-with-8", "<enter your key>", "NUMBER"])
def test_words_that_ask_for_a_value(text: str) -> None:
    assert WORDS.fullmatch(text)


@pytest.mark.parametrize("text", ["replacements", "replacements:", "insertMetrics", "replace", "8"])
def test_words_that_ask_for_nothing(text: str) -> None:
    assert not WORDS.fullmatch(text)


@pytest.mark.skipif(not shutil.which("kustomize"), reason="kustomize is not installed")
@pytest.mark.parametrize(
    ("source", "target", "line", "message"),
    [
        ("metadata.name", "metadata.labels.kueue.x-k8s.io/queue-name", 2, "`kueue`: expected a string, got an object"),
        ("spec.backoffLimit", "metadata.labels.retries", 4, "`retries`: expected a string, got the number 2"),
    ],
)
def test_what_a_replacement_writes_is_no_placeholder(source: str, target: str, line: int, message: str, tmp_path: Path) -> None:
    """kustomize makes an object of each part of a path: a key with dots is `[key]`."""
    write(tmp_path, {"kustomization.yaml": _REPLACEMENT % (source, target), "job.yaml": _JOB})
    done = run_here("validate", ".", "-o", "json", cwd=tmp_path)
    said = [one for each in json.loads(done.stdout)["files"] for one in each["diagnostics"]]
    assert [(one["rule"], one["file"], one["line"], one["message"]) for one in said] == [
        ("wrong-type", "kustomization.yaml", line, message)
    ]
