"""What `jobspec diff` reports of random changes is what becomes of the rendered trees."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import quick_yaml
from tests.support.manifests import CONFIG, JOB
from tests.support.processes import run_here
from tests.support.repositories import committed

Objects = dict[tuple[str, str, str], Any]

_VARIANT = st.fixed_dictionaries(
    {"base": st.sampled_from(["base/job.yaml", "base/other.yaml"])},
    optional={
        "namespace": st.sampled_from(["a", "b"]),
        "overlays": st.lists(st.sampled_from(["gpu-nccl", "istio-off", {"pvc-output": {"create": True}}]), unique_by=str),
        "naming": st.sampled_from(["hash", "fixed"]),
        "jobName": st.sampled_from(["x", "y"]),
        "labels": st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "yes"])),
        "flags": st.dictionaries(st.sampled_from(["--lr", "--on"]), st.sampled_from([None, True, False, 0.1, "1"])),
        "resources": st.just([quick_yaml.load(CONFIG.replace("settings", "shared"))]),
    },
)
_VARIANTS = st.dictionaries(st.sampled_from(["p", "q0", "r.s"]), _VARIANT, min_size=1)
_FILES = {
    "base/job.yaml": JOB,
    "base/other.yaml": JOB.replace("train:v1", "train:v2") + "---\n" + CONFIG,
}


def _rendered(folder: Path, variants: dict[str, Any]) -> Objects | None:
    """The objects of a tree; None of a project that cannot be rendered, as one with two jobs of a name."""
    spec = {"variants": [{"name": name, **said} for name, said in variants.items()]}
    project = {"apiVersion": "jobspec.dev/v1alpha1", "kind": "Project", "spec": spec}
    (folder / "jobspec.yaml").write_text(quick_yaml.dump(project))
    if run_here("render", "--no-outcome", cwd=folder).returncode:
        return None
    files = [path for path in (folder / "rendered").rglob("*-*.yaml") if path.name != "kustomization.yaml"]
    data = [quick_yaml.load(path.read_text()) for path in files]
    return {(each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each for each in data}


def _reported(report: dict[str, Any]) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """What is reported of each object: that it comes, goes or changes."""
    for variant in report["variants"]:
        for each in variant["objects"]:
            name = each["kind"], each["namespace"], each["name"]
            yield {"new-run": "comes", "created": "comes", "removed": "goes"}.get(each["meaning"], "changes"), name
            if each["isPruned"]:
                (before,) = [field.get("before", "") for field in each["fields"] if field["field"] == "metadata.namespace"] or [
                    each["namespace"]
                ]
                yield "goes", (each["kind"], before, each["follows"])


@pytest.mark.slow
@settings(max_examples=20)
@given(_VARIANTS, _VARIANTS)
def test_each_object_that_differs_is_reported_and_no_other(one: dict[str, Any], other: dict[str, Any]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        committed(folder, _FILES)
        before = _rendered(folder, one)
        committed(folder, {})
        after = _rendered(folder, other)
        done = run_here("diff", "-o", "json", cwd=folder)
    if before is None or after is None:
        assert done.returncode == 1
        return
    assert done.returncode == 0, done.stdout + done.stderr
    changed = {("changes", each) for each in before.keys() & after.keys() if before[each] != after[each]}
    gone, come = (("goes", each) for each in before.keys() - after.keys()), (("comes", each) for each in after.keys() - before.keys())
    assert set(_reported(json.loads(done.stdout))) == changed.union(gone, come)
