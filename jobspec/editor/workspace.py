"""A folder as an editor sees it: open texts over the files on disk, judged as `jobspec lint .` judges what is saved.

The server works in the folder, so that files have the names which the command line gives them. What was found out about a file, or about a
variant of a project, stays until a text, an object or a setting changes that it depends on.

One thread checks; others take over texts and ask meanwhile. What they share, the open texts and the last snapshot, is never changed, but
replaced as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from threading import Lock
from typing import Any

from jobspec.apis.kinds import MANIFEST_ENDINGS
from jobspec.apis.shipped import path_of_file
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.explanations import CAUSED_ELSEWHERE
from jobspec.diagnostics.results import FileResult
from jobspec.documents.decoding import decode
from jobspec.documents.document import KUSTOMIZATIONS, Document
from jobspec.documents.marked_tree import MarkedTree
from jobspec.journey.journey import one_by_one
from jobspec.journey.parts import PART
from jobspec.journey.steps import Checked
from jobspec.kubernetes.index import Question
from jobspec.lint.ignores import ReportFilter
from jobspec.project.capacity import PriceList
from jobspec.project.matrix import Spelling
from jobspec.project.variants import PlannedVariant
from jobspec.reports.preflight import PreflightAnswer
from jobspec.session.changes import referring
from jobspec.session.chosen_rules import chosen
from jobspec.session.contracts import with_contracts
from jobspec.session.disk import Disk
from jobspec.session.finding import find_for, find_near, words_for_finding
from jobspec.session.fixing import CandidateChecker, files_to_fix, fixed_files, safe_fixes
from jobspec.session.found import Found
from jobspec.session.found_file import FoundFile
from jobspec.session.inputs import RunContext, kept_schemas, load_run_context, settings_of
from jobspec.session.judging import Depth, is_project, judge_files
from jobspec.session.kept_files import KeptChecks
from jobspec.session.options import Options, judging_options, read
from jobspec.session.pods_settings import with_pods
from jobspec.session.preflight import ReportedRun, preflight
from jobspec.session.project import Plan, judged_variant
from jobspec.session.queues import queue_documents, with_lookups
from jobspec.session.reading import reader
from jobspec.session.verdict import chosen_results, context_for
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.lint.kept_findings import Answers
    from jobspec.lint.topics import Chosen
    from jobspec.repository.builds import Build

SETTINGS = ("pyproject.toml", "jobspec.yaml", ".jobspecignore", ".gitignore")
_FEW_FILES = 10  # of a folder, which are judged at once
#: The rules that report objects which are not given, and which files of other folders may hold.
_GIVEN_ELSEWHERE = ("unresolved-reference", "admission-not-known", *CAUSED_ELSEWHERE)


class Cancelled(Exception):
    """The texts have changed meanwhile."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a check of a workspace found out; whoever answers a question keeps one for all of the answer."""

    cluster: Cluster
    """What the files meet."""
    checked: Sequence[Checked]
    """The files as they were checked."""
    plans: Mapping[str, Plan]
    """The projects among them, by path, with their variants."""


class Workspace:
    """The files of a folder and the open texts, with what is known of them."""

    def __init__(self, root: str, *, is_confined: bool = False) -> None:
        """*root* is the working folder; empty where there is none, and each open file is judged alone.

        *is_confined*: no link may lead out of the folder.
        """
        self.root = root and os.path.realpath(root)
        self.texts: Mapping[str, str] = {}
        """The open texts, by real path."""
        self.snapshot: Snapshot | None = None
        """What the last whole check found out; None before the first one."""
        self.options = read([os.curdir], judging_options()) or Options()
        """The command line that judges the folder."""
        self._confined_to = self.root if is_confined else ""
        self._lock = Lock()
        self._wanted: object = object()
        self._read: object = None
        """What was wanted when files and settings were last looked for: something else since then where they may be others."""
        self._settings: ReportFilter | None = None
        self._context: RunContext | None = None
        self._found: Sequence[Found] = ()
        self._fingerprint: Any = None
        self._files: dict[Any, _Earlier] = {}
        self._numbers = count()
        """Numbers for checks."""
        self._objects: dict[Any, Sequence[Document]] = {}
        """The objects of clusters that checked files meet, by what a check reads of them."""
        self._variants: dict[Any, FileResult] = {}

    # Texts: what is open in the editor.

    def write(self, path: str, text: str | None) -> None:
        """Set the text of an open file; None where it is closed, and the file on disk counts again."""
        real = os.path.realpath(path)
        before = self.texts.get(real)
        self.texts = {name: each for name, each in self.texts.items() if name != real} if text is None else {**self.texts, real: text}
        if before is None or text is None or os.path.basename(real) in SETTINGS or _words(before) != _words(text):
            self.look_again()

    def look_again(self) -> None:
        """Files, settings or what is built of them may have changed on disk."""
        self._wanted = object()

    @property
    def open_names(self) -> list[str]:
        """The open files, by the names that diagnostics have for them."""
        return [self.name(each) for each in self.texts]

    def name(self, path: str) -> str:
        """The name of a file in diagnostics: from the working folder, where it is in it."""
        real = os.path.realpath(path)
        is_inside = self.root and os.path.commonpath((real, self.root)) == self.root
        return os.path.relpath(real, self.root) if is_inside else real

    def place(self, name: str) -> str:
        """The real path of a file by its name in diagnostics, that of an overlay which comes with jobspec too."""
        return os.path.realpath(os.path.join(self.root, path_of_file(name)))

    # The verdict.

    def cluster(self) -> Cluster:
        """What the files meet, by the settings of the folder."""
        with self._lock:
            return self._run_context().cluster

    def results(
        self, asked: Collection[str] | None = None, *, advice: bool = True, is_cancelled: Callable[[], bool] = lambda: False
    ) -> list[FileResult]:
        """What is reported of the *asked* files, by name, of what refers to them, and of all projects; without *asked*, of all files.

        *advice*: what lint finds, too. Raises Cancelled, and JobspecError where settings or a project keep the command line from running.
        """
        with self.reading() as (context, texts):
            found = [*self._found, *self._unsaved(texts)]
            known = _Known(self, found, is_cancelled, chosen(self._settings))

            depth = Depth(
                chosen=known.chosen if advice else None,
                kept=known.checked,
                about=None if asked is None else lambda files: self._about(files, asked),
                lint_run=known.one_by_one,
                findings=known.findings,
                judge_variants=known.judged_variants if advice else None,
            )
            judged = judge_files(found, self.options, context, depth)
            reported, _ = chosen_results(judged, self.options, self._settings, depth)
            known.keep()
            checked = {(path, part): each.checked for (path, _, part, *_), each in self._files.items()}
            self.snapshot = Snapshot(context.cluster, list(checked.values()), known.plans)
        return [each.by_cause() for each in reported]

    def preflight(self, is_asked: Callable[[str], bool], given: Options, prices: PriceList | None = None) -> PreflightAnswer:
        """Return the answer of `jobspec preflight` about some files, which are judged among all files of the folder.

        *is_asked*: whether the answer is about a file, by its name. *given* has the pinned cluster, the ref to compare with, and queues.
        Raises JobspecError where settings or a project keep the command line from running.
        """
        with self.reading() as (context, texts):
            found = [*self._found, *self._unsaved(texts)]
            options = self.options.changed(cluster=given.cluster, stored_ref=given.stored_ref, queues=given.queues, paths=given.paths)
            is_own = given.cluster is None and given.stored_ref is None and not given.queues
            if not is_own:
                context = with_lookups(context_for(options, self._settings), queue_documents(options))
            known = _Known(self, found, lambda: False, chosen(self._settings))
            kept = known.checked if is_own else None
            depth = Depth(chosen=known.chosen, documents=True, kept=kept, lint_run=known.one_by_one)
            results = judge_files(found, options, context, depth)
            files, _ = chosen_results(results, self.options, self._settings, depth)
            if is_own:
                known.keep_files()
            asked = [each.with_only([one for one in each.diagnostics if is_asked(one.mark.file) or is_asked(each.path)]) for each in files]
            fails = (self._settings or ReportFilter()).fails(asked)
            fixes = ""
            if any(each.has_safe_fix for file in asked for each in file.diagnostics):
                to_fix = [*(files_to_fix(self.options, context, self._settings) if self._found else ()), *self._unsaved(texts)]
                fixes = safe_fixes(to_fix, CandidateChecker(to_fix, context, known.chosen, self.options), self._settings, is_asked)
            return preflight(ReportedRun(results, asked, fails), options, prices=prices, fixes=fixes, is_asked=is_asked)

    def first_results(self) -> list[FileResult]:
        """Return what is reported of the open files beside a few files of their folders.

        What files elsewhere may give or fill in is left out. It reads nothing else, takes no longer in a folder of thousands of files,
        and does not wait for a look at all of them. Raises what `results` raises.
        """
        texts = self.texts
        options = self.options.changed(disk=_disk_of(texts, self._confined_to))
        settings = settings_of(options)
        names = {name for each in texts if not os.path.isabs(name := self.name(each)) and self._is_manifest(each, name)}
        near = {each for folder in {os.path.dirname(name) for name in names} for each in _neighbours(folder)}
        found = find_near(sorted(names | near if len(near) <= _FEW_FILES else names), settings, options.disk)
        found += self._unsaved(texts, names, options.disk)
        depth = Depth(chosen=chosen(settings), lint_run=one_by_one)
        results = judge_files(found, options, context_for(options, settings), depth)
        reported, _ = chosen_results(results, options, settings, depth)
        in_bases = {each.path for each in found if _is_beside_kustomization(each.path)}

        def is_sure(one: Diagnostic, path: str) -> bool:
            return one.rule not in _GIVEN_ELSEWHERE and not (one.rule == "missing-field" and path in in_bases)

        return [each.with_only([one for one in each.diagnostics if is_sure(one, each.path)]).by_cause() for each in reported]

    def by_file(self, results: Sequence[FileResult]) -> dict[str, list[Diagnostic]]:
        """Diagnostics by the name of the file in which they are shown: a file outside of the folder is shown in what was made of it."""
        found: dict[str, list[Diagnostic]] = {}
        for result in results:
            for each in result.diagnostics:
                name = os.path.normpath(each.mark.file)
                is_file = os.path.isfile(name) or os.path.realpath(name) in self.texts
                found.setdefault(name if is_file else os.path.normpath(result.path), []).append(each)
        return found

    def fixed(self, name: str, is_wanted: Callable[[Diagnostic], bool] = lambda _: True) -> tuple[str, str]:
        """The text of a file, and the same with the fixes of what *is_wanted*, as `--fix` makes them."""
        with self.reading() as (context, texts):
            found = [*(files_to_fix(self.options, context, self._settings) if self._found else ()), *self._unsaved(texts)]
            checker = CandidateChecker(found, context, chosen(self._settings), self.options)
            fixed = fixed_files(found, checker, self._settings, lambda path, each: os.path.normpath(path) == name and is_wanted(each))
            before = text_of(self.place(name), texts)
        return before, next((each.after.text for each in fixed if os.path.normpath(each.found.path) == name), before)

    @contextmanager
    def reading(self) -> Iterator[tuple[RunContext, Mapping[str, str]]]:
        """Have whatever reads files get the open texts; gives these, and the run context. Others wait until then.

        Raises JobspecError where settings keep the command line from running.
        """
        with self._lock:
            wanted, texts = self._wanted, self.texts  # in this order: a text that is not among these is looked for the next time
            self.options = self.options.changed(disk=_disk_of(texts, self._confined_to))
            if wanted is not self._read:
                before = {each.path: each for each in self._found}
                found = self._find(self._run_context().cluster) if self.root else []
                self._found = [_with_former_role(each, before.get(each.path)) for each in found]
                self._read = wanted
            else:
                self._found = [each.changed(disk=self.options.disk) for each in self._found]
            assert self._context
            yield self._context, texts

    def checks_of_earlier_runs(self, chosen: Chosen) -> KeptChecks | None:
        """Return what runs of the command line have kept, for the first look at the folder.

        For later looks and confined servers, return None.
        """
        if self._files or not self.root or self._confined_to:
            return None
        from jobspec.session.kept_runs import checks_of_earlier_runs

        return checks_of_earlier_runs(self.options, self._settings, Depth(chosen=chosen))

    def _about(self, files: Sequence[Checked], asked: Collection[str]) -> set[str]:
        """The results that matter for some files: their own, those that may refer to them, and projects."""
        results = [each.result for each in files]
        own = [each for each in results if os.path.normpath(each.path.partition(PART)[0]) in asked]
        read_text = reader(self._found)
        refers = referring(own, lambda name: read_text(name.partition(PART)[0]))
        return {each.path for each in own} | {each.path for each in results if any(map(is_project, each.documents)) or refers(each)}

    def _run_context(self) -> RunContext:
        """What files are checked with, by the settings as they are now."""
        self._settings = settings_of(self.options)
        said = self._settings and [getattr(self._settings, each) for each in ("select", "ignore", "contracts", "pods")]
        fingerprint = (
            repr(said),
            [(each, _stamps(each, self.options.disk)) for each in kept_schemas(self._confined_to)],
        )
        if self._context is None or fingerprint != self._fingerprint:
            context = load_run_context(self.options)
            self._context = context.with_cluster(with_pods(with_contracts(context.cluster, self._settings), self._settings))
            self._fingerprint = fingerprint
            self._files.clear()
            self._objects.clear()
            self._variants.clear()
        return self._context

    def _find(self, cluster: Cluster) -> list[Found]:
        """The files that `jobspec lint .` judges; none where there are no manifests."""
        if not any(name.endswith(MANIFEST_ENDINGS) for _, _, names in os.walk(os.curdir) for name in names):
            return []
        build, kubernetes = self.options.build, cluster.target["kubernetes"]
        return find_for(self.options, self._settings, build=build, kubernetes=kubernetes, encrypted=True)

    def _unsaved(self, texts: Mapping[str, str], known: Collection[str] | None = None, disk: Disk | None = None) -> list[Found]:
        """Return the open files that are not on disk yet, or outside of the folder.

        *known*: the names of files that were found.
        """
        known = {os.path.normpath(each.path) for each in self._found} if known is None else known
        new = []
        for real, text in texts.items():
            name = self.name(real)
            is_inside = not os.path.isabs(name)
            is_hidden = is_inside and any(part.startswith(".") for part in name.split(os.sep))
            if name in known or is_hidden or not real.endswith(MANIFEST_ENDINGS) or (is_inside and os.path.isfile(real)):
                continue
            content = None if os.path.isfile(real) else text.encode(errors="surrogatepass")
            new.append(Found(name, named=False, content=content, disk=disk or self.options.disk))
        return new

    def _is_manifest(self, real: str, name: str) -> bool:
        """True if a file on disk is one that a look at the folder finds."""
        return real.endswith(MANIFEST_ENDINGS) and os.path.isfile(real) and not any(part.startswith(".") for part in name.split(os.sep))


@dataclass(slots=True)
class _Earlier:
    """The earlier check of a file, what it depends on, and what rules found in the file."""

    checked: Checked
    answers: Mapping[Question, Any]
    """The answers to the questions that the check has asked."""
    place: bytes
    """What no other check has; it stands for all that the check has read."""
    findings: tuple[Answers, list[Diagnostic]] | None = None
    """What rules have asked, and their findings; None if the file is not linted yet."""


class _EarlierFindings:
    """The findings in files that are not checked again, kept with the checks."""

    def __init__(self) -> None:
        self.checks: dict[str, _Earlier] = {}
        """The last check of each file, by the path of its result."""

    def place(self, path: str) -> bytes | None:
        """Return what the check of a file has alone.

        If the file was not checked, return None.
        """
        check = self.checks.get(path)
        return check.place if check else None

    def known(self, path: str) -> tuple[Answers, list[Diagnostic]] | None:
        """Return what the rules have asked about a file, and its findings.

        If the file was not linted since its check, return None.
        """
        check = self.checks.get(path)
        return check.findings if check else None

    def learned(self, path: str, answers: Answers, found: list[Diagnostic]) -> None:
        """Keep the findings in a file."""
        if check := self.checks.get(path):
            check.findings = answers, found


class _Identity:
    """A value that is equal to itself alone, as a part of a key."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class _Known:
    """The results of one check of a workspace: reused from the last check where nothing changed, else made new."""

    def __init__(self, workspace: Workspace, found: Sequence[Found], is_cancelled: Callable[[], bool], chosen: Chosen) -> None:
        self._workspace = workspace
        self._is_cancelled = is_cancelled
        self.chosen = chosen
        self.plans: dict[str, Plan] = {}
        plans = workspace.snapshot.plans.values() if workspace.snapshot else ()
        paths = {each.path for each in (*found, *(each for plan in plans for each in plan.read))}
        self._stamps = {
            path: _stamp(path, workspace.options.disk) for path in paths
        }  # before anything is read: what changes meanwhile is read the next time
        builds = [each.in_build.build for each in found if each.in_build and each.in_build.build]
        opened = workspace.options.disk.opened or {}
        self._inputs = {each: opened[each] if each in opened else _written(each) for build in builds for each in build.reads}
        """Those of the files that builds are made of, by real path."""
        self._files: dict[Any, _Earlier] = {}
        self._objects: dict[Any, Sequence[Document]] = {}
        self._variants: dict[Any, FileResult] = {}
        self._clusters: dict[int, tuple[Cluster, Sequence[Document]]] = {}
        self.findings = _EarlierFindings()
        self._of_earlier_runs = workspace.checks_of_earlier_runs(chosen)
        if self._of_earlier_runs:
            self._of_earlier_runs.met(found)

    def checked(self, given: FoundFile, cluster: Cluster, check: Callable[[FoundFile], Checked]) -> Checked:
        """The check of a file in a cluster, or its earlier result."""
        file = given.found
        build = file.in_build.build if file.in_build else None
        built_of = [self._inputs[each] for each in sorted(build.reads)] if build else ()
        where = (file.path, file.named, file.part, file.first_line, file.content, self._stamps[file.path])
        world = (_Identity(self._objects_in(cluster)), _Identity(cluster.custom_kinds), cluster.around is None)
        key = (*where, *built_of, _Identity(file.in_build), *world)
        known = self._workspace._files.get(key)
        if known is None or any(cluster.index.answer(question) != answer for question, answer in known.answers.items()):
            self._stop()
            kept = self._of_earlier_runs.known(given, cluster) if self._of_earlier_runs else None
            checked = kept or check(given)
            answers = {each: cluster.index.answer(each) for each in checked.asked}
            known = self._workspace._files[key] = _Earlier(checked, answers, b"%d" % next(self._workspace._numbers))
        self._files[key] = self.findings.checks[known.checked.result.path] = known
        return known.checked

    def _objects_in(self, cluster: Cluster) -> Sequence[Document]:
        """Return the objects of a cluster. If a check reads the same of an earlier cluster's, return those."""
        if id(cluster) not in self._clusters:
            said = tuple((each.file, each.source, each.is_held, each.digest) for each in cluster.objects)
            objects = self._objects[said] = self._workspace._objects.setdefault(said, cluster.objects)
            self._clusters[id(cluster)] = cluster, objects
        return self._clusters[id(cluster)][1]

    def judged_variants(self, planned: Plan) -> list[FileResult]:
        """The same as `project.judged_variants`, which judges anew only what a change may concern."""
        self.plans[planned.files.project.path] = planned
        return [self._variant(each, planned) for each in planned.variants] if planned.valid else []

    def _variant(self, variant: PlannedVariant, planned: Plan) -> FileResult:
        assert planned.project
        spec, spelled, path = planned.project.spec, planned.project.spelled, planned.files.project.path
        files = {variant.base.file, *(each.tree.mark.file for each in variant.overlays)} - {path}
        shared = [each for name, each in spec.value.items() if name != "variants"]
        said = "\n".join(line for each in (variant.entry, *shared) for line in _said(each, spelled))
        cluster = planned.met_by(variant)
        contracts = repr([(image, each.program, each.flags) for image, each in cluster.contracts.items()])
        stamps = [(each, self._stamps[each] if each in self._stamps else os.path.exists(each) and object()) for each in sorted(files)]
        key = (path, variant.name, repr(variant.values), said, *stamps, *map(_Identity, cluster.objects), contracts)
        known = self._workspace._variants.get(key)
        if known is None:
            self._stop()
            known = self._workspace._variants[key] = judged_variant(variant, cluster, self.chosen).result
        self._variants[key] = known
        return known

    def one_by_one(self, files: Sequence[Checked], work: Callable[[Checked], list[Diagnostic]]) -> list[list[Diagnostic]]:
        """The work for each file, unless it is cancelled."""
        found = []
        for each in files:
            self._stop()
            found.append(work(each))
        return found

    def keep_files(self) -> None:
        """Forget the earlier results of files that this check did not use."""
        self._workspace._files = self._files
        self._workspace._objects = self._objects

    def keep(self) -> None:
        """Forget the earlier results that this check did not use."""
        self.keep_files()
        self._workspace._variants = self._variants

    def _stop(self) -> None:
        if self._is_cancelled():
            raise Cancelled


def _said(tree: MarkedTree, spelled: Spelling) -> Iterator[str]:
    """What a part of a project says, and where."""
    yield f"{tree.mark}-{tree.mark.end_line}:{tree.mark.end_column}"
    if isinstance(tree.value, dict | list):
        for name, each in tree.value.items() if isinstance(tree.value, dict) else enumerate(tree.value):
            yield f"{name!r} {each.key}"
            yield from _said(each, spelled)
    else:
        yield f"{spelled(tree)!r} {type(tree.value)}"


def _with_former_role(found: Found, former: Found | None) -> Found:
    """Return a file that was found again. If its role in builds is as before, the file has the former role."""
    role, before = found.in_build, former.in_build if former else None
    if role is None or before is None or replace(role, build=None) != replace(before, build=None):
        return found
    return found.changed(in_build=before) if _is_same_build(role.build, before.build) else found


def _is_same_build(build: Build | None, before: Build | None) -> bool:
    """True if a build is as before, whatever the lines of the files that it is made of."""
    if build is None or before is None:
        return build is before
    return (build.path, build.names, build.content) == (before.path, before.names, before.content)


def text_of(path: str, texts: Mapping[str, str]) -> str:
    """The text of a file, as it is open or else on disk; empty where it cannot be read."""
    if (text := texts.get(os.path.realpath(path))) is not None:
        return text
    try:
        with open(path, "rb") as file:
            decoded = decode(file.read(), path)
    except OSError:
        return ""
    return decoded if isinstance(decoded, str) else ""


def _stamp(path: str, disk: Disk) -> Any:
    """What changes with the content of a file: its open text, or when it was written on disk and its size."""
    text = disk.opened_text(path)
    return _written(path) if text is None else text


def _written(path: str) -> Any:
    """Return when a file was written on disk, and its size. If there is no file, return None."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


def _stamps(folder: str, disk: Disk) -> list[Any]:
    return [(name, _stamp(os.path.join(here, name), disk)) for here, _, names in os.walk(folder) for name in sorted(names)]


def _disk_of(texts: Mapping[str, str], confined_to: str) -> Disk:
    """The files on disk with some open texts in their place."""
    return Disk({path: text.encode(errors="surrogatepass") for path, text in texts.items()}, confined_to)


def _neighbours(folder: str) -> list[str]:
    """The manifests in a folder."""
    names = os.listdir(folder or os.curdir)
    return [os.path.join(folder, each) for each in names if each.endswith(MANIFEST_ENDINGS) and not each.startswith(".")]


def _is_beside_kustomization(path: str) -> bool:
    return any(os.path.isfile(os.path.join(os.path.dirname(path), each)) for each in KUSTOMIZATIONS)


def _words(text: str) -> list[bytes]:
    return words_for_finding(text.encode(errors="surrogatepass"))
