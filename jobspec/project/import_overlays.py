"""Find the shipped overlays that set a part of a job: that part is cut out of its base, and the overlays set it again.

An overlay is tried on the job as it is, which it must not change; then each value that it sets is cut out, one by one, as long as the
overlays still make the same job of what is left. So nothing is explained that does not render again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from typing import Any

from jobspec.apis.kinds import RUNTIMES
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import has_error
from jobspec.diagnostics.grouping import grouped
from jobspec.diagnostics.places import Marks, Path
from jobspec.diagnostics.wording import as_text
from jobspec.documents.comments import comments_of, has_alias
from jobspec.documents.decoding import is_json
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree
from jobspec.documents.streams import cut
from jobspec.documents.text_edits import Uncuttable, without
from jobspec.journey import rendering
from jobspec.journey.reading import read
from jobspec.journey.steps import Source
from jobspec.operators.accelerators import is_accelerator
from jobspec.operators.trainer.runtimes import RuntimeReference, is_meant
from jobspec.operators.training_roles import job_among
from jobspec.overlays.apply import apply
from jobspec.overlays.load import LoadedOverlay, ParameterValue, load, parameter_values, pieces, shipped, shipped_file
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

#: Values by parameter, each as its text; a parameter that is not in it has its default.
Guess = Mapping[str, str]
#: Paths to cut one after the other: those of a flag and its value, or of one value.
Cuts = Sequence[Path]


@dataclass(frozen=True, slots=True)
class Use:
    """An overlay of a variant, with the values of its parameters."""

    name: str
    values: Mapping[str, str]


def shipped_overlays(target: Target) -> dict[str, LoadedOverlay]:
    """Load the overlays that come with jobspec, by name in order, without parameter values."""
    return {name: load([shipped_file(name)], [], target)[0][0] for name in shipped()}


def explain(original: Original, overlays: Mapping[str, LoadedOverlay], target: Target) -> tuple[str, list[Use]]:
    """Return the smallest base from which *overlays* make an original, and the used overlays.

    Each overlay is tried once, in order.
    """
    best: str = original.text
    uses: list[Use] = []
    if original.is_fixed:
        return best, uses
    trials = _Trials(original, target)
    applied: list[LoadedOverlay] = []
    for name, overlay in overlays.items():
        if _is_for_another(overlay, overlays, original.job):
            continue
        found = [trials.explained(best, applied, overlay, guess) for guess in trials.guesses(overlay, best, applied)]
        less = min((each for each in found if each), key=lambda each: len(each[0]), default=None)
        if less and len(less[0]) < len(best):
            best, guess, with_values = less
            uses.append(Use(name, guess))
            applied.append(with_values)
    return best, uses


def _is_for_another(overlay: LoadedOverlay, overlays: Mapping[str, LoadedOverlay], job: Document) -> bool:
    """True if a job has a field or flag of an overlay that this one excludes.

    For example, `cpu` does not make a job with GPUs.
    """
    excluded = [overlays[name.value] for name in overlay.conflicts() if name.value in overlays]
    only = {key for each in excluded for key in set_keys(each)} - set_keys(overlay) - {"name"}
    flags = {(flag, value) for each in excluded for flag, value in flags_set_by(each)}
    found = set(scalars_in(job.data))
    keys = {key for key, _ in found}
    has_devices = bool(only) and any(is_accelerator(str(key)) for key in keys)
    return bool(only & keys or flags & found or has_devices)


class _Trials:
    """Applies overlays to texts, and compares with the original."""

    def __init__(self, original: Original, target: Target) -> None:
        self._original = original
        self._target = target
        self._read = cache(lambda text: read(Source(original.file, text), target))
        """The manifests of a text, which is read once, however many overlays are tried on it."""

    def guesses(self, overlay: LoadedOverlay, text: str, applied: Sequence[LoadedOverlay]) -> Iterator[Guess]:
        """Yield values of an overlay's parameters that leave the original as it is.

        The values of its companions' parameters come second.
        """
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

    def _with(self, overlay: LoadedOverlay, guess: Guess) -> list[LoadedOverlay]:
        """The overlay with values for its parameters; none where it does not take one of them."""
        given = {name: ParameterValue(overlay.name, name, text, "") for name, text in guess.items()}
        values, problems = parameter_values(overlay.name, overlay.spec.get("parameters"), given)
        return [] if problems else [LoadedOverlay(overlay.tree, values)]

    def _applied(self, text: str, overlays: Sequence[LoadedOverlay]) -> list[Document]:
        """The documents of a text with overlays applied; none where something is wrong with either."""
        manifests = self._read(text)
        if manifests.diagnostics or not job_among(manifests.documents):
            return []
        found = apply(manifests.documents, overlays, self._target)
        return [] if has_error(found.diagnostics) else found.documents

    def _makes(self, text: str, overlays: Sequence[LoadedOverlay]) -> bool:
        return same_objects(self._applied(text, overlays), self._original.documents)

    def explained(
        self, text: str, applied: Sequence[LoadedOverlay], overlay: LoadedOverlay, guess: Guess
    ) -> tuple[str, Guess, LoadedOverlay] | None:
        """Return the text without what an overlay with these values sets.

        If the overlay does not accept the values, return None.
        """
        for with_values in self._with(overlay, guess):
            overlays = [*applied, with_values]
            for cuts in self._candidates(text, overlays, with_values):
                shorter = self._cut(text, cuts)
                if shorter != text and self._makes(shorter, overlays):
                    text = shorter
            return self._without_companions(text, overlays, overlay.name), guess, with_values
        return None

    def _candidates(self, text: str, overlays: Sequence[LoadedOverlay], overlay: LoadedOverlay) -> list[Cuts]:
        """Return the candidates for cuts, from the end of the job to its beginning.

        So earlier paths stay valid.
        """
        job = job_among(self._applied(text, overlays))
        assert job
        shape = shapes.load(job.api_version, job.kind, self._target)
        paths = layered(job.marks, overlay.name, shape)
        values = [[path] for path in paths if {"command", "args"}.isdisjoint(map(str, path[-2:]))]  # of arguments, words are cut
        return [*flag_words(job.data, overlay), *values][::-1]

    def _cut(self, text: str, cuts: Cuts) -> str:
        """Cut some values of the job out of the text.

        If they are written in a form that cannot be cut, the text is unchanged.
        """
        shorter = text
        for path in cuts:
            job = job_among(self._read(shorter).documents)
            if not job or not exists(job.marks, path):
                return text
            try:
                shorter = without(shorter, job.marks, path)
            except Uncuttable:
                return text
        return shorter

    def _without_companions(self, text: str, overlays: Sequence[LoadedOverlay], name: str) -> str:
        """Remove the documents that an overlay adds from the text.

        Each must have a part of the text to itself.
        """
        added = {each.kind for each in self._applied(text, overlays) if each.marks.mark.layer == name}
        kept = [part for part, _ in cut(text)]
        for part in kept[::-1] if added else ():
            inside = self._read(part).documents
            rest = [each for each in kept if each is not part]
            if len(inside) == 1 and inside[0].kind in added and self._makes("".join(rest), overlays):
                kept = rest
        return "".join(kept)


# The values that an overlay's parameters may have had, by what a job has in the places where the overlay puts them.


_MOST = 256  # guesses for one overlay; beyond, the values are too many for the job to distinguish them


def guesses(parameters: MarkedTree | None, tree: MarkedTree, manifests: Iterable[Any]) -> list[Guess]:
    """Guess values of the parameters that a part of an overlay uses.

    The guess that sets the fewest parameters comes first.
    """
    found = [each for manifest in manifests for each in scalars_in(manifest)]
    used = _places(tree)
    names = [name for name in (parameters.value if parameters else {}) if name in used]
    choices = [[None, *_choices(parameters.value[name], used[name], found)] for name in names] if parameters else []
    every = islice(product(*choices), _MOST)
    said = [{name: value for name, value in zip(names, each, strict=True) if value is not None} for each in every]
    return sorted(said, key=len)


def _choices(declaration: MarkedTree, keys: set[str], found: list[tuple[str, str]]) -> list[str]:
    """Return the values of a parameter that the job suggests.

    Such a value is under every key under which the overlay writes it.
    """
    enum, kind, default = (declaration.get(name) for name in ("enum", "type", "default"))
    if enum:
        choices = enum.data()
    elif kind and kind.value == "boolean":
        choices = ["false", "true"]
    else:
        choices = [value for value in dict.fromkeys(value for _, value in found) if all((key, value) in found for key in keys)]
    return [each for each in choices if not default or each != as_text(default.value)]


def _places(tree: MarkedTree, key: str = "") -> dict[str, set[str]]:
    """By parameter, the keys under which an overlay puts its value."""
    found: dict[str, set[str]] = {}
    value = tree.value
    if isinstance(value, str) and "${" in value:
        for name in (piece for piece, is_name in pieces(value) if is_name):
            found.setdefault(name, set()).add(key)
    children = list(value.items()) if isinstance(value, dict) else [(key, each) for each in value] if isinstance(value, list) else []
    for step, child in children:
        inside = {name: set[str]() for name in child.value} if step == "$when" else _places(child, step)
        for name, keys in inside.items():
            found.setdefault(name, set()).update(keys)
    return found


def scalars_in(data: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield each scalar of a manifest as text, with its key or the flag before it."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from scalars_in(value, name)
    elif isinstance(data, list):
        for before, value in zip(["", *data], data, strict=False):
            yield from scalars_in(value, key)
            if isinstance(value, str):
                flag, equals, said = value.partition("=")
                yield from [(flag, said)] if equals else []
                yield from [(before, value)] if isinstance(before, str) and before.startswith("-") else []
    elif data is not None:
        yield key, as_text(data)


# The traces of an overlay in a job: the values that it sets, and the words of its flags.


def set_keys(overlay: LoadedOverlay) -> set[str]:
    """Return the keys under which an overlay sets a value in pods, whatever its parameters are.

    Keys of parameters that may be unset are left out.
    """
    parameters = overlay.spec.get("parameters")
    optional = {f"${{{name}}}" for name, each in (parameters.data() if parameters else {}).items() if each.get("optional")}
    pods = overlay.spec.get("pods")
    return {key for entry in (pods.data() if pods else ()) for key, value in _leaves(entry.get("template")) if value not in optional}


def flags_set_by(overlay: LoadedOverlay) -> list[tuple[str, Any]]:
    """Return the flags that an overlay sets in pods, with their values."""
    pods = overlay.spec.get("pods")
    return [each for entry in (pods.data() if pods else ()) for each in (entry.get("flags") or {}).items()]


def _leaves(data: Any) -> Iterator[tuple[str, Any]]:
    """The scalars of mappings in a value, with their keys."""
    for key, value in data.items() if isinstance(data, dict) else ():
        yield from _leaves(value) if isinstance(value, (dict, list)) else [(key, value)]
    for value in data if isinstance(data, list) else ():
        yield from _leaves(value)


def exists(marks: Marks, path: Path) -> bool:
    """True if there is a value at a path."""
    here: Marks | None = marks
    for step in path:
        here = here.child(step) if here else None
    return here is not None


def layered(marks: Marks, layer: str, shape: Shape | None, path: Path = (), *, keys: Sequence[str] = ()) -> list[Path]:
    """Return the paths of the values that an overlay set.

    If all of a mapping or list was set, except for *keys* that find an item, its own path is returned.
    """
    children = marks.children
    if children is None:
        return [path] if marks.mark.layer == layer else []
    steps: list[tuple[str | int, Marks]] = list(children.items() if isinstance(children, dict) else enumerate(children))
    inside = shape.merge if shape and isinstance(children, list) else ()
    found = {step: layered(child, layer, shape and shape.at((step,)), (*path, step), keys=inside) for step, child in steps}
    others = {step: inner for step, inner in found.items() if inner or step not in keys}
    if others and all(inner == [(*path, step)] for step, inner in others.items()):
        return [path]
    return [each for inner in found.values() for each in inner]


def flag_words(job: Any, overlay: LoadedOverlay) -> Iterator[Cuts]:
    """Yield the words of each flag that an overlay sets: `--flag value` or `--flag=value`.

    Every list of arguments is searched. If a list holds no other words, the whole list is yielded last.
    """
    flags = {flag for flag, _ in flags_set_by(overlay)}
    for path, words in _arguments(job, ()):
        found = list(_flags_in(words, flags))
        yield from ([(*path, index) for index in indices] for indices in found)
        if words and sum(map(len, found)) == len(words):
            yield [path]


def _flags_in(words: list[Any], flags: Collection[str]) -> Iterator[list[int]]:
    """Yield the indices of the words of each flag in a list of arguments, the last first."""
    for index, word in enumerate(words):
        if word in flags and index + 1 < len(words):
            yield [index + 1, index]
        elif isinstance(word, str) and word.partition("=")[0] in flags:
            yield [index]


def _arguments(data: Any, path: Path) -> Iterator[tuple[Path, list[Any]]]:
    """The lists of arguments in a job, with their paths."""
    for key, value in data.items() if isinstance(data, dict) else ():
        if key in ("command", "args") and isinstance(value, list):
            yield (*path, key), value
        else:
            yield from _arguments(value, (*path, key))
    for index, value in enumerate(data) if isinstance(data, list) else ():
        yield from _arguments(value, (*path, index))


# Whether objects are the same as data: `1`, `1.0`, `"1"` and `true` are four values.


def difference(one: Any, other: Any, path: Path = ()) -> Path | None:
    """Return the path of the first value in which two data differ; None if they are equal."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in [*one, *(each for each in other if each not in one)]:
            if name not in one or name not in other:
                return (*path, name)
            if (found := difference(one[name], other[name], (*path, name))) is not None:
                return found
        return None
    if isinstance(one, list) and isinstance(other, list):
        for index, pair in enumerate(zip(one, other, strict=False)):
            if (found := difference(*pair, (*path, index))) is not None:
                return found
        return None if len(one) == len(other) else path
    return None if type(one) is type(other) and one == other else path


def same_objects(some: Iterable[Document], others: Iterable[Document]) -> bool:
    """True if documents are the same objects, in any order.

    If an object is repeated, all of its documents must be equal.
    """
    first, second = grouped(some, object_key), grouped(others, object_key)
    return first.keys() == second.keys() and all(
        difference(each.data, second[key][0].data) is None for key, several in first.items() for each in (*several, *second[key][1:])
    )


def object_key(document: Document) -> tuple[str, ...]:
    """Return the identity of an object: version, kind, namespace and name."""
    return document.api_version, document.kind, document.namespace, document.name


# The training jobs of a manifest file, each with the text and the companions that become its base.


class Original:
    """A training job before it becomes a variant, with the objects that belong to it."""

    def __init__(self, file: str, job: Document, documents: Sequence[Document], text: str, unwritten: Sequence[str] = ()) -> None:
        self.file = file
        self.documents = documents
        """What the variant has to render to."""
        self.job = job
        self.text = text
        """YAML of these documents, with the file's own bytes where it is YAML in which each job has its own part."""
        self.is_fixed = "\r" in text or has_alias(text)
        """Whether nothing can be cut out of the text: an alias stands for a value in another place."""
        self.unwritten = unwritten
        """The comments of the file that the text does not have."""


def originals(file: str, text: str, documents: Sequence[Document], target: Target, *, jobs: Sequence[Document]) -> list[Original]:
    """Return the *jobs* among the *documents* of a file's *text*.

    A companion stays beside the first job; a runtime goes with each job that names it, since a job cannot be checked without.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if not jobs:
        return []
    parts = _parts(jobs, documents)
    if is_json(text):
        return _with_texts(file, jobs, parts, target)
    if len(jobs) == 1:
        return [Original(file, jobs[0], documents, text)]
    pieces = _pieces_of(file, text, documents, target)
    if not pieces:
        return _with_texts(file, jobs, parts, target, comments_of(text))
    texts = ["".join(pieces[id(each)] for each in part).removeprefix("---\n") for part in parts]
    return [Original(file, job, part, own) for job, part, own in zip(jobs, parts, texts, strict=True)]


def _with_texts(
    file: str, jobs: Sequence[Document], parts: Sequence[Sequence[Document]], target: Target, comments: Sequence[str] = ()
) -> list[Original]:
    """Return originals with a text of their own. The first keeps the *comments* of the file."""
    texts = [rendering.text_of(part, target) for part in parts]
    made = enumerate(zip(jobs, parts, texts, strict=True))
    return [Original(file, job, part, text, () if number else comments) for number, (job, part, text) in made]


def _parts(jobs: Sequence[Document], documents: Sequence[Document]) -> list[list[Document]]:
    """For each job, itself and the companions that go with it, in the order of the file."""
    named = {
        id(job): [each for each in documents if each.group_kind in RUNTIMES and is_meant(RuntimeReference(job.data), job, each)]
        for job in jobs
    }
    runtimes = {id(each) for found in named.values() for each in found}
    others = [each for each in documents if not any(each is job for job in jobs) and id(each) not in runtimes]
    belonging = [[job, *named[id(job)], *(others if job is jobs[0] else ())] for job in jobs]
    return [[each for each in documents if any(each is other for other in part)] for part in belonging]


def _pieces_of(file: str, text: str, documents: Sequence[Document], target: Target) -> dict[int, str]:
    """Return the part of the text of each document, by the document's id.

    If several documents share a part, return none.
    """
    found: dict[int, str] = {}
    before = ""
    left = list(documents)
    for piece, _ in cut(text):
        inside = read(Source(file, piece), target).documents
        if not inside:
            before += piece
            continue
        if len(inside) > 1 or inside[0].is_item or not left:
            return {}
        found[id(left.pop(0))] = before + piece
        before = ""
    if left or not found:
        return {}
    last = list(found)[-1]
    return {**found, last: found[last] + before}
