"""What a server and JobSet's webhook refuse in a JobSet that the trainer makes: then nothing runs, and only an event says so.

The rules are those for JobSets in files; names that a cluster makes up count as long as they will be.
"""

from __future__ import annotations

from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.places import Mark
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.kubernetes.problems import listed
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.jobset.webhook import CREATE_RULES
from jobspec.operators.made import with_generated_names
from jobspec.operators.webhooks import diagnostics
from jobspec.operators.workloads import Workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


_REFUSED = "JobSet refused, so nothing runs"
_JOBS_FIELD = "spec.replicatedJobs["


def refusals(jobset: MarkedTree, job: Document, target: Target) -> Iterator[Diagnostic]:
    """The errors of a stored JobSet at the lines that caused them; what has no line of its own stands at the *job*'s name."""
    document = Document(with_generated_names(jobset), jobset.marks, file=job.file, index=job.index)
    found = verdict(document, target).diagnostics
    if not has_error(found):
        found = diagnostics(CREATE_RULES, Workload(document), target)
    added = _added_by_patches(jobset, job)
    for each in found:
        if each.severity == "error" and not (added and each.rule == "missing-field" and each.field.startswith(_JOBS_FIELD)):
            message = f"{_REFUSED}: {each.message}"
            yield Diagnostic("jobset-refused", message, _place_of_cause(each, job), field=each.field, document=job.index, hint=each.hint)
    known = listed(text(each, "name") for each in items(jobset.get("spec", "replicatedJobs")) if each not in added)
    for new in added:
        name = new.get("name") or new
        message = f"{_REFUSED}: the runtime has no replicated job `{name.value}`: the patch adds one without containers"
        yield Diagnostic("jobset-refused", message, name.place(), document=job.index, hint=f"the runtime has {known}")


def _added_by_patches(jobset: MarkedTree, job: Document) -> list[MarkedTree]:
    """The replicated jobs without containers that are in no runtime, and came by a patch of the TrainJob."""
    patches = job.marks.nearest(("spec", "runtimePatches"))
    jobs = items(jobset.get("spec", "replicatedJobs"))
    bare = [each for each in jobs if not each.get("template", "spec", "template", "spec", "containers")]
    return [each for each in bare if (name := each.get("name")) and patches.contains(name.mark)]


def _place_of_cause(problem: Diagnostic, job: Document) -> Mark:
    """The line that caused a problem: of names that are made of the job's and others, the job's."""
    is_name = problem.field.startswith(_JOBS_FIELD) and problem.field.endswith("].name") and problem.field.count("[") == 1
    return problem.mark if problem.mark.line and not is_name else job.marks.nearest(("metadata", "name")).place()
