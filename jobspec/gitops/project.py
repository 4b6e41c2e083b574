"""The project as its file declares it: releases, output folder, defaults, variants and engines."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.documents.marked_tree import items, with_marks
from jobspec.gitops.engines.declared import Engines
from jobspec.gitops.spelling import Spelling
from jobspec.kubernetes.problems import closest
from jobspec.targets import CHOSEN, RELEASES, known_releases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree

FILE = "jobspec.yaml"
OUTPUT = "rendered"


class Project:
    """A project whose document has passed its schema."""

    __slots__ = ("defaults", "engines", "entries", "output", "output_place", "spec", "spelled")

    def __init__(self, document: Document, text: str) -> None:
        """*text* is what the document was read from."""
        spec = with_marks(document.data, document.marks).get("spec")
        assert spec
        self.spec = spec
        self.spelled = Spelling(text)
        output = field(spec, "output")
        self.output: str = output.value if output else OUTPUT
        """Path of the rendered tree, from the folder of the project's file."""
        self.output_place = (output or spec).place()
        self.defaults = field(spec, "defaults")
        self.entries = items(spec.get("variants"))
        """The variants as they are declared, each with its matrix."""
        engines = field(spec, "engines")
        self.engines = Engines(engines) if engines else None
        """What syncs the rendered tree, None where the project says nothing of it."""

    @property
    def contracts(self) -> dict[str, MarkedTree]:
        """The paths of the contracts that the project declares, by image."""
        return dict((field(self.spec, "checks") or self.spec).entries("contracts"))

    @property
    def wishes(self) -> dict[str, str]:
        """The releases that the project asks for, by operator."""
        target = field(self.spec, "target")
        return target.data() if target else {}

    def wrong_releases(self) -> Iterator[Diagnostic]:
        """An error for each operator and release that jobspec does not know."""
        for operator, release in self.spec.entries("target"):
            if operator not in CHOSEN:
                hint = closest(operator, CHOSEN) or f"write one of {', '.join(CHOSEN)}"
                yield Diagnostic("unknown-release", f"there is no operator `{operator}`", release.key or release.mark, hint=hint)
            elif not known_releases(operator, release.value):
                message = f"jobspec does not know {operator} {release.value}"
                yield Diagnostic("unknown-release", message, release.mark, hint=f"the known releases are {', '.join(RELEASES[operator])}")


def field(tree: MarkedTree | None, name: str) -> MarkedTree | None:
    """The value of a field, None where it is absent or null."""
    child = tree.get(name) if tree else None
    return child if child and child.value is not None else None
