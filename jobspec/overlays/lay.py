"""Lay overlays on jobs.

The laws, each a property test: laying nothing changes nothing; `[a, b]` at once equals `a`, then `b`; twice equals once;
overlays that do not conflict commute.
"""

from __future__ import annotations

from jobspec import workloads
from jobspec.diagnostics import Diagnostic
from jobspec.documents.document import Document
from jobspec.overlays.companions import companions
from jobspec.overlays.laying import Laying
from jobspec.overlays.sharing import not_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobspec.overlays.layer import Layer
    from jobspec.overlays.tree import Tree
    from jobspec.targets import Target


class Variant:
    """The documents of a file, the overlays on its jobs, and what comes of both."""

    __slots__ = ("_result", "base", "layers")

    def __init__(self, base: Sequence[Document], layers: Sequence[Layer], result: Sequence[Document]) -> None:
        self.base = base
        self.layers = layers
        self._result = result

    def documents(self) -> list[Document]:
        """The documents in the file's order, then companions."""
        return list(self._result)


def start(documents: Iterable[Document]) -> Variant:
    """The documents before anything is laid on them."""
    base = list(documents)
    return Variant(base, (), base)


def lay(variant: Variant, layers: Iterable[Layer], target: Target) -> tuple[Variant, list[Diagnostic]]:
    """The variant with further overlays laid on every job of it, in order, and everything that stands in their way."""
    layers = (*variant.layers, *layers)
    problems = list(_excluded(layers))
    result = []
    layings = []
    namespaces: dict[str, Tree | None] = {}
    for document in variant.base:
        if layers and workloads.is_workload(document):
            laying = Laying(document, variant.base, target)
            laying.lay(layers)
            problems += laying.problems
            layings.append(laying)
            result.append(Document(laying.tree.data(), laying.tree.marks, file=document.file, index=document.index))
            namespaces.setdefault(result[-1].namespace, laying.tree.get("metadata", "namespace"))
        else:
            result.append(document)
    added, found = companions(layers, list(namespaces.values()))
    if namespaces:
        problems += found
        problems += not_shared(layings, result, added)
        for number, companion in enumerate(added, result[-1].index + 1):
            result.append(Document(companion.data(), companion.marks, file=result[0].file, index=number))
    return Variant(variant.base, layers, result), _each_once(problems)


def _excluded(layers: Sequence[Layer]) -> Iterator[Diagnostic]:
    """Overlays that name each other, or one the other, in `conflicts`."""
    for number, layer in enumerate(layers):
        for other in layers[:number]:
            named = [name for one, another in ((layer, other), (other, layer)) for name in one.conflicts() if name.value == another.name]
            if named and layer.name != other.name:
                message = f"`{layer.name}` and `{other.name}` exclude each other"
                yield Diagnostic("overlay-conflict", message, named[0].mark, hint="lay one of them only")


def _each_once(problems: list[Diagnostic]) -> list[Diagnostic]:
    """One mistake of an overlay is one diagnostic, however many roles and jobs it is laid on."""
    return list({(each.rule, str(each.mark)): each for each in reversed(problems)}.values())[::-1]
