"""Find the jobs that are variants of one base: the same but for names, namespaces, overlays, flags, labels and annotations.

The base of such a group is that of its first job. What another job has in another way, its variant says; whether that renders to the
job again is for the proof to tell.
"""

from __future__ import annotations

from jobspec.diagnostics import Mark
from jobspec.documents.document import marks_at
from jobspec.documents.marked_tree import items, with_marks
from jobspec.documents.text_edits import Uncuttable
from jobspec.gitops.importing.imports import Import, documents_in, job_in, without_keys
from jobspec.overlays.flags import read_flags
from jobspec.workloads import KINDS, is_workload, value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.targets import Target

_OWN = ("name", "namespace", "labels", "annotations")


def groups(imports: Sequence[Import], target: Target) -> list[list[Import]]:
    """The imports by the base that they can share, each group in order."""
    found: dict[str, list[Import]] = {}
    for number, each in enumerate(imports):
        key = str(number) if each.original.is_fixed else _skeleton(each, target)
        found.setdefault(key, []).append(each)
    return list(found.values())


def on_one_base(group: Sequence[Import], target: Target) -> list[Import]:
    """The imports of a group with one base; as they are where that cannot be cut as they need it."""
    jobs = [job_in(each.text, target) for each in group]
    text = group[0].text
    own: dict[str, list[dict[str, str]]] = {}
    for field in ("labels", "annotations"):
        said = [value_at(job.data, ("metadata", field)) or {} for job in jobs]
        common = {key: value for key, value in said[0].items() if all(each.get(key) == value for each in said)}
        own[field] = [{key: value for key, value in each.items() if key not in common} for each in said]
        try:
            text = without_keys(text, field, [key for key in said[0] if key not in common], target)
        except Uncuttable:
            return list(group)
    first = dict(_flags(jobs[0]))
    return [
        Import(
            each.original,
            text,
            each.uses,
            each.namespace,
            flags=_changed(first, dict(_flags(job))),
            labels=own["labels"][number],
            annotations=own["annotations"][number],
        )
        for number, (each, job) in enumerate(zip(group, jobs, strict=True))
    ]


def _skeleton(each: Import, target: Target) -> str:
    """What jobs of one base have in common, as text: everything but metadata of their own, and flags."""
    from json import dumps

    documents = documents_in(each.text, target)
    job = next(filter(is_workload, documents))
    metadata = {name: value for name, value in (job.data.get("metadata") or {}).items() if name not in _OWN}
    data = {**job.data, "metadata": metadata}
    others = [other.data for other in documents if not is_workload(other)]
    return dumps([_without_flags(data, job), others], sort_keys=True)


def _containers(job: Document) -> Iterator[Any]:
    """The containers of a job that run its training program."""
    for role in KINDS[job.api_version, job.kind]:
        found = value_at(job.data, (*role.path, "spec", "containers")) if role.path else [value_at(job.data, ("spec", "trainer"))]
        for container in found if isinstance(found, list) else ():
            if isinstance(container, dict) and (not role.path or container.get("name") == role.container):
                yield container


def _without_flags(data: Any, job: Document) -> Any:
    """The data with the words of each training container in place of its arguments, flags left out."""
    containers = [id(each) for each in _containers(job)]
    if isinstance(data, list):
        return [_without_flags(each, job) for each in data]
    if not isinstance(data, dict):
        return data
    inside = {key: _without_flags(value, job) for key, value in data.items()}
    if id(data) not in containers:
        return inside
    words = [[value for flag, value in _words(data.get(name)) if not flag] for name in ("command", "args")]
    return {**{key: value for key, value in inside.items() if key not in ("command", "args")}, "words": words}


def _flags(job: Document) -> Iterator[tuple[str, str | bool]]:
    """The flags of a job's training program with their values."""
    for container in _containers(job):
        for name in ("command", "args"):
            yield from (each for each in _words(container.get(name)) if each[0])


def _changed(first: dict[str, str | bool], other: dict[str, str | bool]) -> dict[str, str | bool | None]:
    """The flags to set, or to remove, where a program has them in another way than the base's."""
    changed: dict[str, str | bool | None] = {flag: value for flag, value in other.items() if first.get(flag) != value}
    return {**changed, **{flag: None for flag in first if flag not in other}}


def _words(words: Any) -> list[tuple[str, str | bool]]:
    """A command line: each flag with its value, True for a bare one; other words with an empty flag."""
    tree = with_marks(words, marks_at(words, Mark("")))
    return [(flag, value.value if value.value is True else str(value.value)) for flag, value in read_flags(items(tree))]
