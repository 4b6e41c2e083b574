"""The last line of a report."""

from jobspec.diagnostics.coverage import OBJECTS_ALONE, count, coverage, coverage_lines
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


def test_reasons_stand_in_lines_of_their_own_where_the_last_line_would_be_long() -> None:
    by_schema = "schema of volcano 1.15.1 without CEL rules"
    rows = [
        DocumentResult(0, "partly", api_version="batch.volcano.sh/v1alpha1", kind="Job", name="a", reason=by_schema),
        DocumentResult(1, "partly", api_version="v1", kind="Secret", name="b", reason="without values of placeholders"),
        DocumentResult(2, "skipped", reason="template"),
        DocumentResult(3, "skipped", api_version="a.example/v1", kind="Unknown", name="c"),
        DocumentResult(4, "valid", api_version="v1", kind="ConfigMap", name="d"),
    ]
    assert coverage_lines([FileResult("a.yaml", rows[2:], [])], {"trainer": "2.3.0"}) == [
        "3 documents: 1 valid, 2 skipped (1 template, 1 of an unknown kind: 1 Unknown) (trainer 2.3.0)"
    ]
    assert coverage_lines([FileResult("a.yaml", rows, [])], {"trainer": "2.3.0"}) == [
        "partly checked: 1 Job: schema of volcano 1.15.1 without CEL rules",
        "partly checked: 1 Secret: without values of placeholders",
        "skipped: 1 template, 1 of an unknown kind: 1 Unknown",
        "5 documents: 1 valid, 2 partly checked, 2 skipped, 1 judged as an object alone (trainer 2.3.0)",
    ]
