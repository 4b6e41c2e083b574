"""The last line of a report."""

from jobspec.diagnostics.coverage import OBJECTS_ALONE, count, coverage
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.operators.expansion import MAKERS
from jobspec.operators.workloads import JOBS


def _file(*documents: DocumentResult) -> FileResult:
    return FileResult("a.yaml", documents, [])


def test_jobs_whose_pods_are_not_known_are_counted() -> None:
    mpi = DocumentResult(0, "partly", api_version="kubeflow.org/v1", kind="MPIJob", name="a")
    ray = DocumentResult(1, "valid", api_version="ray.io/v1", kind="RayJob", name="a")
    refused = DocumentResult(2, "invalid", api_version="ray.io/v1", kind="RayJob", name="b")
    job = DocumentResult(3, "valid", api_version="batch/v1", kind="Job", name="a")
    assert coverage([_file(mpi, job)], {}).startswith("2 documents: 1 valid, 1 partly checked, 1 judged as an object alone")
    assert "2 judged as objects alone" in coverage([_file(mpi, ray, refused)], {})
    assert count([_file(mpi, ray, refused)])["objectAlone"] == 2
    assert "objectAlone" not in count([_file(job)])


def test_no_kind_is_judged_by_its_pods_and_as_an_object_alone() -> None:
    alone = [(place, kind) for place, kinds in OBJECTS_ALONE.items() for kind in kinds]
    assert [each for each in alone if each in MAKERS or ("/" not in each[0] and each in JOBS)] == []
