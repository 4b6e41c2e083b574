"""Check the files of a command that goes on with their documents."""

from __future__ import annotations

from jobspec import pipeline
from jobspec.commands.files import source_of
from jobspec.commands.output import one_by_one, with_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobspec.commands.files import Found
    from jobspec.commands.inputs import Setting
    from jobspec.pipeline import Checked


def checked_together(found: Sequence[Found], setting: Setting, *, skip_unknown: bool) -> list[Checked]:
    """The files with their overlays applied, each judged with the objects of the others; none where the setting itself is wrong."""

    def check_one(each: Found) -> Checked:
        return pipeline.checked(source_of(each, skip_unknown=skip_unknown), setting.overlays, setting.cluster)

    return [] if setting.wrong else pipeline.resolve(with_progress(found, check_one, one_by_one), setting.cluster)
