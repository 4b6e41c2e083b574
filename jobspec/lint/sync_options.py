"""Options of Argo CD's syncs that do not do what they are there for."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import APPLICATION, JOB, JOBSET, TRAINJOB, GroupKind
from jobspec.diagnostics.places import Key, items_at, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.values import mapping
from jobspec.lint.linted import LintedDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.places import Path
    from jobspec.documents.document import Document

#: Kinds of which a change, as jobs are changed, is one of an immutable field.
_IMMUTABLE = (JOB, JOBSET, TRAINJOB)
_HINT = "write `Force=true,Replace=true` at the job: it is deleted and recreated"

#: Where the kinds of Argo CD have an Application.
_APPLICATIONS: dict[GroupKind, Path] = {APPLICATION: (), ("argoproj.io", "ApplicationSet"): ("spec", "template")}


def replace_without_force(document: LintedDocument) -> Iterator[Finding]:
    """Argo CD replaces the job without `Force=true`, which changes no immutable field.

    Why: `Replace=true` alone is `kubectl replace`: an update, which the server refuses for a Job even if nothing but the image changed
    (`spec.selector: Required value`, `field is immutable`). The sync fails as it does without the option.
    Instead: `Force=true,Replace=true`, which deletes the job and creates it again; or a hook, or a new name for each run.
    Before: "argocd.argoproj.io/sync-options: Replace=true"
    After: "argocd.argoproj.io/sync-options: Force=true,Replace=true"
    Evidence: `syncContext.applyObject` of Argo CD 3.2; NVIDIA/aicr#2367
    """
    if document.given.group_kind in _APPLICATIONS:
        yield from _at_application(document, _APPLICATIONS[document.given.group_kind])
    elif mapping(document.given.data, "metadata", "annotations"):
        yield from _at_job(document)


def _at_job(document: LintedDocument) -> Iterator[Finding]:
    from jobspec.repository.recreation import SYNC_OPTIONS, sync_options

    if "Replace=true" in sync_options(document.given) and _is_updated(document):
        at = ("metadata", "annotations", Key(SYNC_OPTIONS))
        yield Finding(at, f"`Replace=true` without `Force=true`: the server refuses a changed {document.given.kind}", _HINT)


def _at_application(document: LintedDocument, place: Path) -> Iterator[Finding]:
    from jobspec.repository.engines import options_of

    application = document.given.changed(value_at(document.given.data, place))
    if "Replace=true" not in options_of(application):
        return
    jobs = [each for kind in _IMMUTABLE for each in document.documents.of_kind(kind) if _applies(application, each)]
    if jobs:
        message = f"`Replace=true` without `Force=true`: the server refuses a changed {jobs[0].kind}, such as `{jobs[0].name}`"
        options = items_at(document.given.data, (*place, "spec", "syncPolicy", "syncOptions"))
        yield Finding(next(path for path, option in options if option == "Replace=true"), message, _HINT)


def _is_updated(document: LintedDocument) -> bool:
    """True if Argo CD updates the object in place when it has changed."""
    from jobspec.repository.in_build import AppliedFolder
    from jobspec.repository.recreation import recreation_of

    return document.can_be_synced and recreation_of(document.given, AppliedFolder(is_replaced=True)) is None


def _applies(application: Document, job: Document) -> bool:
    """True if an Application replaces a job: the job is in one of its folders, and has no option or hook of its own."""
    from jobspec.repository.engines import applied_paths
    from jobspec.repository.in_build import AppliedFolder
    from jobspec.repository.recreation import recreation_of, sync_options

    if not job.name or {"Replace=true", "Replace=false"}.intersection(sync_options(job)):
        return False
    folder = f"/{job.file.rpartition('/')[0]}/"
    is_in_folder = any(f"/{path.strip('./')}/" in folder or path.strip("./") == "" for path in applied_paths(application))
    return is_in_folder and recreation_of(job, AppliedFolder(is_replaced=True)) is None


RULES = (Rule(replace_without_force, "warning", sees="document", of=[*_IMMUTABLE, *_APPLICATIONS]),)
