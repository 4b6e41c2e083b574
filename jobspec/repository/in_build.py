"""The role of a file in the builds of its repository."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.results import DocumentResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.repository.builds import Build
    from jobspec.repository.substitution import Variables


class Undecrypted(NamedTuple):
    """Why an engine decrypts nothing, and what to do about it."""

    why: str
    hint: str
    generated: str
    """Why, if a generator of kustomize reads the file: nothing tells its object from others."""


@dataclass(frozen=True, slots=True)
class AppliedFolder:
    """How an engine applies a folder, and so each file in it."""

    substitution: Variables | None = None
    """What Flux fills in for placeholders; None where other programs may fill them in."""
    namespace: str = ""
    """The namespace that Flux puts objects in, whatever they say."""
    default_namespace: str = ""
    """The namespace that Argo CD puts objects in that say none."""
    undecrypted: Undecrypted | None = None
    """Why encrypted files of it stay encrypted; None where something may decrypt them."""
    completed: frozenset[str] = frozenset()
    """What engines fill in, as in `InBuild`."""
    is_recursive: bool = False
    """Whether the files in folders below are applied with it."""
    engine: str = ""
    """`Flux` or `Argo CD`; empty if neither is known to apply it, or both do."""
    forced_by: str = ""
    """What has Flux recreate each object that it cannot update."""
    is_replaced: bool = False
    """Whether Argo CD replaces objects instead of applying them."""
    by_server: bool = False
    """Whether its objects are applied server-side."""
    prunes: bool | None = None
    """Whether objects that are gone from it are deleted; None if no engine says so."""


@dataclass(frozen=True, slots=True)
class InBuild:
    """The role of a file in the builds of its repository."""

    role: str = ""
    """Why it is skipped, such as that it is a patch of kustomize; empty for what may be a manifest."""
    completed: frozenset[str] = frozenset()
    """What the builds of a manifest fill in, such as `namespace`."""
    patched_in: tuple[str, ...] = ()
    """The kustomizations whose patches may change it."""
    is_left_out: bool = False
    """Whether it is beside a kustomization that does not list it, so that nobody applies it with others."""
    build: Build | None = None
    """What kustomize makes of it, where it is a kustomization that is built."""
    comments: bool = False
    """Whether such a kustomization may have comments that ignore findings."""
    is_built: bool = False
    """Whether it is a manifest that is judged by what is built of it."""
    unbuilt: str = ""
    """Why the build that reads it was not made, if it is a manifest that is judged without it; empty otherwise."""
    documents: Sequence[DocumentResult] = ()
    """Of such a manifest, its documents where they are known without reading it."""
    kinds: frozenset[str] | None = None
    """The kinds that are named in it; None where nobody has looked."""
    notes: tuple[Diagnostic, ...] = ()
    """What is reported of a kustomization itself."""
    may_be_built_later: bool = False
    """Whether a kustomization has not been built for a reason that may pass, such as that its build took too long."""
    by_engine: AppliedFolder = AppliedFolder()
    """How an engine applies it."""
    sync: str = ""
    """The folder with whose files an engine applies it, where no kustomization lists it; empty where none does."""

    def may_have(self, kinds: Iterable[str]) -> bool:
        """Whether documents of some kinds may be in it, as far as is known."""
        known = self.build.kinds if self.build else self.kinds
        return known is None or not known.isdisjoint(kinds)

    def applied(self, how: AppliedFolder | None, folder: str, *, decrypts: bool, is_below: bool) -> InBuild:
        """The same in a *folder* that an engine applies, or *is_below* that; *decrypts*: a generator, such as KSOPS, may decrypt files."""
        if how is None or self.is_left_out:
            return self
        is_plain = not self.completed and (how.is_recursive or not is_below)
        return replace(
            self,
            completed=self.completed | how.completed,
            by_engine=replace(how, undecrypted=None) if decrypts else how,
            sync=folder if is_plain else "",
        )
