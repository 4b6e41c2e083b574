"""A found file as a file that a journey starts from."""

from __future__ import annotations

import os

from jobspec.diagnostics.record import Record
from jobspec.journey.checking import load
from jobspec.session.found import is_judged_in_build
from jobspec.session.reading import parts_with, source_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from jobspec.apis.kinds import GroupKind
    from jobspec.journey.steps import Manifests
    from jobspec.session.found import Found
    from jobspec.session.inputs import RunContext
    from jobspec.world.world import Cluster


class FoundFile(Record):
    """A found file with the overlays and values of its run."""

    found: Found
    context: RunContext
    skip_unknown: bool

    @property
    def folder(self) -> str:
        """The folder whose files are applied together; empty for a file that the user named."""
        return "" if self.found.named else os.path.dirname(self.found.path) or os.curdir

    @property
    def is_left_out(self) -> bool:
        """True if no kustomization lists the file, so that it is not applied with the others."""
        return self.found.in_build is not None and self.found.in_build.is_left_out

    @property
    def has_placeholders(self) -> bool:
        """True if others may fill in values of the file."""
        return not self.context.overlays and is_judged_in_build(self.found, skip_unknown=self.skip_unknown)

    def load(self, world: Cluster) -> Manifests:
        """Read the documents of the file, and apply the overlays of the run."""
        source = source_of(self.found, skip_unknown=self.skip_unknown, values=self.context.values)
        return load(source, self.context.overlays, world)

    def parts_with(self, kinds: Collection[GroupKind], words: Collection[str]) -> list[FoundFile]:
        """Return the parts of the file that seem to hold objects of some kinds, with one of some words unless there are none."""
        return [self.changed(found=each) for each in parts_with(self.found, {kind for _, kind in kinds}, words)]
