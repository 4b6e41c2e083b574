"""How often a journey checks files, and what their documents meet."""

from __future__ import annotations

from pathlib import Path

from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Manifests
from jobspec.session.found import Found
from jobspec.session.found_file import FoundFile
from jobspec.session.inputs import load_run_context
from jobspec.session.options import Options
from jobspec.world.world import Cluster

_LIMITS = """\
apiVersion: v1
kind: LimitRange
metadata: {name: small, namespace: team}
spec: {limits: [{type: Container, max: {cpu: 1}}]}
"""
_SPEC = "{restartPolicy: Never, containers: [{name: a, image: a, resources: {limits: {cpu: 2}}}]}"
_JOB = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: a, namespace: team}}
spec: {{template: {{spec: {_SPEC}}}}}
"""
_POD = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: a, namespace: team}}
spec: {_SPEC}
"""


def _said(folder: Path, **texts: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the stages and rules of the findings of each file, and the files in the order in which they are read."""
    loaded: list[str] = []

    class Counted(FoundFile):
        def load(self, world: Cluster) -> Manifests:
            loaded.append(Path(self.found.path).stem)
            return super().load(world)

    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    files = [Counted(Found(str(folder / f"{each}.yaml"), named=False), load_run_context(Options()), False) for each in texts]
    found = travel(Journey(files, Cluster(), outcome=True, documents=False))
    return {Path(each.result.path).stem: [f"{one.stage} {one.rule}" for one in each.result.diagnostics] for each in found}, loaded


def test_a_file_with_a_job_is_read_once_beside_objects_that_decide_on_its_pods(tmp_path: Path) -> None:
    assert _said(tmp_path, job=_JOB, limits=_LIMITS) == ({"job": ["outcome pods-refused"], "limits": []}, ["job", "limits"])
    assert _said(tmp_path, job=_JOB) == ({"job": []}, ["job"])


def test_a_pod_is_refused_by_objects_of_other_files_before_its_outcome(tmp_path: Path) -> None:
    found, loaded = _said(tmp_path, pod=_POD, job=_JOB.replace("team", "other"), limits=_LIMITS)
    assert found == {"pod": ["admission outside-limit-range"], "job": [], "limits": []}
    assert loaded == ["pod", "job", "limits", "pod"]
    assert _said(tmp_path, pod=_POD, job=_JOB)[1] == ["pod", "job"]
