"""Files that refer to objects in other given files: check them once more, with these at hand."""

from __future__ import annotations

from jobspec.judge import name_of
from jobspec.manifests import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobspec.admission.webhooks import Name
    from jobspec.documents.document import Document
    from jobspec.documents.files import Found
    from jobspec.judge import World
    from jobspec.manifests import Checked
    from jobspec.targets import Target


def check_again(
    found: Sequence[Found],
    checked: Sequence[Checked],
    target: Target,
    world: World,
    run: Callable[[list[tuple[Found, World]]], list[Checked]],
) -> list[Checked]:
    """What is said to files once everything that they refer to, and that the others hold, is at hand.

    An object that is at hand may refer to further ones, so it takes as many rounds as there is something new.
    """
    results = list(checked)
    shelf = _Shelf(found, checked, target)
    given: dict[int, list[Document]] = {}
    while True:
        new = {number: shelf.find(each.wanted, number, given.get(number, [])) for number, each in enumerate(results) if each.wanted}
        new = {number: documents for number, documents in new.items() if documents}
        if not new:
            return results
        for number, documents in new.items():
            given[number] = [*given.get(number, []), *documents]
        answers = run([(found[number], world.with_given(given[number])) for number in new])
        for number, answer in zip(new, answers, strict=True):
            results[number] = answer


class _Shelf:
    """The objects of all files that others can refer to; a file is read again only when one of its objects is asked for."""

    def __init__(self, found: Sequence[Found], checked: Sequence[Checked], target: Target) -> None:
        self.found = found
        self.target = target
        self.holders: dict[Name, list[int]] = {}
        for number, each in enumerate(checked):
            for name in each.offered:
                self.holders.setdefault(name, []).append(number)
        self.read: dict[int, list[Document]] = {}

    def find(self, names: Sequence[Name], asking: int, known: Sequence[Document]) -> list[Document]:
        """The objects of these names in files other than the *asking* one, without the *known* ones."""
        found = [each for name in names for holder in self.holders.get(name, ()) if holder != asking for each in self._in(holder, name)]
        return [each for each in found if not any(each is other for other in known)]

    def _in(self, number: int, name: Name) -> list[Document]:
        if number not in self.read:
            self.read[number] = load(self.found[number], self.target)[0]
        return [each for each in self.read[number] if name_of(each) == name]
