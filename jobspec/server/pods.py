"""The pods of jobs, as questions to a server: its quotas, Pod Security and policies answer for what will really run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobspec.diagnostics import Diagnostic, JobspecError
from jobspec.documents.document import Document
from jobspec.documents.writer import write
from jobspec.operators.expansion import ExpandedJob, ExpandedRole, expand
from jobspec.operators.made import with_generated_names
from jobspec.pipeline import Checked
from jobspec.server.api_server import ServerAnswer
from jobspec.server.question import Question
from jobspec.targets import Target
from jobspec.workloads import is_workload, resumed


@dataclass(frozen=True, slots=True)
class PodQuestion:
    """The question about the pods of one role of a job, which differ in numbers alone."""

    job: Document
    role: str
    """As people write it, such as `Worker`."""
    question: Question


def pod_questions(files: Sequence[Checked], target: Target) -> list[PodQuestion]:
    """The questions about the pods of all jobs in checked files that a server accepts."""
    context = [document for file in files for document in file.documents]
    return [each for file in files for job in _accepted_jobs(file) for each in _of_job(job, context, target)]


def _accepted_jobs(file: Checked) -> list[Document]:
    valid = {(each.index, each.kind, each.name) for each in file.result.documents if each.status == "valid"}
    return [each for each in file.documents if is_workload(each) and (each.index, each.kind, each.name) in valid]


def _of_job(job: Document, context: Sequence[Document], target: Target) -> Iterator[PodQuestion]:
    own = [each for each in context if each.file == job.file]
    others = [each for each in context if each.file != job.file]
    try:
        expansion = expand(resumed(job), [*own, *others], target, first_and_last_only=True)
    except JobspecError:  # more pods than anybody could look at
        return
    for role in ExpandedJob(job, expansion.objects, target, expansion.counts).roles:
        yield PodQuestion(job, role.name, Question(_document(job, role), write([_data(job, role)])))


def _document(job: Document, role: ExpandedRole) -> Document:
    return Document(_data(job, role), role.pod_tree.marks(), file=job.file, index=job.index)


def _data(job: Document, role: ExpandedRole) -> dict[str, object]:
    """A pod of a role under a name of its own, since the job may run already; in the job's namespace, or in none."""
    data = with_generated_names(role.pod_tree)
    metadata = {name: each for name, each in data["metadata"].items() if name not in ("name", "namespace", "ownerReferences")}
    space = {"namespace": job.namespace} if job.namespace else {}
    return {**data, "metadata": {**metadata, **space, "generateName": f"{data['metadata']['name']}-"}}


def problems_of_pods(pods: Sequence[PodQuestion], answers: Mapping[Question, ServerAnswer]) -> dict[str, list[Diagnostic]]:
    """File -> what the server says of the pods of its jobs, at the lines that cause it; a line that hits several roles is told once."""
    told: dict[str, dict[tuple[str, str], Diagnostic]] = {}
    for each in pods:
        for found in answers[each.question].diagnostics:
            diagnostic = _of_role(found, each)
            told.setdefault(each.job.file, {}).setdefault((diagnostic.rule, str(diagnostic.mark)), diagnostic)
    return {file: list(found.values()) for file, found in told.items()}


def _of_role(found: Diagnostic, pod: PodQuestion) -> Diagnostic:
    """What a server says of a pod, as said of the job: of what an operator set itself, at the job's name."""
    place = found.mark if found.mark.line else pod.job.marks.nearest(("metadata", "name")).place()
    refuses = found.severity == "error"
    message = f"the server {'refuses' if refuses else 'warns of'} the pods of {pod.role}: {found.message}"
    rule = "pods-refused" if refuses else found.rule
    return Diagnostic(rule, message, place, field=found.field, document=pod.job.index, severity=found.severity, hint=found.hint)
