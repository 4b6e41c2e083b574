"""Names of objects with placeholders: an object may have any name that fits."""

from __future__ import annotations

from jobspec.diagnostics.places import span_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from jobspec.apis.kinds import GroupKind
    from jobspec.journey.steps import Checked


def names_to_fill_in(file: Checked) -> Iterator[tuple[GroupKind, re.Pattern[str]]]:
    """Yield the kind of each object with a placeholder in its name, and a pattern of names."""
    if not (notes := file.result.stand_ins):
        return
    import re

    from jobspec.repository.placeholders import STAND_IN

    for document in file.documents:
        paths = document.marks.paths()
        if any(note.document == document.index and paths.get(span_of(note.mark)) == ("metadata", "name") for note in notes):
            yield document.group_kind, re.compile(".+".join(map(re.escape, STAND_IN.split(document.name))))
