"""The annotations that engines need on rendered objects."""

from __future__ import annotations

from jobspec.gitops.engines import replacing
from jobspec.gitops.engines.waves import WAVE, wave_of
from jobspec.gitops.naming import spec_hash
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.documents.document import Document
    from jobspec.gitops.engines.declared import Engines


def notes_of(document: Document, engines: Engines, *, fixed: Mark | None) -> dict[str, tuple[str, Mark]]:
    """The annotations of an object by name, each with the place in the project that asks for it.

    *fixed*: where the project gives a job its fixed name, None where the name has a hash.
    """
    notes = {}
    if engines.argocd and (wave := wave_of(document.group_kind)):
        notes[WAVE] = wave, engines.argocd.mark
    if fixed and is_workload(document) and (engines.argocd or engines.flux):
        notes[replacing.SPEC_HASH] = spec_hash(document), fixed
        for engine, (name, value) in ((engines.argocd, replacing.ARGOCD), (engines.flux, replacing.FLUX)):
            if engine:
                notes[name] = value, engine.mark
    return notes
