"""The Python API: manifests as text, as data and as models, from many threads and for long."""

import gc
import json
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import jobspec
from jobspec.models import Overlay, PyTorchJob
from tests.support import quick_yaml
from tests.support.reference import ROOT

GUIDES = ROOT / "tests" / "cases" / "guides"
TEXT = (GUIDES / "simple.yaml").read_text()
WRONG = TEXT.replace("replicas: 1", "replicaz: 1", 1)
OVERLAY = """\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: named}
spec:
  description: a label
  parameters: {team: {type: string}}
  job:
    PyTorchJob: {metadata: {labels: {team: "${team}"}}}
"""


def data(text: str) -> Any:
    return quick_yaml.load(text)


def reported(result: jobspec.FileResult) -> list[tuple[str, str, int]]:
    return [(each.rule, each.stage, each.mark.line) for each in result.diagnostics]


def test_text_is_checked_with_lines_and_data_without() -> None:
    result = jobspec.check(WRONG)
    (line,) = (number for number, text in enumerate(WRONG.splitlines(), 1) if "replicaz" in text)
    assert reported(result) == [("unknown-field", "schema", line)]
    assert [(each.kind, each.name, each.status) for each in result.documents] == [("PyTorchJob", "pytorch-simple", "invalid")]
    assert not result.valid
    assert reported(jobspec.check(data(WRONG))) == [("unknown-field", "schema", 0)]
    assert str(jobspec.check(data(WRONG)).diagnostics[0].mark) == "<manifest>"
    assert str(jobspec.check(WRONG, name="job.yaml").diagnostics[0].mark).startswith(f"job.yaml:{line}:")


@pytest.mark.parametrize("form", [str, str.encode, data, lambda text: PyTorchJob.model_validate(data(text)), lambda text: [data(text)]])
def test_a_job_is_valid_in_every_form(form: Any) -> None:
    assert jobspec.check(form(TEXT)).valid


def test_several_manifests_are_documents_of_one_file() -> None:
    assert [each.index for each in jobspec.check([data(TEXT), data(WRONG)]).documents] == [0, 1]
    assert [each.status for each in jobspec.check(f"{TEXT}\n---\n{WRONG}").documents] == ["valid", "invalid"]


def test_what_json_cannot_hold_is_an_error_with_its_path() -> None:
    with pytest.raises(TypeError, match=r"^spec\.a\[1\]: JSON cannot contain"):
        jobspec.check({"apiVersion": "v1", "kind": "ConfigMap", "spec": {"a": [1, object()]}})
    with pytest.raises(TypeError, match="JSON cannot contain nan"):
        jobspec.check({"a": float("nan")})
    with pytest.raises(TypeError, match="a key must be a string, not 1"):
        jobspec.check({"metadata": {1: "a"}})
    with pytest.raises(TypeError, match="expected a string, a dict, a model or a Document, got int"):
        jobspec.check(1)  # type: ignore[arg-type]


def test_the_cluster_decides() -> None:
    job = {**data((GUIDES / "trainjob.yaml").read_text())}
    job["spec"] = {**job["spec"], "runtimeRef": {"name": "ours"}}
    (warning,) = jobspec.check(job).diagnostics
    assert (warning.rule, warning.stage, warning.severity) == ("unresolved-reference", "admission", "warning")
    (error,) = jobspec.check(job, cluster=jobspec.Cluster(closed=True)).diagnostics
    assert (error.rule, error.severity) == ("unresolved-reference", "error")
    runtime = data((ROOT / "tests" / "cases" / "admission" / "runtime.yaml").read_text().split("\n---")[0])
    there = {**runtime, "kind": "ClusterTrainingRuntime", "metadata": {"name": "ours"}}
    assert jobspec.check(job, cluster=jobspec.Cluster(objects=[there], closed=True), outcome=False).valid
    assert jobspec.check(job, cluster=jobspec.Cluster(webhooks=False, closed=True)).diagnostics == ()


def test_an_update_is_judged_against_what_is_stored() -> None:
    stored = data(TEXT)
    changed = {**stored, "metadata": {**stored["metadata"], "uid": "b"}}
    before = {**stored, "metadata": {**stored["metadata"], "uid": "a"}}
    found = jobspec.check(changed, cluster=jobspec.Cluster(stored=[before])).diagnostics
    assert [each.rule for each in found] == ["immutable-field"]


def test_custom_kinds_come_as_crds() -> None:
    crd = (ROOT / "tests" / "cases" / "crds" / "limits.yaml").read_text().split("\n---")[0]
    kind = data(crd)["spec"]["names"]["kind"]
    thing = {
        "apiVersion": f"{data(crd)['spec']['group']}/{data(crd)['spec']['versions'][0]['name']}",
        "kind": kind,
        "metadata": {"name": "a"},
    }
    assert [each.rule for each in jobspec.check(thing).diagnostics] == ["unknown-kind"]
    assert [each.status for each in jobspec.check(thing, cluster=jobspec.Cluster(crds=[crd])).documents] != ["unknown"]
    assert "unknown-kind" not in [each.rule for each in jobspec.check(thing, cluster=jobspec.Cluster(crds=[crd])).diagnostics]
    with pytest.raises(jobspec.JobspecError, match="<crds>"):
        jobspec.Cluster(crds=[{**data(crd), "spec": {}}])


def test_releases_are_chosen_by_name() -> None:
    assert jobspec.Cluster({"trainer": "2.1"}).releases == {"training-operator": "1.9.4", "trainer": "2.1.0"}
    with pytest.raises(jobspec.JobspecError, match=r"the known releases of trainer are 2\.0\.0"):
        jobspec.Cluster({"trainer": "1.0"})
    with pytest.raises(jobspec.JobspecError, match="unknown operator `volcano`"):
        jobspec.Cluster({"volcano": "1.12"})


def test_a_base_renders_with_overlays() -> None:
    rendered = jobspec.render(TEXT, overlays=["gpu-nccl"], parameters={"gpu-nccl": {"gpus": 2}})
    assert rendered.valid
    pods = data(rendered.text)["spec"]["pytorchReplicaSpecs"]
    assert [each["template"]["spec"]["containers"][0]["resources"] for each in pods.values()] == [{"limits": {"nvidia.com/gpu": 2}}] * 2
    assert jobspec.render(data(TEXT), overlays=["gpu-nccl"], parameters={"gpu-nccl": {"gpus": 2}}).text == rendered.text
    assert jobspec.render(WRONG, overlays=["gpu-nccl"]).text == ""
    assert [each.rule for each in jobspec.render(WRONG, overlays=["gpu-nccl"]).diagnostics] == ["unknown-field"]


@pytest.mark.parametrize("form", [str, str.encode, data, lambda text: Overlay.model_validate(data(text))])
def test_overlays_come_in_every_form(form: Any) -> None:
    rendered = jobspec.render(TEXT, overlays=[form(OVERLAY)], parameters={"named": {"team": "vision"}})
    assert data(rendered.text)["metadata"]["labels"] == {"team": "vision"}


def test_a_mistake_in_overlays_or_parameters_is_an_error_with_its_place() -> None:
    with pytest.raises(jobspec.JobspecError, match="no overlay `gpu`"):
        jobspec.render(TEXT, overlays=["gpu"])
    with pytest.raises(jobspec.JobspecError, match=r"parameters\['gpu-nccl'\]\['gpus'\]: `gpus`: expected an integer, got `two`"):
        jobspec.render(TEXT, overlays=["gpu-nccl"], parameters={"gpu-nccl": {"gpus": "two"}})
    with pytest.raises(jobspec.JobspecError, match="no overlay `cpu` is applied"):
        jobspec.render(TEXT, overlays=["gpu-nccl"], parameters={"cpu": {"cpus": 2}})
    with pytest.raises(jobspec.JobspecError, match=r"overlays\[0\]: unknown field `a`"):
        jobspec.render(TEXT, overlays=[{**data(OVERLAY), "a": 1}])


def test_threads_get_the_same_answers() -> None:
    texts = [path.read_text() for path in sorted(GUIDES.glob("*.yaml"))] * 4
    clusters = [jobspec.Cluster({"training-operator": each}) for each in ("1.7", "1.8", "1.9.0", "1.9.4")]
    works = [(text, cluster) for text in texts for cluster in clusters]

    def answer(work: tuple[str, jobspec.Cluster]) -> str:
        return json.dumps([each.as_dict() for each in jobspec.check(work[0], cluster=work[1]).diagnostics])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(answer, works)) == list(map(answer, works))


@pytest.mark.slow
def test_memory_does_not_grow_with_what_is_checked() -> None:
    def check(first: int, last: int) -> None:
        for number in range(first, last):
            jobspec.check(WRONG.replace("replicaz", f"replica{number}").replace("pytorch-simple", f"job-{number}"))
        gc.collect()

    check(0, 300)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    check(300, 1500)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024  # kilobytes
    assert gc.isenabled()


def test_a_file_of_the_working_folder_is_never_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.yaml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    assert [each.rule for each in jobspec.check("job.yaml").diagnostics] == ["not-a-manifest"]
