"""What Kubernetes makes of Jobs that JobSet alone would not send."""

from typing import Any

from jobspec.apis.releases import choose
from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import set_by
from jobspec.operators.batch import job_defaults, pods_of
from tests.support import quick_yaml

Data = dict[str, Any]
TARGET = choose([])
SERVER = Mark("kube-apiserver")
TEMPLATE = "template: {spec: {containers: [{name: a}]}}"


def _stored(spec: str, name: str = "job") -> Any:
    metadata = {"name": name, "namespace": "default"}
    return job_defaults(set_by(Mark("job.yaml"), {"metadata": metadata, "spec": quick_yaml.load(f"{{{TEMPLATE}, {spec}}}")}), SERVER)


def _pods(spec: str, name: str = "job") -> list[Data]:
    return [each.data() for each in pods_of(_stored(spec, name), TARGET)]


def test_defaults() -> None:
    found = _stored("").data()["spec"]
    del found["template"], found["selector"]
    assert found == {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
    }
    assert "completions" not in _stored("parallelism: 2").data()["spec"]


def test_a_job_of_which_each_index_may_fail() -> None:
    stored = _stored("completionMode: Indexed, completions: 1, backoffLimitPerIndex: 1")
    assert stored.data()["spec"]["backoffLimit"] == 2**31 - 1
    (pod,) = _pods("completionMode: Indexed, completions: 1, backoffLimitPerIndex: 1")
    prefix = "batch.kubernetes.io/job"
    assert pod["metadata"]["annotations"] == {f"{prefix}-completion-index": "0", f"{prefix}-index-failure-count": "0"}


def test_a_selector_of_ones_own() -> None:
    found = _stored("manualSelector: true, selector: {matchLabels: {a: b}}").data()["spec"]
    assert found["selector"] == {"matchLabels": {"a": "b"}}
    assert found["template"] == {"spec": {"containers": [{"name": "a"}]}}


def test_pods_of_a_job_without_numbers() -> None:
    pods = _pods("parallelism: 3, completions: 2")
    assert [(each["metadata"]["generateName"], "hostname" in each["spec"]) for each in pods] == [("job-", False)] * 2


def test_long_names_keep_the_number() -> None:
    (pod,) = _pods("completionMode: Indexed, completions: 1", "a" * 60)
    assert pod["metadata"]["generateName"] == f"{'a' * 55}-0-"
    assert pod["spec"]["hostname"] == f"{'a' * 60}-0"


def test_a_job_that_others_manage_or_that_is_suspended_has_no_pods() -> None:
    assert _pods("managedBy: example.com/me") == []
    assert _pods("suspend: true") == []
    assert len(_pods("managedBy: kubernetes.io/job-controller")) == 1
