"""Documents that select pods by their labels, such as Services and NetworkPolicies, looked up by these labels."""

from __future__ import annotations

from jobspec.diagnostics.places import Path, value_at
from jobspec.documents.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Selectors:
    """The documents of a kind in a namespace, by the labels for which they look at pods."""

    __slots__ = ("_by_label", "_documents")

    def __init__(self, documents: Sequence[Document], path: Path) -> None:
        """*path*: where their labels stand."""
        self._documents = documents
        self._by_label: dict[tuple[str, str] | None, list[int]] = {}
        for number, document in enumerate(documents):
            labels = value_at(document.data, path)
            for label in labels.items() if isinstance(labels, dict) and labels else [None]:
                if label is None or isinstance(label[1], str):
                    self._by_label.setdefault(label, []).append(number)

    def with_label(self, name: str, value: str) -> Document | None:
        """The first that looks for a label, None where none does."""
        numbers = self._by_label.get((name, value))
        return self._documents[numbers[0]] if numbers else None

    def of(self, labels: Mapping[str, str]) -> list[Document]:
        """Those that may select these labels: they look for one of them, or for none by its value."""
        numbers = {number for label in (None, *labels.items()) for number in self._by_label.get(label, ())}
        return [self._documents[number] for number in sorted(numbers)]
