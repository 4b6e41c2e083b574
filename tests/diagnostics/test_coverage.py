"""The last line of a report."""

from jobspec.diagnostics.coverage import OBJECTS_ALONE, count, coverage
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.operators.workloads import JOBS


def _file(*documents: DocumentResult) -> FileResult:
    return FileResult("a.yaml", documents, [])


def test_jobs_whose_pods_are_not_known_are_counted() -> None:
    volcano = DocumentResult(0, "partly", api_version="batch.volcano.sh/v1alpha1", kind="Job", name="a")
    hyperpod = DocumentResult(1, "valid", api_version="sagemaker.amazonaws.com/v1", kind="HyperPodPyTorchJob", name="a")
    refused = DocumentResult(2, "invalid", api_version="sagemaker.amazonaws.com/v1", kind="HyperPodPyTorchJob", name="b")
    job = DocumentResult(3, "valid", api_version="batch/v1", kind="Job", name="a")
    assert coverage([_file(volcano, job)], {}).startswith("2 documents: 1 valid, 1 partly checked, 1 judged as an object alone")
    assert "2 judged as objects alone" in coverage([_file(volcano, hyperpod, refused)], {})
    assert count([_file(volcano, hyperpod, refused)])["objectAlone"] == 2
    assert "objectAlone" not in count([_file(job)])


def test_no_kind_is_judged_by_its_pods_and_as_an_object_alone() -> None:
    assert [(group, kind) for group, kinds in OBJECTS_ALONE.items() for kind in kinds if (group, kind) in JOBS] == []
