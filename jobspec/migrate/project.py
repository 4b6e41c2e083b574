"""A project migrated as a whole: its bases change, its overlays stay, and what is told comes from the pods of its variants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobspec import pipeline
from jobspec.cluster import Cluster
from jobspec.diagnostics import Diagnostic
from jobspec.documents.document import Document
from jobspec.documents.reader import decode
from jobspec.migrate.files import File, MigratedFile, to_release, to_trainjobs
from jobspec.migrate.jobs import cannot, meaning_in, report_of
from jobspec.migrate.pods import compared, job_facts
from jobspec.pipeline import Source
from jobspec.project.project import Project, Sources
from jobspec.project.rendering import objects_of
from jobspec.project.tree import Whole, whole
from jobspec.project.variants import Variant, variants_of
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.project.project import ReadFile


@dataclass(frozen=True, slots=True)
class MigratedProject:
    """What becomes of a project: its files, what was wrong with it before, and what its variants have lost."""

    files: Sequence[MigratedFile] = ()
    told: Sequence[Diagnostic] = ()
    wrong: Sequence[Diagnostic] = ()


class _Reader:
    """Reads the files of a project, some of which have another text now."""

    def __init__(self, read: ReadFile, texts: Mapping[str, str]) -> None:
        self._read = read
        self._texts = texts
        self.sources: dict[str, Source] = {}
        """What was read, by the names that diagnostics show."""

    def read(self, path: str) -> Source:
        """A file by its path from the project's folder. Raises Unreadable."""
        source = self._read(path)
        new = Source(source.name, self._texts[source.name]) if source.name in self._texts else source
        self.sources[source.name] = new
        return new


class _Rendered:
    """A project with what its variants render to."""

    __slots__ = ("cluster", "mistakes", "project", "sources", "variants")

    def __init__(self, source: Source, read: ReadFile, texts: Mapping[str, str]) -> None:
        reader = _Reader(read, texts)
        self.mistakes = _mistakes(whole(source, reader.read))
        self.project: Project | None = None
        self.cluster = Cluster()
        self.variants: list[tuple[Variant, list[Document]]] = []
        if not self.mistakes:
            (document,) = pipeline.checked(source, (), Cluster()).documents
            self.project = Project(document, _text_of(source))
            self.cluster = Cluster(self.project.wishes)
            planned = variants_of(self.project, Sources(reader.read, self.cluster))
            self.variants = [(each, objects_of(each, self.cluster)[0]) for each in planned.variants]
        self.sources = reader.sources

    def bases(self) -> list[File]:
        """The files of the bases, each once."""
        found = {variant.base.file: variant.base.documents for variant, _ in self.variants}
        return [_file(self.sources[name], documents) for name, documents in found.items()]


def migrate_project(source: Source, read: ReadFile, *, release: str, gang_scheduler: str) -> MigratedProject:
    """Migrate the bases of the project in a file: to TrainJobs, or to a *release* of the trainer."""
    before = _Rendered(source, read, {})
    if before.mistakes or before.project is None:
        return MigratedProject(wrong=before.mistakes)
    project = _with_release(source, before.project, release)
    new = Cluster({**before.project.wishes, "trainer": release}) if release else before.cluster
    bases = before.bases()
    files = to_release(bases, before.cluster, new) if release else to_trainjobs(bases, new, gang_scheduler=gang_scheduler)
    refused = [each for file in files for each in file.diagnostics if each.severity == "error"]
    after = _Rendered(Source(source.name, project.text), read, {each.file.name: each.text for each in files})
    if refused or after.mistakes:
        return MigratedProject(wrong=[*refused, *after.mistakes])
    pairs = zip(before.variants, after.variants, strict=True)
    found = [each for pair in pairs for each in _compared(*pair, before.cluster, after.cluster, gang_scheduler=gang_scheduler)]
    told = _once(found, len(before.variants))
    wrong = [each for each in told if each.severity == "error"]
    return MigratedProject(wrong=wrong) if wrong else MigratedProject([*files, project], told)


def _mistakes(found: Whole) -> list[Diagnostic]:
    every = [*found.diagnostics, *(each for variant in found.variants for each in variant.checked.result.diagnostics)]
    return [each for each in every if each.severity == "error"]


def _file(source: Source, documents: Sequence[Document]) -> File:
    return File(source.name, _text_of(source), documents)


def _text_of(source: Source) -> str:
    text = decode(source.content if isinstance(source.content, bytes) else source.content.encode(), source.name)
    assert isinstance(text, str)  # the project has been checked
    return text


def _with_release(source: Source, project: Project, release: str) -> MigratedFile:
    """The project's own file, whose target names the new release of the trainer where it named another."""
    file = _file(source, ())
    said = project.spec.get("target", "trainer")
    if not release or said is None or said.mark.line != said.mark.end_line:
        return MigratedFile(file, file.text, ())
    lines = file.text.split("\n")
    line = lines[said.mark.line - 1]
    lines[said.mark.line - 1] = f'{line[: said.mark.column - 1]}"{release}"{line[said.mark.end_column - 1 :]}'
    return MigratedFile(file, "\n".join(lines), ())


def _compared(
    before: tuple[Variant, list[Document]],
    after: tuple[Variant, list[Document]],
    old: Cluster,
    new: Cluster,
    *,
    gang_scheduler: str,
) -> list[tuple[str, Diagnostic]]:
    """What a variant has lost."""
    name = before[0].name
    job, other = (next(filter(is_workload, documents)) for _, documents in (before, after))
    seen = job_facts(job, before[1], old.target, gang_scheduler=gang_scheduler)
    then = job_facts(other, after[1], new.target)
    refusals = [each.message for each in then.refusals if each.severity == "error"]
    if refusals:
        return [(name, cannot(job, "; ".join(refusals)))]
    differences = compared(seen, then)
    rules = [meaning_in(seen.facts, each) for each in differences]
    return [(name, each) for each in report_of(rules, differences, job)]


def _once(told: Sequence[tuple[str, Diagnostic]], count: int) -> list[Diagnostic]:
    """What several variants have lost at one place, told once; with the variants' names where not all of them have."""
    groups: dict[tuple[str, str, str], list[tuple[str, Diagnostic]]] = {}
    for name, each in told:
        groups.setdefault((each.rule, str(each.mark), each.message), []).append((name, each))
    return [_named(group, count) for group in groups.values()]


def _named(group: Sequence[tuple[str, Diagnostic]], count: int) -> Diagnostic:
    first = group[0][1]
    names = ", ".join(dict.fromkeys(f"`{name}`" for name, _ in group))
    message = first.message if len(group) == count else f"{first.message} (in {names})"
    return first.with_message(message)
