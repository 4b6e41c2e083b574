"""Objects that an engine deletes and recreates, or leaves as they are, where a plain apply would change them in place.

Follows `ResourceManager.Apply` and `IsImmutableError`, github.com/fluxcd/pkg ssa, 0.60, and `syncContext.applyObject` and
`hook.DeletePolicies`, github.com/argoproj/gitops-engine pkg/sync, of Argo CD 3.2.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.go.values import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from jobspec.documents.document import Document
    from jobspec.repository.in_build import AppliedFolder

    #: `always`: each sync makes a new object; `refused`: if the server refuses the update as `Invalid`; `immutable`: also if a webhook
    #: forbids it because a field is immutable; `never`: the engine does not update the existing object.
    When = Literal["always", "refused", "immutable", "never"]


class Recreation(Record):
    """When an engine recreates an object or leaves it, and the reason."""

    engine: str
    when: When
    reason: str


_FLUX_FORCE = "kustomize.toolkit.fluxcd.io/force"
_FLUX_RECONCILE = "kustomize.toolkit.fluxcd.io/reconcile"
_FLUX_APPLY = "kustomize.toolkit.fluxcd.io/ssa"
SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
#: The engines whose annotations an engine looks at.
_SEEN_BY = {"Flux": ("Flux",), "Argo CD": ("Argo CD", "Helm")}
#: The annotations of hooks, each with that of its delete policy, and the policies that delete a hook before it is made again.
_HOOKS = (
    ("Argo CD", "argocd.argoproj.io/hook", "argocd.argoproj.io/hook-delete-policy", ("BeforeHookCreation", "HookSucceeded")),
    ("Helm", "helm.sh/hook", "helm.sh/hook-delete-policy", ("before-hook-creation", "hook-succeeded")),
)


def recreation_of(document: Document, folder: AppliedFolder) -> Recreation | None:
    """Return how an engine recreates an object. If each change is an update, return None.

    If the engine is known, the annotations of others have no effect; Argo CD takes hooks of Helm for its own.
    """
    found = [*_as_hook(document), *_by_argo_cd(document, folder), *_by_flux(document, folder)]
    found = [each for each in found if each.engine in _SEEN_BY.get(folder.engine, (each.engine,))]
    return next((each for each in found if each.when in ("always", "never")), found[0] if found else None)


def sync_options(document: Document) -> list[str]:
    """Return Argo CD's sync options at an object."""
    return _words(document, SYNC_OPTIONS)


def _as_hook(document: Document) -> Iterator[Recreation]:
    """Yield the recreation of a hook. Without a delete policy, a hook is deleted before the next one is made."""
    for engine, hook, policies, deleting in _HOOKS:
        if _words(document, hook) and (not (said := _words(document, policies)) or not set(deleting).isdisjoint(said)):
            yield Recreation(engine, "always", f"`{hook}`")


def _by_argo_cd(document: Document, folder: AppliedFolder) -> Iterator[Recreation]:
    """Yield the recreation that `Force=true` asks for; with `Replace=true` it is that of `kubectl replace --force`."""
    options = sync_options(document)
    if "Force=true" not in options:
        return
    if "Replace=true" in options or (folder.is_replaced and "Replace=false" not in options):
        yield Recreation("Argo CD", "always", "`Force=true` with `Replace=true`")
    else:
        yield Recreation("Argo CD", "refused", "`Force=true`")


def _by_flux(document: Document, folder: AppliedFolder) -> Iterator[Recreation]:
    """Yield the recreation that a Kustomization or an annotation asks for, or that Flux leaves an existing object as it is."""
    for name, value in ((_FLUX_RECONCILE, "disabled"), (_FLUX_APPLY, "ifnotpresent"), (_FLUX_APPLY, "ignore")):
        if _said(document, name).lower() == value:
            yield Recreation("Flux", "never", f"`{name}: {_said(document, name)}`")
    if _said(document, _FLUX_FORCE).lower() == "enabled":
        yield Recreation("Flux", "immutable", f"`{_FLUX_FORCE}: enabled`")
    elif folder.forced_by:
        yield Recreation("Flux", "immutable", folder.forced_by)


def _said(document: Document, annotation: str) -> str:
    """Return the value of an annotation, or of a label of its name; empty without one."""
    metadata = mapping(document.data, "metadata")
    return str(mapping(metadata, "annotations").get(annotation) or mapping(metadata, "labels").get(annotation) or "")


def _words(document: Document, annotation: str) -> list[str]:
    """Return the words of an annotation, which commas separate."""
    said = str(mapping(document.data, "metadata", "annotations").get(annotation) or "")
    return [each.strip() for each in said.split(",") if each.strip()]
