"""The annotations that engines need on rendered objects."""

from __future__ import annotations

from jobspec.gitops.engines.waves import WAVE, wave_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.documents.document import Document
    from jobspec.gitops.engines.declared import Engines


def notes_of(document: Document, engines: Engines) -> dict[str, tuple[str, Mark]]:
    """The annotations of an object by name, each with the place in the project that asks for it."""
    notes = {}
    if engines.argocd and (wave := wave_of(document.group_kind)):
        notes[WAVE] = wave, engines.argocd.mark
    return notes
