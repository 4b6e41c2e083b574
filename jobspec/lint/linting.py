"""Lint checked files: every rule that can find something in a document, and each finding once."""

from __future__ import annotations

from functools import cache, partial

from jobspec.apis.kinds import KUSTOMIZATION, RUNTIMES, TRAINJOB, find, group_kind, is_unknown_version
from jobspec.apis.sibling_kinds import SIBLINGS
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Key, Mark, Path, span_of, spell, value_at
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree
from jobspec.documents.routes import PlacedFinding, placed_in
from jobspec.journey.journey import one_by_one
from jobspec.journey.parts import PART
from jobspec.journey.policies import as_policies_leave
from jobspec.journey.steps import Checked, document_key
from jobspec.lint.alike import LintResult, LintResults, RuleResult, have_routes, placed
from jobspec.lint.documents import EVERYTHING, Documents
from jobspec.lint.linted import LintedDocument, LintedJob, linted_job, linted_templates
from jobspec.lint.open_names import names_to_fill_in
from jobspec.lint.topics import is_default, rules_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from jobspec.apis.kinds import GroupKind
    from jobspec.diagnostics.places import Span
    from jobspec.diagnostics.problems import Change
    from jobspec.diagnostics.rules import Edit, Finding, Place, Rule, Sees
    from jobspec.lint.kept_findings import EarlierFindings, Run
    from jobspec.lint.topics import Chosen
    from jobspec.world.world import Cluster

    #: By the identity of a document: the path of each of its places. Only documents with a finding have theirs gathered.
    Paths = dict[int, dict[Span, Path]]

    #: The rules that look at a document, by what it is to them, and its kind.
    Looking = Callable[[tuple[Sees, ...], GroupKind], Sequence[Rule]]


def lint(
    files: Sequence[Checked],
    cluster: Cluster,
    chosen: Chosen = is_default,
    *,
    run: Run = one_by_one,
    only: Container[str] | None = None,
    earlier: EarlierFindings | None = None,
) -> list[FileResult]:
    """Add the findings of lint in accepted documents.

    Each finding is reported once, in the file that wrote its cause.

    Jobs may refer to the objects of the *cluster*.

    *run*: how the files are gone through, in several processes for example. *only*: the paths of the files that are gone through, where the
    others are there to be referred to. *earlier*: the findings of an earlier run; None if there are none.
    """
    given = list({each.result.path: each for each in files}.values())
    once = as_policies_leave(given, cluster)
    further = (_kind_of(each) for file in once for each in file.result.documents)
    syncs = {each.result.path.partition(PART)[0]: each.sync for each in once if each.sync}
    by_server = {each.result.path.partition(PART)[0] for each in once if each.by_server}
    by_engine = {each.result.path.partition(PART)[0] for each in once if each.filled_in_by_engine}
    kinds, to_fill_in = list(further), [each for file in once for each in names_to_fill_in(file)]
    written = [each for file, sent in zip(given, once, strict=True) if file is not sent for each in seen(file)]
    around = partial(
        Documents,
        cluster=cluster,
        further=kinds,
        syncs=syncs,
        by_server=by_server,
        filled_in_by_engine=by_engine,
        written=written,
        to_fill_in=to_fill_in,
    )
    shown = [seen(file) for file in once]
    documents = around([each for several in shown for each in several])
    others = {file.result.path: other for file in once if (other := _with_other_numbers(file))}
    has_other_runtimes = any(each.group_kind in RUNTIMES for file in others.values() for each in file.documents)
    with_others = [each for file in once for each in seen(others.get(file.result.path, file))] if others else []
    other_documents = around(with_others) if others else documents
    looked_at = [each for each, several in zip(once, shown, strict=True) if several and (only is None or each.result.path in only)]

    looking = cache(lambda seen_as, kind: [each for each in rules_for(seen_as) if (not each.of or kind in each.of) and chosen(each)])

    kept = LintResults()

    def of_documents(file: Checked, documents: Documents) -> list[Diagnostic]:
        paths: Paths = {}
        found = [each for document in seen(file) for each in _of_document(document, documents, looking, paths, kept)]
        for document in file.documents:
            document.forget_marks()
        return found

    def of_file(file: Checked) -> list[Diagnostic]:
        found = of_documents(file, documents)
        if file.result.path in others or (has_other_runtimes and any(each.group_kind == TRAINJOB for each in file.documents)):
            from jobspec.repository.other_numbers import found_with_both

            documents.note((EVERYTHING,))
            found = list(found_with_both(found, of_documents(others.get(file.result.path, file), other_documents)))
        corrected = {row.index for row in file.result.documents if row.corrected}
        found = [each.without_fixes() if each.document in corrected else each for each in found]
        bypassing = {each.document for each in file.result.diagnostics if each.rule == "kind-not-queued"}
        return [each for each in found if each.rule != "legacy-operator" or each.document not in bypassing]  # that finding says more

    if earlier and not written:
        from jobspec.lint.kept_findings import KeptFindings

        inside = {file.result.path: several for file, several in zip(once, shown, strict=True)}
        found = KeptFindings(earlier, documents, inside).found(looked_at, run, of_file)
    else:
        found = run(looked_at, of_file)
    return attached(files, {file.result.path: each for file, each in zip(looked_at, found, strict=True)})


def _kind_of(row: DocumentResult) -> GroupKind:
    """Return the kind of a document by its result.

    A kustomization need not say its kind.
    """
    return KUSTOMIZATION if row.reason == "kustomization" else group_kind(row.api_version, row.kind)


def seen(file: Checked) -> list[Document]:
    """Return the documents of a file for lint: accepted ones, and those of unknown kinds.

    A document of a known kind in a version that nobody serves is not among them: nobody can say what form it has.
    """
    refused = [each for each in file.result.diagnostics if each.severity == "error" and each.stage != "outcome"]
    wrong = {each.document for each in refused if each.rule != "unknown-kind"}
    if None in wrong:
        return []
    refused_rows = [row for row in file.result.documents if row.status == "invalid"]
    wrong -= {row.index for row in refused_rows if row.corrected in _SEEN} - {
        row.index for row in refused_rows if row.corrected not in _SEEN
    }
    return [each for each in file.seen if each.index not in wrong and not is_unknown_version(each.api_version, each.kind)]


_SEEN = ("valid", "partly")


def _with_other_numbers(file: Checked) -> Checked | None:
    """Return the file with other numbers in place of its placeholders.

    If no number stands in for a placeholder, return None.
    """
    if not (notes := file.result.stand_ins):
        return None
    from jobspec.repository.other_numbers import with_other_numbers

    documents = with_other_numbers(file.documents, notes)
    return file.changed(documents=documents) if documents else None


def _with_lint(file: Checked) -> FileResult:
    """The result of a file, whose refused documents say whether lint looked at them."""
    result = file.result
    if "invalid" not in [row.status for row in result.documents]:
        return result
    linted = set(map(document_key, seen(file)))
    rows = [
        row if row.status != "invalid" else row.seen_by("lint") if document_key(row) in linted else row.stopped_before("lint")
        for row in result.documents
    ]
    return result.with_documents(rows)


def attached(files: Sequence[Checked], found: dict[str, list[Diagnostic]]) -> list[FileResult]:
    """The files' results with the diagnostics of each: in the file where the cause is written, or where it was found, and once."""
    paths = {each.result.path for each in files}
    by_path: dict[str, list[Diagnostic]] = {path: [] for path in paths}
    known = set()
    for path, diagnostics in found.items():
        for each in diagnostics:
            words = each.message if each.mark.file == path else ""  # of another file, such as a base, where numbers differ by overlay
            identity = (each.rule, str(each.mark), words) if each.mark.line else (each.rule, path, each.document, each.field)
            if identity not in known:
                known.add(identity)
                by_path[each.mark.file if each.mark.file in paths else path].append(each)
    return [_with_lint(each).with_diagnostics(by_path[each.result.path]) for each in files]


def linted_in(document: Document, documents: Documents) -> Iterator[LintedDocument]:
    """What the rules look at of a document: the document by itself, and a job or runtime with its pods."""
    yield LintedDocument(document, documents)
    if job := _with_pods(document, documents):
        yield job


def _with_pods(document: Document, documents: Documents) -> LintedJob | None:
    """A job or runtime with its pods; None for other documents."""
    is_known = find(document.api_version, document.kind) is not None
    return (linted_job(document, documents) if is_known else None) or linted_templates(document, documents)


def _of_document(document: Document, documents: Documents, looking: Looking, paths: Paths, kept: LintResults) -> list[Diagnostic]:
    """Find problems in a document by all rules. Documents that are alike are looked at once."""
    if (known := kept.of(document, documents)) is not None:
        documents.note(known.asked)
        return _of_alike(document, documents, known.by_rule, paths)
    results: list[RuleResult] = []
    found: list[Diagnostic] = []
    before, has_place, with_routes = documents.asked_by_place, False, have_routes(document)
    with documents.recording(document.name) as asked:
        for linted in linted_in(document, documents):
            has_place = has_place or documents.asked_by_place != before  # its pods depend on where the document stands among others
            for rule in looking(linted.seen_as, document.group_kind):
                if can_find(rule, linted):
                    diagnostics, findings = _found_by(rule, linted, paths)
                    found += diagnostics
                    if findings != []:
                        results.append(RuleResult(rule, isinstance(linted, LintedJob), findings if with_routes else None))
            before = documents.asked_by_place
    if not has_place:
        kept.keep(document, documents, LintResult(results, asked))
    return found


def _of_alike(document: Document, documents: Documents, known: Sequence[RuleResult], paths: Paths) -> list[Diagnostic]:
    """Return the findings in a document that is like one with known results."""
    views: dict[bool, LintedDocument] = {}
    found: list[Diagnostic] = []
    for each in known:
        if each.findings is not None:
            found += placed_in(document, each.findings)
            continue
        if each.of_pods not in views:
            view = _with_pods(document, documents) if each.of_pods else LintedDocument(document, documents)
            assert view  # as of the other one
            views[each.of_pods] = view
        found += _found_by(each.rule, views[each.of_pods], paths)[0]
    return found


def _found_by(rule: Rule, linted: LintedDocument, paths: Paths) -> tuple[list[Diagnostic], list[PlacedFinding] | None]:
    """What a rule finds, and the same with routes; None for these if they may not hold for documents that are alike."""
    asked = linted.documents.asked_by_place
    found: dict[str, tuple[Diagnostic, PlacedFinding | None]] = {}
    for finding in rule.check(linted):
        document, path, mark = _source_of(finding.at, linted, paths)
        diagnostic = _diagnostic(rule, finding, linted, paths, (document, path, mark))
        where = f"{diagnostic.mark} {diagnostic.field}"
        if where not in found:  # roles can share what an alias, or a runtime, gives to both
            found[where] = diagnostic, placed(diagnostic, linted.given, document, path)
    with_routes = [each for _, each in found.values() if each]
    may_be_kept = linted.documents.asked_by_place == asked and len(with_routes) == len(found)
    return [each for each, _ in found.values()], with_routes if may_be_kept else None


def looks_at(rule: Rule, linted: LintedDocument) -> bool:
    """Whether a rule is for what a document is, and for its kind."""
    return rule.sees in linted.seen_as and (not rule.of or linted.given.group_kind in rule.of)


def can_find(rule: Rule, linted: LintedDocument) -> bool:
    """Whether what a rule reads is there: only then it is called."""
    if not (rule.reads or rule.kinds):
        return True
    return any(each in linted.all_text for each in rule.reads) or (bool(rule.kinds) and linted.documents.has(rule.kinds))


def _diagnostic(rule: Rule, finding: Finding, linted: LintedDocument, paths: Paths, source: tuple[Document, Path, Mark]) -> Diagnostic:
    document, path, mark = source
    return Diagnostic(
        rule.name,
        finding.message,
        mark,
        field=spell(spelt(path)),
        document=document.index,
        severity=finding.severity or rule.severity,
        hint=finding.hint,
        stage="lint",
        changes=[each.changed(is_unsafe=rule.has_unsafe_fix) for each in _changes(finding.edits, document, linted, paths)],
    )


_NAME, _KIND = ("metadata", "name"), ("kind",)


def _source_of(at: Place, linted: LintedDocument, paths: Paths) -> tuple[Document, Path, Mark]:
    """The document, path and mark of a place; a value that no file wrote is reported at the document's name.

    Of a built object, that is at its kind: overlays may add prefixes to the name, and the kind is written once, in the base.
    """
    if at is None or at == _NAME:
        at = _NAME if linted.given.nearest(_KIND).place().file in (linted.given.file, "") else _KIND
    if isinstance(at, tuple):
        place = linted.given.nearest(at).place()
        return linted.given, at, place if place.line or at in (_NAME, _KIND) else _source_of(None, linted, paths)[2]
    mark, place = (at, at) if isinstance(at, Mark) else (at.mark, at.place())
    span = span_of(mark)
    for document in _documents_of(linted, mark) if mark.line else ():
        if id(document) not in paths:
            paths[id(document)] = document.marks.paths()
        if span in paths[id(document)]:
            path = paths[id(document)][span]
            return document, _path_of(at, document, path) if isinstance(at, MarkedTree) else path, place
    return linted.given, (), place if mark.line else _source_of(None, linted, paths)[2]


def _path_of(tree: MarkedTree, document: Document, first: Path) -> Path:
    """The path of a value in a document: of several with its place, as a line of a chart's template has, the one with its data."""
    data = tree.data()
    if value_at(document.data, first) == data:
        return first
    return next((path for path in document.marks.paths_to(tree.mark) if value_at(document.data, path) == data), first)


def _documents_of(linted: LintedDocument, mark: Mark) -> Iterator[Document]:
    """Where a mark may be: in its own documents, or in those of the mark's file."""
    own = [each for each in (linted.given, linted.runtime) if each]
    yield from own
    yield from (each for each in linted.documents.of_file(mark.file) if not any(each is one for one in own))


def _changes(edits: Sequence[Edit], document: Document, linted: LintedDocument, paths: Paths) -> list[Change]:
    """The edits as changes of the finding's document; none where one of them is not in its text."""
    made = []
    for at, change in edits:
        of, path, mark = _source_of(at, linted, paths)
        if of is not document or mark.layer or mark.file != document.file or not _is_in(mark, of, path):
            return []
        made.append(change.below((*of.inside, *path)))
    return made


def _is_in(mark: Mark, document: Document, path: Path) -> bool:
    """Whether a place is in a document's own text."""
    return bool(mark.line) and str(document.nearest(path).place()) == str(mark)


def spelt(path: Path) -> Path:
    """A path with the keys of maps spelt as such."""
    steps: list[str | int] = []
    for step in path:
        above = steps[-1] if steps else ""
        is_key = isinstance(step, str) and above in _MAPS and not isinstance(above, Key)
        steps.append(Key(step) if is_key else step)
    return tuple(steps)


_REPLICAS = ("pytorchReplicaSpecs", *(each.replicas for each in SIBLINGS.values()))
#: Fields whose keys are data.
_MAPS = ("annotations", "labels", "limits", "matchLabels", "nodeSelector", "requests", *_REPLICAS)
