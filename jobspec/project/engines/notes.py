"""The annotations that engines need on rendered objects."""

from __future__ import annotations

from jobspec.diagnostics.places import Mark
from jobspec.documents.document import Document
from jobspec.project.engines.replacement import ARGOCD, FLUX, SPEC_HASH
from jobspec.project.engines.waves import WAVE, WAVES
from jobspec.project.matrix import spec_hash
from jobspec.project.project import EngineSettings


def notes_of(document: Document, engines: EngineSettings, *, fixed: Mark | None) -> dict[str, tuple[str, Mark]]:
    """Return the annotations of an object by name, with the place in the project of each.

    *fixed*: where the name of a job is written that is always the same.
    """
    notes = {}
    if engines.argocd and (wave := WAVES.get(document.group_kind)):
        notes[WAVE] = wave, engines.argocd.mark
    if fixed and (engines.argocd or engines.flux):
        notes[SPEC_HASH] = spec_hash(document), fixed
        for engine, (name, value) in ((engines.argocd, ARGOCD), (engines.flux, FLUX)):
            if engine:
                notes[name] = value, engine.mark
    return notes
