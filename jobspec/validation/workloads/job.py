"""Check a Job as the API server's Go code does.

Follows `ValidateJob`, k8s.io/kubernetes pkg/apis/batch/validation, with the defaults of pkg/apis/batch/v1, 1.36.
"""

from __future__ import annotations

from jobspec.validation.metadata import bad_label_name
from jobspec.validation.problem import Problem
from jobspec.validation.reading import is_given, mapping, number, text
from jobspec.validation.workloads.job_selector import job_selector, name_of_job
from jobspec.validation.workloads.job_spec import job_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def job_problems(data: dict[str, Any], old: dict[str, Any] | None) -> Iterator[Problem]:
    """The problems of a Job, but for those of any pod template, as an update of *old* unless that is None."""
    spec = with_defaults(mapping(data, "spec"))
    if old is not None:
        from jobspec.validation.workloads.job_update import job_update_problems

        yield from job_update_problems(data, old)
    yield from job_selector(data, old)
    yield from job_spec(spec, ("spec",))
    yield from _host_names(data, spec)


def with_defaults(spec: dict[str, Any]) -> dict[str, Any]:
    """A Job's spec with the numbers that other fields are compared with: without both of them, one pod that completes."""
    if is_given(spec, "parallelism") or is_given(spec, "completions"):
        return spec if is_given(spec, "parallelism") else {**spec, "parallelism": 1}
    return {**spec, "parallelism": 1, "completions": 1}


def _host_names(data: dict[str, Any], spec: dict[str, Any]) -> Iterator[Problem]:
    """The problem of an Indexed Job whose last pod would get a host name that is none."""
    completions = number(spec, "completions") or 0
    if text(spec, "completionMode") != "Indexed" or completions <= 0:
        return
    host = f"{name_of_job(data)}-{completions - 1}"
    if why := bad_label_name(host):
        message = f"the last pod of the Job would have the host name `{host}`, and cannot: {why}"
        yield Problem("invalid-name", ("metadata", "name"), message)
