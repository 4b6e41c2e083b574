"""Find the shipped overlays that explain a part of a job: what they would set is cut out of its base, and they set it again.

An overlay is tried on the job as it is, which it must not change; then each value that it sets is cut out, one by one, as long as the
overlays still make the same job of what is left. So nothing is explained that does not render again.
"""

from __future__ import annotations

from jobspec import pipeline
from jobspec.diagnostics import has_error
from jobspec.documents.syntax import cut
from jobspec.documents.text_edits import Uncuttable, without
from jobspec.gitops.importing.equality import same_objects
from jobspec.gitops.importing.guesses import guesses, scalars_in
from jobspec.gitops.importing.traces import flag_words, flags_set_by, is_argument, layered, set_keys, stands
from jobspec.overlays.apply import apply
from jobspec.overlays.load import load, shipped, shipped_file
from jobspec.overlays.overlay import Overlay
from jobspec.overlays.parameters import Given, parameter_values
from jobspec.schemas import shapes
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.documents.document import Document
    from jobspec.gitops.importing.guesses import Guess
    from jobspec.gitops.importing.originals import Original
    from jobspec.gitops.importing.traces import Cuts
    from jobspec.pipeline import Manifests
    from jobspec.targets import Target


class Use:
    """An overlay as a variant names it, with the values that it gives to its parameters."""

    __slots__ = ("name", "values")

    def __init__(self, name: str, values: Mapping[str, str]) -> None:
        self.name = name
        self.values = values


class Explained:
    """What is left of a job's text, and the overlays that make the job of it."""

    __slots__ = ("text", "uses")

    def __init__(self, text: str, uses: Sequence[Use]) -> None:
        self.text = text
        self.uses = uses


def shipped_overlays(target: Target) -> dict[str, Overlay]:
    """The overlays that come with jobspec by name, in the order of the names, without values for their parameters."""
    return {name: load([shipped_file(name)], [], target)[0][0] for name in shipped()}


def explain(original: Original, overlays: Mapping[str, Overlay], target: Target) -> Explained:
    """The smallest base that *overlays* make an original of, each tried once, in their order."""
    best = Explained(original.text, ())
    if original.is_fixed:
        return best
    worker = _Worker(original, target)
    applied: list[Overlay] = []
    for name, overlay in overlays.items():
        if _is_for_another(overlay, overlays, original.job):
            continue
        found = [worker.explained(best.text, applied, overlay, guess) for guess in worker.guesses(overlay, best.text, applied)]
        less = min((each for each in found if each), key=lambda each: len(each[0]), default=None)
        if less and len(less[0]) < len(best.text):
            text, guess, with_values = less
            best = Explained(text, [*best.uses, Use(name, guess)])
            applied = [*applied, with_values]
    return best


def _is_for_another(overlay: Overlay, overlays: Mapping[str, Overlay], job: Document) -> bool:
    """Whether a job has a field or flag of an overlay that this one excludes: a job with GPUs is not made by `cpu`."""
    excluded = [overlays[name.value] for name in overlay.conflicts() if name.value in overlays]
    only = {key for each in excluded for key in set_keys(each)} - set_keys(overlay) - {"name"}
    flags = {(flag, value) for each in excluded for flag, value in flags_set_by(each)}
    found = set(scalars_in(job.data))
    return bool(only & {key for key, _ in found} or flags & found)


class _Worker:
    """Applies overlays to texts, and compares with the original."""

    __slots__ = ("_known", "_original", "_target")

    def __init__(self, original: Original, target: Target) -> None:
        self._original = original
        self._target = target
        self._known: dict[str, Manifests] = {}

    def _read(self, text: str) -> Manifests:
        """The manifests of a text, which is read once, however many overlays are tried on it."""
        if text not in self._known:
            self._known[text] = pipeline.read(pipeline.Source(self._original.file, text), self._target)
        return self._known[text]

    def guesses(self, overlay: Overlay, text: str, applied: Sequence[Overlay]) -> Iterator[Guess]:
        """The values of an overlay's parameters with which it leaves the original as it is; those of its companions come second."""
        spec, manifests = overlay.spec, [each.data for each in self._original.documents]
        parameters, resources = spec.get("parameters"), spec.get("resources")
        in_job = spec.with_value({name: part for name, part in spec.value.items() if name in ("pods", "job")})
        for guess in guesses(parameters, in_job, manifests):
            if not self._makes(text, [*applied, *self._with(overlay, guess)]):
                continue
            yield guess
            for more in guesses(parameters, resources, manifests) if resources else ():
                if not more.keys() & guess.keys() and self._makes(text, [*applied, *self._with(overlay, {**guess, **more})]):
                    yield {**guess, **more}

    def _with(self, overlay: Overlay, guess: Guess) -> list[Overlay]:
        """The overlay with values for its parameters; none where it does not take one of them."""
        given = {name: Given(overlay.name, name, text, "") for name, text in guess.items()}
        values, problems = parameter_values(overlay.name, overlay.spec.get("parameters"), given)
        return [] if problems else [Overlay(overlay.tree, values)]

    def _applied(self, text: str, overlays: Sequence[Overlay]) -> list[Document]:
        """The documents of a text with overlays applied; none where something is wrong with either."""
        manifests = self._read(text)
        if manifests.diagnostics or not any(map(is_workload, manifests.documents)):
            return []
        found = apply(manifests.documents, overlays, self._target)
        return [] if has_error(found.diagnostics) else found.documents

    def _makes(self, text: str, overlays: Sequence[Overlay]) -> bool:
        return same_objects(self._applied(text, overlays), self._original.documents)

    def explained(self, text: str, applied: Sequence[Overlay], overlay: Overlay, guess: Guess) -> tuple[str, Guess, Overlay] | None:
        """The text without what an overlay with these values sets; None where the overlay does not take them."""
        for with_values in self._with(overlay, guess):
            overlays = [*applied, with_values]
            for cuts in self._candidates(text, overlays, with_values):
                shorter = self._cut(text, cuts)
                if shorter != text and self._makes(shorter, overlays):
                    text = shorter
            return self._without_companions(text, overlays, overlay.name), guess, with_values
        return None

    def _candidates(self, text: str, overlays: Sequence[Overlay], overlay: Overlay) -> list[Cuts]:
        """What may be cut, from the end of the job to its beginning, so that earlier paths stay what they are."""
        job = next(filter(is_workload, self._applied(text, overlays)))
        shape = shapes.load(job.api_version, job.kind, self._target)
        values = [[path] for path in layered(job.marks, overlay.name, shape) if not is_argument(path)]
        return [*flag_words(job.data, overlay), *values][::-1]

    def _cut(self, text: str, cuts: Cuts) -> str:
        """The text without some values of its job; the text itself where it is written in a form that cannot be cut."""
        shorter = text
        for path in cuts:
            marks = next(filter(is_workload, self._read(shorter).documents)).marks
            if not stands(marks, path):
                return text
            try:
                shorter = without(shorter, marks, path)
            except Uncuttable:
                return text
        return shorter

    def _without_companions(self, text: str, overlays: Sequence[Overlay], name: str) -> str:
        """The text without the documents that an overlay adds, where each has a part of the text to itself."""
        added = {each.kind for each in self._applied(text, overlays) if each.marks.mark.layer == name}
        kept = [part for part, _ in cut(text)]
        for part in kept[::-1] if added else ():
            inside = self._read(part).documents
            rest = [each for each in kept if each is not part]
            if len(inside) == 1 and inside[0].kind in added and self._makes("".join(rest), overlays):
                kept = rest
        return "".join(kept)
