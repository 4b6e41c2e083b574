"""kubectl, too, makes of a rendered tree what a job needs before the job: a webhook refuses a TrainJob without its runtime."""

import shutil
from pathlib import Path

import pytest

from tests.support import quick_yaml
from tests.support.manifests import CONFIG, JOB, PROJECT_HEAD, RUNTIME, TRAINJOB, write
from tests.support.processes import program, run_here

PROJECT = f"{PROJECT_HEAD}  variants:\n"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n"


def _built(folder: Path, base: str, *path: str) -> list[str]:
    """The kinds that kubectl builds of a rendered tree, in order."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed")
    write(folder, {"base.yaml": base, "jobspec.yaml": f"{PROJECT}  - {{name: train, base: base.yaml, namespace: ml}}\n"})
    (folder / ".git").mkdir()
    assert run_here("render", cwd=folder).returncode == 0
    done = program("kubectl", "kustomize", folder.joinpath("rendered", *path))
    assert done.returncode == 0, done.stderr
    return [each["kind"] for each in quick_yaml.load_all(done.stdout)]


@pytest.mark.parametrize("path", [(), ("train",)], ids=["tree", "variant"])
def test_a_runtime_comes_before_its_job(path: tuple[str, ...], tmp_path: Path) -> None:
    base = "---\n".join([TRAINJOB, RUNTIME, CONFIG, NAMESPACE])
    assert _built(tmp_path, base, *path) == ["Namespace", "ConfigMap", "TrainingRuntime", "TrainJob"]


def test_without_a_runtime_the_order_is_kustomizes_own(tmp_path: Path) -> None:
    """Only kubectl since 1.27 takes an order."""
    assert _built(tmp_path, "---\n".join([JOB, CONFIG, NAMESPACE])) == ["Namespace", "ConfigMap", "PyTorchJob"]
    assert b"sortOptions" not in (tmp_path / "rendered" / "kustomization.yaml").read_bytes()
