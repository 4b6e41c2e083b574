"""A folder as an editor sees it: open texts over the files on disk, judged as `jobspec lint .` judges what is saved.

The server works in the folder, so that files have the names which the command line gives them. What was found out about a file, or about a
variant of a project, stays until a text, an object or a setting changes that it depends on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from threading import Lock
from typing import Any

from jobspec.cluster import Cluster
from jobspec.commands.changes import referring
from jobspec.commands.cluster import with_contracts
from jobspec.commands.files import OPENED, Found, find_for, reader
from jobspec.commands.fixing import CandidateChecker, files_to_fix, fixed_files
from jobspec.commands.inputs import RunContext, kept_schemas, load_run_context, settings_of
from jobspec.commands.lint import chosen
from jobspec.commands.lint import options as lint_options
from jobspec.commands.options import Options, read
from jobspec.commands.project import Plan, judged_variant, reported_once
from jobspec.commands.validate import is_project, verdict_on
from jobspec.data import path_of_file
from jobspec.diagnostics import Diagnostic, DocumentResult, FileResult
from jobspec.documents.document import ENGINES
from jobspec.documents.marked_tree import MarkedTree
from jobspec.kinds import MANIFEST_ENDINGS
from jobspec.lint.linting import lint
from jobspec.pipeline import PART, Checked
from jobspec.project.matrix import Spelling
from jobspec.project.variants import PlannedVariant
from jobspec.rules.ignores import ReportFilter

SETTINGS = ("pyproject.toml", "jobspec.yaml", ".jobspecignore", ".gitignore")
_ENGINES = tuple(word.decode() for word in ENGINES)


class Cancelled(Exception):
    """The texts have changed meanwhile."""


class Workspace:
    """The files of a folder and the open texts, with what is known of them."""

    def __init__(self, root: str, *, builds: bool = True) -> None:
        """*root* is the working folder; empty where there is none, and each open file is judged alone. *builds*: kustomize may run."""
        self.root = root and os.path.realpath(root)
        self.checked: Sequence[Checked] = ()
        """The files as they were last checked."""
        self.plans: dict[str, Plan] = {}
        """The projects among them, by path, with their variants."""
        self.settings: ReportFilter | None = None
        self.context: RunContext | None = None
        self.found: Sequence[Found] = ()
        self.options = read([os.curdir, *(() if builds else ("--no-build",))], lint_options()) or Options()
        """The command line that judges the folder."""
        self._texts: dict[str, str] = {}
        self._lock = Lock()
        self._is_stale = True
        self._fingerprint: Any = None
        self._files: dict[Any, tuple[Checked, Any]] = {}
        self._variants: dict[Any, tuple[FileResult, Any]] = {}

    # Texts: what is open in the editor.

    def write(self, path: str, text: str | None) -> None:
        """Set the text of an open file; None where it is closed, and the file on disk counts again."""
        real = os.path.realpath(path)
        before = self._texts.get(real)
        if text is None:
            self._texts.pop(real, None)
        else:
            self._texts[real] = text
        if before is None or text is None or os.path.basename(real) in SETTINGS or _of_engines(before) != _of_engines(text):
            self.look_again()

    def look_again(self) -> None:
        """Files, settings or what is built of them may have changed on disk."""
        self._is_stale = True

    def text(self, path: str) -> str:
        """The text of a file, as it is open or else on disk; empty where it cannot be read."""
        return self._texts.get(os.path.realpath(path), "") or reader([])(path)

    @property
    def open_names(self) -> list[str]:
        """The open files, by the names that diagnostics have for them."""
        return [self.name(each) for each in list(self._texts)]

    def name(self, path: str) -> str:
        """The name of a file in diagnostics: from the working folder, where it is in it."""
        real = os.path.realpath(path)
        is_inside = self.root and os.path.commonpath((real, self.root)) == self.root
        return os.path.relpath(real, self.root) if is_inside else real

    def place(self, name: str) -> str:
        """The real path of a file by its name in diagnostics, that of an overlay which comes with jobspec too."""
        return os.path.realpath(os.path.join(self.root, path_of_file(name)))

    # The verdict.

    def results(
        self, asked: Collection[str] | None = None, *, advice: bool = True, is_cancelled: Callable[[], bool] = lambda: False
    ) -> list[FileResult]:
        """What is reported of the *asked* files, by name, of what refers to them, and of all projects; without *asked*, of all files.

        *advice*: what lint finds, too. Raises Cancelled, and JobspecError where settings or a project keep the command line from running.
        """
        with self._lock:
            self._begin()
            known = _Known(self, is_cancelled)
            rules = chosen(self.settings) if advice else None

            def judge(files: Sequence[Checked], context: RunContext, _: Collection[str] | None) -> list[FileResult]:
                about = None if asked is None else self._about(files, asked)
                results = [each.result for each in files]
                if advice:
                    results = lint(files, context.cluster, rules or (), run=known.one_by_one, only=about)
                return results if about is None else [each for each in results if each.path in about]

            assert self.context
            verdict = verdict_on(
                [*self.found, *self._unsaved()],
                self.options,
                self.context,
                self.settings,
                judge,
                outcome=True,
                rules=rules,
                advise=known.advise if advice else None,
                kept=known.checked,
            )
            known.keep()
            self.plans = known.plans  # at once: others read them while files are judged
            self.checked = list({(path, part): checked for (path, _, part, *_), (checked, _) in self._files.items()}.values())
        return [each.by_cause() for each in verdict[0]]

    def by_file(self, results: Sequence[FileResult]) -> dict[str, list[Diagnostic]]:
        """Diagnostics by the name of the file in which they are shown: a file outside of the folder is shown in what was made of it."""
        found: dict[str, list[Diagnostic]] = {}
        for result in results:
            for each in result.diagnostics:
                name = os.path.normpath(each.mark.file)
                is_file = os.path.isfile(name) or os.path.realpath(name) in self._texts
                found.setdefault(name if is_file else os.path.normpath(result.path), []).append(each)
        return found

    def fixed(self, name: str, is_wanted: Callable[[Diagnostic], bool] = lambda _: True) -> str:
        """The text of a file with the fixes of what *is_wanted*, as `--fix` makes them; the unchanged text where there are none."""
        with self._lock:
            self._begin()
            assert self.context
            rules = chosen(self.settings)

            def judge(files: Sequence[Checked], context: RunContext, about: Collection[str]) -> list[FileResult]:
                return lint(files, context.cluster, rules, only=about)

            found = [*(files_to_fix(self.options, self.context, self.settings) if self.found else ()), *self._unsaved()]
            checker = CandidateChecker(found, self.context, judge, self.options)
            fixed = fixed_files(found, checker, self.settings, lambda path, each: os.path.normpath(path) == name and is_wanted(each))
        return next((each.after.text for each in fixed if os.path.normpath(each.found.path) == name), self.text(self.place(name)))

    def _begin(self) -> None:
        """Take the texts as they are now for those that commands read."""
        OPENED.clear()
        OPENED.update({path: text.encode(errors="surrogatepass") for path, text in list(self._texts.items())})
        self._refresh()

    def _about(self, files: Sequence[Checked], asked: Collection[str]) -> set[str]:
        """The results that matter for some files: their own, those that may refer to them, and projects."""
        results = [each.result for each in files]
        own = [each for each in results if os.path.normpath(each.path.partition(PART)[0]) in asked]
        refers = referring(own, lambda name: reader(self.found)(name.partition(PART)[0]))
        return {each.path for each in own} | {each.path for each in results if any(map(is_project, each.documents)) or refers(each)}

    def _refresh(self) -> None:
        """Look for the files and settings again, where they may be others."""
        if not self._is_stale:
            return
        self._is_stale = False  # before anything is read, since what changes meanwhile has to be read again
        try:
            self._read_again()
        except BaseException:
            self._is_stale = True
            raise

    def _read_again(self) -> None:
        self.settings = settings_of(self.options)
        fingerprint = (repr(self.settings and self.settings.contracts), [(each, _stamps(each)) for each in kept_schemas()])
        if self.context is None or fingerprint != self._fingerprint:
            context = load_run_context(self.options)
            self.context = context.with_cluster(with_contracts(context.cluster, self.settings))
            self._fingerprint = fingerprint
            self._files.clear()
            self._variants.clear()
        self.found = self._find(self.context.cluster) if self.root else []

    def _find(self, cluster: Cluster) -> list[Found]:
        """The files that `jobspec lint .` judges; none where there are no manifests."""
        if not any(name.endswith(MANIFEST_ENDINGS) for _, _, names in os.walk(os.curdir) for name in names):
            return []
        exclude = self.settings.exclude if self.settings else ()
        return find_for(self.options, build=self.options.build, kubernetes=cluster.target["kubernetes"], exclude=exclude)

    def _unsaved(self) -> list[Found]:
        """The open files that are not on disk yet, or outside of the folder."""
        known = {os.path.normpath(each.path) for each in self.found}
        new = []
        for real, text in list(self._texts.items()):
            name = self.name(real)
            is_inside = not os.path.isabs(name)
            is_hidden = is_inside and any(part.startswith(".") for part in name.split(os.sep))
            if name in known or is_hidden or not real.endswith(MANIFEST_ENDINGS) or (is_inside and os.path.isfile(real)):
                continue
            new.append(Found(name, named=False, content=None if os.path.isfile(real) else text.encode(errors="surrogatepass")))
        return new


class _Known:
    """The results of one check of a workspace: reused from the last check where nothing changed, else made new."""

    def __init__(self, workspace: Workspace, is_cancelled: Callable[[], bool]) -> None:
        self._workspace = workspace
        self._is_cancelled = is_cancelled
        self.plans: dict[str, Plan] = {}
        self._files: dict[Any, tuple[Checked, Any]] = {}
        self._variants: dict[Any, tuple[FileResult, Any]] = {}

    def checked(self, file: Found, cluster: Cluster, check: Callable[[Found], Checked]) -> Checked:
        """The check of a file in a cluster, or its earlier result."""
        held = (file.in_build, tuple(cluster.objects))
        where = (file.path, file.named, file.part, file.first_line, _stamp(file.path) if file.content is None else file.content)
        key = (*where, id(held[0]), tuple(map(id, held[1])))
        known = self._workspace._files.get(key)
        if known is None:
            self._stop()
            known = self._workspace._files[key] = (check(file), held)
        self._files[key] = known
        return known[0]

    def advise(self, planned: Plan, reported: Iterable[Diagnostic]) -> tuple[list[DocumentResult], list[Diagnostic]]:
        """What is said of the variants of a project: the same as `said_of_variants`, of those alone that a change may concern."""
        self.plans[planned.files.project.path] = planned
        if not all(each.valid for each in planned.results):
            return [], []
        rules = chosen(self._workspace.settings)
        judged = [self._variant(each, planned, rules) for each in planned.variants]
        return [row for each in judged for row in each.documents], reported_once((each.diagnostics for each in judged), reported)

    def _variant(self, variant: PlannedVariant, planned: Plan, rules: Sequence[Any]) -> FileResult:
        assert planned.project
        spec, spelled, path = planned.project.spec, planned.project.spelled, planned.files.project.path
        files = {variant.base.file, *(each.tree.mark.file for each in variant.overlays)} - {path}
        shared = [each for name, each in spec.value.items() if name != "variants"]
        said = "\n".join(line for each in (variant.entry, *shared) for line in _said(each, spelled))
        cluster = planned.met_by(variant)
        held = cluster.objects
        contracts = repr([(image, each.program, each.flags) for image, each in cluster.contracts.items()])
        stamps = [(each, _stamp(each)) for each in sorted(files)]
        key = (path, variant.name, repr(variant.values), said, *stamps, *map(id, held), contracts)
        known = self._workspace._variants.get(key)
        if known is None:
            self._stop()
            known = self._workspace._variants[key] = (judged_variant(variant, cluster, rules)[1], held)
        self._variants[key] = known
        return known[0]

    def one_by_one(self, files: Sequence[Checked], work: Callable[[Checked], list[Diagnostic]]) -> list[list[Diagnostic]]:
        """The work for each file, unless it is cancelled."""
        found = []
        for each in files:
            self._stop()
            found.append(work(each))
        return found

    def keep(self) -> None:
        """Forget the earlier results that this check did not use."""
        self._workspace._files = self._files
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


def _stamp(path: str) -> Any:
    """What changes with the content of a file: its open text, or when it was written on disk and its size."""
    text = OPENED.get(os.path.realpath(path)) if OPENED else None
    if text is not None:
        return text
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size, about.st_ino


def _stamps(folder: str) -> list[Any]:
    return [(name, _stamp(os.path.join(here, name))) for here, _, names in os.walk(folder) for name in sorted(names)]


def _of_engines(text: str) -> bool:
    return "Project" in text or any(each in text for each in _ENGINES[:2])
