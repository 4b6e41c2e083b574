"""Find the file and line that wrote each value of a built object."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from jobspec.apis.releases import choose
from jobspec.diagnostics.places import Mark, Marks, Path
from jobspec.documents.document import Document, ReducibleMarks
from jobspec.documents.marked_tree import each_inside
from jobspec.go.values import mapping
from jobspec.repository.setting_entries import BuiltValue, place_of_setting
from jobspec.repository.source_files import SourceFiles
from jobspec.repository.written_patches import written_patches
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape


@dataclass(frozen=True, slots=True)
class TracedMarks(ReducibleMarks):
    """Makes the marks of an object that was built: each value at its place in the patch or the base that has it there."""

    data: Any
    source: str
    kustomizations: Sequence[str]
    """Those that change the object, the outermost first."""
    files: SourceFiles
    """Reads them if a place is asked for, which few objects need: to trace every one takes longer than to judge them all."""

    def reduced_to(self, data: Any) -> TracedMarks:
        """The same for a part of the data."""
        return TracedMarks(data, self.source, self.kustomizations, self.files)

    def __call__(self) -> Marks:
        """Return the marks of the object."""
        base = written_as(self.source, self.data, self.files)
        written = [(base.data, base.marks)] if base else []
        patches = [found for path in self.kustomizations for found in _patches_in(path, self.data, self.files)]
        whole = [(value, marks) for steps, value, marks in patches if not steps]
        parts = [each for each in patches if each[0]]
        shape = shapes.load(str(self.data.get("apiVersion")), str(self.data.get("kind")), choose(()))
        return self._marks(self.data, [*whole, *written], parts, (), shape)

    def _marks(self, data: Any, sources: list[tuple[Any, Marks]], parts: list[_Part], path: Path, shape: Shape | None) -> Marks:
        if not isinstance(data, (dict, list)):
            first = reversed(sources) if path in _IDENTITY else sources
            found = next((marks for value, marks in first if value == data and type(value) is type(data)), None)
            return Marks(found.mark, found.key) if found else Marks(self._change_of(path, data), None)
        removing = _removed(data, sources, parts) if isinstance(data, dict) else {}
        sources = [each for each in sources if type(each[0]) is type(data)]
        if isinstance(data, list):  # a list that was replaced as a whole has nothing of what it replaced
            sources = sources[: next((at + 1 for at, (value, _) in enumerate(sources) if value == data), None)]
        mark, key = (sources[-1][1].mark, sources[-1][1].key) if sources else (self._change_of(path, data), None)

        def inside(step: str | int, value: Any) -> Marks:
            keys = shape.merge if shape and shape.merge else _INFERRED_KEYS
            return self._marks(value, *_below(step, value, sources, parts, data, keys), (*path, step), shape and shape.at((step,)))

        return Marks(mark, key, make=lambda: {**each_inside(data, inside), **removing} if removing else each_inside(data, inside))

    def _change_of(self, path: Path, value: Any) -> Mark:
        """The entry of a kustomization that set a value, or may have set it, or else the outermost kustomization."""
        found = place_of_setting(self.kustomizations, BuiltValue(path, value, self.data), self.files)
        return found or Mark(self.kustomizations[-1], 1, 1)


_INFERRED_KEYS = ("name",)
"""By which items of a list without merge keys are known: `AssociativeSequenceKeys`, sigs.k8s.io/kustomize/kyaml yaml."""
#: The fields by which a patch names its object, which the object itself wrote.
_IDENTITY = (("apiVersion",), ("kind",), ("metadata", "name"))
#: What stands for the value that a JSON patch removes.
_REMOVED = object()
_DELETED = {"$patch": "delete"}
#: A part of a patch: the steps down to where it applies, the value there, and its marks.
_Part = tuple[tuple[str, ...], Any, Marks]


def _below(
    step: str | int,
    value: Any,
    sources: Sequence[tuple[Any, Marks]],
    parts: Sequence[_Part],
    around: dict[str, Any] | list[Any],
    keys: Sequence[str],
) -> tuple[list[tuple[Any, Marks]], list[_Part]]:
    """The sources and the parts of patches one step further down, to a value of the mapping or list *around* it.

    *keys*: by which a patch knows the items of a list.
    """
    names = (str(step), "-") if isinstance(around, list) and step == len(around) - 1 else (str(step),)
    deeper = [(steps[1:], each, marks) for steps, each, marks in parts if steps[0] in names]
    found = [(each, marks) for steps, each, marks in deeper if not steps and each is not _REMOVED]
    for data, marks in sources:
        at = step if isinstance(data, dict) else _index_of(value, int(step), data, around, keys)
        child = None if at is None else marks.child(at)
        if child:
            found.append((data[at], child))
    return found, [each for each in deeper if each[0]]


def _removed(data: dict[str, Any], sources: Sequence[tuple[Any, Marks]], parts: Sequence[_Part]) -> dict[str, Marks]:
    """The marks of the fields that patches have removed from a mapping."""
    found = {steps[0]: marks for steps, value, marks in parts if value is _REMOVED and len(steps) == 1}
    for value, marks in sources:
        nulls = [field for field, each in value.items() if each is None or each == _DELETED] if isinstance(value, dict) else []
        found |= {field: Marks(child.mark, child.key) for field in nulls if (child := marks.child(field))}
    return {field: marks for field, marks in found.items() if field not in data}


def _index_of(item: Any, index: int, data: Sequence[Any], siblings: Collection[Any], keys: Sequence[str]) -> int | None:
    """The index in *data* of the item that is merged into an item of *siblings*."""
    same = (at for at, each in enumerate(data) if each == item)
    merged = (at for at, each in enumerate(data) if _is_same_item(each, item, keys))
    return next(same, next(merged, index if len(data) == len(siblings) else None))


def _is_same_item(one: Any, other: Any, keys: Sequence[str]) -> bool:
    """True if two items of a list have the same first key, and the same further keys where both say them."""
    if not isinstance(one, dict) or not isinstance(other, dict) or keys[0] not in one:
        return False
    return one[keys[0]] == other.get(keys[0]) and all(one.get(key, other.get(key)) == other.get(key, one.get(key)) for key in keys[1:])


def written_as(source: str, data: Any, files: SourceFiles) -> Document | None:
    """The document of a file that an object is built of; None if there is none."""
    alike = [each for each in files.documents(source) if each.kind == data.get("kind")]
    return next((each for each in alike if len(alike) == 1 or _is_of(each, data)), None)


def merged_into(data: Any, kustomizations: Iterable[str], files: SourceFiles) -> Iterator[tuple[Any, Marks]]:
    """The merge patches of kustomizations that may have changed an object, with their marks."""
    yield from ((value, marks) for path in kustomizations for steps, value, marks in _patches_in(path, data, files) if not steps)


def _is_of(document: Document, data: Any) -> bool:
    """Whether an object is built of a document: it has its kind and its name, which a prefix and a suffix may be added to."""
    return document.kind == data.get("kind") and document.name in str(mapping(data, "metadata").get("name"))


def _patches_in(path: str, data: Any, files: SourceFiles) -> Iterator[_Part]:
    """The patches of a kustomization that may have changed an object."""
    for document in files.documents(path)[:1]:
        for patch in written_patches(document, path, files, lambda entry: _targets(mapping(entry, "target"), data)):
            for one in patch.documents:
                yield from _parts_of(one, data, targeted="target" in patch.entry)


def _targets(target: dict[str, Any], data: Any) -> bool:
    """Whether the target of a patch seems to select an object, whose name may have got a prefix and a suffix since."""
    if target.get("kind", data.get("kind")) != data.get("kind"):
        return False
    try:
        return re.search(str(target.get("name", "")).strip("^$"), str(mapping(data, "metadata").get("name"))) is not None
    except re.error:
        return True


def is_patched_in(kustomizations: Iterable[str], kind: str, name: str, field: str, files: SourceFiles) -> bool:
    """Whether a patch of some kustomizations seems to set a field of an object."""
    last = field.rpartition(".")[2]
    patches = (each for path in kustomizations for each in _patches_in(path, {"kind": kind, "metadata": {"name": name}}, files))
    return any((last in steps and value is not _REMOVED) or _has_field(value, last) for steps, value, _ in patches)


def _has_field(data: Any, name: str) -> bool:
    """Whether a field is somewhere in an object."""
    if isinstance(data, dict):
        return name in data or any(_has_field(each, name) for each in data.values())
    return isinstance(data, list) and any(_has_field(each, name) for each in data)


def _parts_of(patch: Document, data: Any, *, targeted: bool) -> Iterator[_Part]:
    if isinstance(patch.data, dict) and patch.kind in ("", data.get("kind")) and (targeted or _is_of(patch, data)):
        yield (), patch.data, patch.marks
    for number, operation in enumerate(patch.data if isinstance(patch.data, list) else ()):
        is_removal = isinstance(operation, dict) and operation.get("op") == "remove"
        if isinstance(operation, dict) and ("value" in operation or is_removal):
            steps = tuple(each.replace("~1", "/").replace("~0", "~") for each in str(operation.get("path")).split("/")[1:])
            child = patch.marks.nearest((number, "path" if is_removal else "value"))
            yield steps, _REMOVED if is_removal else operation["value"], child
