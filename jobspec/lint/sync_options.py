"""Options of syncs of Argo CD and Flux that do not do what they are there for.

Follows `hook.Types`, `hook.DeletePolicies` and `syncwaves.Wave`, github.com/argoproj/argo-cd gitops-engine/pkg/sync, 3.2 to 3.5, and
`AnyInMetadata`, github.com/fluxcd/pkg ssa, 0.61.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import APPLICATION, FLUX, JOB, JOBSET, TRAINJOB, GroupKind
from jobspec.diagnostics.places import Key, items_at, value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.values import mapping
from jobspec.lint.linted import LintedDocument
from jobspec.repository.recreation import SYNC_OPTIONS

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


def unknown_sync_value(document: LintedDocument) -> Iterator[Finding]:
    """An annotation for Argo CD or Flux, or an option of an Application, has a value that the engine does not know.

    Why: Argo CD compares texts. It never creates an object with a hook that it does not know, while the Application is Synced and Healthy,
    and ignores unknown delete policies, waves and options. Flux knows `enabled` and `disabled`, not `true` and `false`.
    Instead: write the value as the engine does.
    Before: "argocd.argoproj.io/hook: Presync"
    After: "argocd.argoproj.io/hook: PreSync"
    Evidence: Argo CD 3.2.6 on a server; `hook.IsHook` and `syncPhases` of gitops-engine/pkg/sync; redhat-appstudio/managed-gitops#319
    """
    yield from _of_hooks(document.given)
    yield from _of_flux(document.given)
    path: Path = (*_APPLICATIONS.get(document.given.group_kind, ()), "spec", "syncPolicy", "syncOptions")
    if document.given.group_kind in _APPLICATIONS:
        for at, option in items_at(document.given.data, path):
            yield from _of_option(at, str(option))


_HOOK, _POLICY, _WAVE = (f"argocd.argoproj.io/{each}" for each in ("hook", "hook-delete-policy", "sync-wave"))
_HOOK_TYPES = ("PreSync", "Sync", "PostSync", "SyncFail", "PreDelete", "PostDelete", "Skip")
_DELETE_POLICIES = ("BeforeHookCreation", "HookSucceeded", "HookFailed")
_OF_OPTIONS = {
    **dict.fromkeys(("Prune", "Delete"), ("false", "confirm")),
    "Validate": ("false",),
    **dict.fromkeys(("SkipDryRunOnMissingResource", "PruneLast", "Force", "RespectIgnoreDifferences", "FailOnSharedResource"), ("true",)),
    **dict.fromkeys(("Replace", "ServerSideApply", "ApplyOutOfSyncOnly", "ClientSideApplyMigration"), ("true", "false")),
    "CreateNamespace": ("true",),
    "PrunePropagationPolicy": ("background", "foreground", "orphan"),
}
#: The options of Argo CD, by how they read in small letters, and those that are there to be true by their name alone.
_OPTIONS = {
    **{name.lower(): f"{name}=true" for name, values in _OF_OPTIONS.items() if values[0] == "true"},
    **{f"{name}={value}".lower(): f"{name}={value}" for name, values in _OF_OPTIONS.items() for value in values},
}
_SWITCHES = ("enabled", "disabled")
_FLUX_VALUES = {
    "prune": ("disabled", _SWITCHES),
    "reconcile": ("disabled", _SWITCHES),
    "substitute": ("disabled", _SWITCHES),
    "force": ("enabled", _SWITCHES),
    "ssa": ("Merge", ("override", "merge", "ifnotpresent", "ignore")),
}


def _of_hooks(document: Document) -> Iterator[Finding]:
    """Report the annotations for Argo CD of an object that it does not know."""
    notes = mapping(document.data, "metadata", "annotations")
    words = {key: _words_of(notes[key]) for key in (_HOOK, _POLICY, SYNC_OPTIONS) if isinstance(notes.get(key), str)}
    is_created = "helm.sh/hook" in notes or any(each in _HOOK_TYPES for each in words.get(_HOOK, []))
    for key, what, known in ((_HOOK, "hook", _HOOK_TYPES), (_POLICY, "delete policy", _DELETE_POLICIES)):
        for word in words.get(key, []):
            if word not in known and not _is_filled_in_later(word):
                lost = "" if key == _POLICY or is_created else f"Argo CD never creates the {document.kind}: it "
                message = f"{lost or 'Argo CD '}knows no {what} `{word}`"
                right = next((each for each in known if each.lower() == word.lower()), "")
                yield Finding(_note(key), message, f"write `{right}`" if right else f"write one of {', '.join(known)}")
    for word in words.get(SYNC_OPTIONS, []):
        yield from _of_option(_note(SYNC_OPTIONS), word)
    wave = notes.get(_WAVE)
    if isinstance(wave, str) and wave and not _is_number(wave) and not _is_filled_in_later(wave):
        yield Finding(_note(_WAVE), f"the wave `{wave}` is no whole number: Argo CD ignores it", "write a whole number in quotes")


def _of_option(path: Path, option: str) -> Iterator[Finding]:
    """Report an option that Argo CD knows in another spelling alone."""
    meant = _OPTIONS.get("=".join(each.strip() for each in option.lower().replace(":", "=").split("=")))
    if meant and meant != option:
        yield Finding(path, f"Argo CD knows no option `{option}`", f"write `{meant}`")


def _of_flux(document: Document) -> Iterator[Finding]:
    """Report the annotations and labels for Flux that have no effect by their value."""
    for field in ("annotations", "labels"):
        for key, value in mapping(document.data, "metadata", field).items():
            group, _, name = key.partition("/")
            usual, known = _FLUX_VALUES.get(name, ("", ())) if group == FLUX[0] else ("", ())
            if known and isinstance(value, str) and value.lower() not in known and not _is_filled_in_later(value):
                yield Finding(("metadata", field, Key(key)), f"Flux knows no value `{value}` of this key", f"write `{usual}`")


def _words_of(value: str) -> list[str]:
    return [each.strip() for each in value.split(",") if each.strip()]


def _is_number(wave: str) -> bool:
    """True if `strconv.Atoi` reads a wave."""
    digits = wave[1:] if wave[0] in "+-" else wave
    return digits.isascii() and digits.isdigit()


def _is_filled_in_later(value: str) -> bool:
    """True if a value has a placeholder."""
    return "{" in value or "$" in value


def _note(key: str) -> Path:
    return ("metadata", "annotations", Key(key))


def _at_job(document: LintedDocument) -> Iterator[Finding]:
    from jobspec.repository.recreation import sync_options

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


RULES = (
    Rule(replace_without_force, "warning", sees="document", of=[*_IMMUTABLE, *_APPLICATIONS]),
    Rule(unknown_sync_value, "warning", sees="document"),
)
