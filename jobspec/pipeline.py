"""The journey of files: read, apply overlays, check in a cluster, review by plugins and webhooks, foresee what becomes of jobs.

Each step takes values and gives values; files, streams and processes belong to `commands/`.
"""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, DocumentResult, FileResult, deduplicated, has_error
from jobspec.documents.document import Document, OnePlace, result_of
from jobspec.documents.reader import MAX_BYTES, decode
from jobspec.documents.reader import read as read_documents
from jobspec.findings import Answer, Rule
from jobspec.kinds import (
    CLUSTER_TRAINING_RUNTIME,
    CUSTOM_RESOURCE_DEFINITION,
    GENERATING_KINDS,
    JOBSET,
    KUSTOMIZATION,
    LIMIT_RANGE,
    MOUNTED_KINDS,
    NAMESPACE,
    OVERLAY,
    PLUGIN_REVIEWED,
    POD,
    POLICY_KINDS,
    PRIORITY_CLASS,
    PYTORCHJOB,
    RESOURCE_QUOTA,
    TRAINING_RUNTIME,
    TRAINJOB,
    WEBHOOK_LOOKUPS,
    WRAPPING_KINDS,
    find,
    is_cluster_scoped,
)
from jobspec.kubernetes.verdict import Verdict, verdict
from jobspec.operators.webhooks import Objects, diagnostics
from jobspec.workloads import Workload, is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence
    from typing import Any, Literal, TypeVar

    from jobspec.cluster import Cluster
    from jobspec.diagnostics import Status
    from jobspec.findings import Name
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.kustomize import InBuild
    from jobspec.overlays.load import LoadedOverlay
    from jobspec.targets import Target

    T = TypeVar("T")
    R = TypeVar("R")
    #: `run(items, work)` is `[work(item) for item in items]`.
    Run = Callable[[Sequence[Any], Callable[[Any], "Checked"]], list["Checked"]]
    #: `unknown`: the document is no manifest, or of a kind that jobspec does not know.
    Judgement = Literal["valid", "invalid", "partly", "unknown"]


class Source:
    """A file's content under its name."""

    __slots__ = ("content", "first_line", "in_build", "name", "part", "skip_unknown", "values")

    def __init__(
        self,
        name: str,
        content: str | bytes,
        *,
        skip_unknown: bool = False,
        in_build: InBuild | None = None,
        part: int = 0,
        first_line: int = 0,
        values: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.content = content
        self.values = values
        """Values to fill in for placeholders; None where nobody gives any."""
        self.skip_unknown = skip_unknown
        """Whether a document that is no manifest or of an unknown kind is skipped and counted, instead of an error."""
        self.in_build = in_build
        """What the file is in the builds of its repository; None where it is judged as it is."""
        self.part = part
        """The number of the part of a large file that it is."""
        self.first_line = first_line
        """How many lines of the file are before it."""

    @property
    def key(self) -> str:
        """The path of its result: the name, with the number of a later part behind a NUL."""
        return f"{self.name}{PART}{self.part}" if self.part else self.name


PART = "\0"
"""What stands between a path and the number of a part."""


def whole(results: Sequence[FileResult]) -> list[FileResult]:
    """The results of files, those of the parts of a file together, with the documents counted from its beginning."""
    if not any(PART in each.path for each in results):
        return list(results)
    parts: dict[str, list[FileResult]] = {}
    for each in results:
        parts.setdefault(each.path.partition(PART)[0], []).append(each)
    return [_joined(path, several) for path, several in parts.items()]


def _joined(path: str, parts: Sequence[FileResult]) -> FileResult:
    rows: list[DocumentResult] = []
    found: list[Diagnostic] = []
    for part in parts:
        first = rows[-1].index + 1 if rows else 0
        rows += [each.moved(first + each.index) for each in part.documents]
        found += [each if each.document is None else each.in_document(first + each.document) for each in part.diagnostics]
    return FileResult(path, rows, found, ignored=sum(each.ignored for each in parts))


class Manifests:
    """The documents of a file, as they are read or with overlays applied."""

    __slots__ = ("comments", "diagnostics", "documents", "name", "settled", "skip_unknown", "text")

    def __init__(
        self,
        name: str,
        documents: Sequence[Document],
        diagnostics: Sequence[Diagnostic] = (),
        *,
        text: str = "",
        skip_unknown: bool = False,
        settled: Sequence[DocumentResult] | None = None,
        comments: bool = False,
    ) -> None:
        self.name = name
        self.documents = documents
        self.diagnostics = diagnostics
        self.text = text
        """The text that the documents were read from; empty where overlays were applied."""
        self.skip_unknown = skip_unknown
        self.settled = settled
        """The results of the documents where no check follows: the file is skipped, or overlays cannot be applied. None otherwise."""
        self.comments = comments
        """Whether the file may have comments that ignore findings."""

    def applied(
        self, documents: Sequence[Document], diagnostics: Sequence[Diagnostic], *, settled: Sequence[DocumentResult] | None = None
    ) -> Manifests:
        """The same file after overlays were applied, or refused."""
        return Manifests(self.name, documents, diagnostics, skip_unknown=self.skip_unknown, settled=settled, comments=self.comments)


class Checked:
    """A file's result, and its documents."""

    __slots__ = ("comments", "documents", "objects", "pending", "result", "unforeseen")

    def __init__(
        self,
        result: FileResult,
        documents: Sequence[Document],
        objects: Sequence[Document] = (),
        pending: Sequence[Pending] = (),
        unforeseen: Sequence[Document] = (),
        *,
        comments: bool = False,
    ) -> None:
        self.result = result
        self.documents = documents
        """The documents that can be rendered: all but skipped ones without a kind or name."""
        self.objects = objects
        """The accepted objects that documents of other files can refer to."""
        self.pending = pending
        self.unforeseen = unforeseen
        """The accepted jobs of which nobody can say what becomes of them before their runtimes are found in other files."""
        self.comments = comments
        """Whether the file may have comments that ignore findings."""

    @property
    def has_jobs(self) -> bool:
        """Whether jobs are among the accepted documents."""
        return any(each.status == "valid" and is_workload(each) for each in self.result.documents)

    def without_documents(self) -> Checked:
        """The same without the documents, which other processes do not need."""
        return Checked(self.result, (), self.objects, self.pending, self.unforeseen, comments=self.comments)

    def without_definitions(self) -> Checked:
        """The same with the names of CRDs alone, which are much of a repository's memory, and which nobody looks into."""
        documents = [_named(each) if each.group_kind == CUSTOM_RESOURCE_DEFINITION else each for each in self.documents]
        return Checked(self.result, documents, self.objects, self.pending, self.unforeseen, comments=self.comments)

    def with_result(self, result: FileResult, *, unforeseen: Sequence[Document] | None = None) -> Checked:
        """The same with another result."""
        unforeseen = self.unforeseen if unforeseen is None else unforeseen
        return Checked(result, self.documents, self.objects, self.pending, unforeseen, comments=self.comments)


def _named(document: Document) -> Document:
    """A document with its name alone."""
    data = {"apiVersion": document.api_version, "kind": document.kind, "metadata": {"name": document.name}}
    place = document.marks.nearest(("metadata", "name")).place()
    return Document(data, OnePlace(data, place), file=document.file, index=document.index, is_item=document.is_item)


class Pending:
    """A document that refers to objects which are not in its own file, and may be in others."""

    __slots__ = ("judged", "objects")

    def __init__(self, judged: Judged, objects: Objects) -> None:
        self.judged = judged
        self.objects = objects
        """The objects of its own file."""


def _one_by_one(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    return [work(item) for item in items]


def check_files(
    files: Sequence[T],
    load: Callable[[T, Cluster], Manifests],
    cluster: Cluster,
    *,
    outcome: bool,
    documents: bool = True,
    definitions: bool = True,
    run: Run = _one_by_one,
    worlds: Sequence[str] = (),
    has_placeholders: Callable[[T], bool] = lambda _: False,
) -> list[Checked]:
    """Check files one by one, and then what they say of each other: the whole journey of several files.

    *load* gives the documents of a file, with overlays applied that a cluster takes. *outcome*: what becomes of accepted jobs is reported,
    too; where objects of other files decide on their pods, files with jobs are checked once more, with these objects. Without *documents*
    the results alone come back, without *definitions* of CRDs their names. *run* goes through
    the files, in several processes for example. *worlds*: of each file, what is applied together with it, such as its folder: quotas and
    limits without a namespace reach no further. *has_placeholders*: whether others fill values of a file in, for which others stand in.
    """

    def all_in(cluster: Cluster, files: Sequence[T]) -> list[Checked]:
        deciding = _policies_in(cluster) if outcome else None

        def check_one(each: T) -> Checked:
            manifests = load(each, cluster)
            checked = check(manifests, cluster)
            if not checked.result.valid and has_placeholders(each):
                checked = check(with_stand_ins(manifests, checked, cluster), cluster)
            checked = foresee(checked, cluster, policies=deciding) if outcome else checked
            if not documents:
                return checked.without_documents()
            return checked if definitions else checked.without_definitions()

        return run(files, check_one)

    checked = all_in(cluster, files)
    worlds = worlds or [""] * len(files)
    deciding = _with_policies(checked, worlds, cluster) if outcome and len(files) > 1 else {}
    for world, there in deciding.items():
        again = [number for number, each in enumerate(checked) if each.has_jobs and worlds[number] == world]
        for number, each in zip(again, all_in(there, [files[number] for number in again]), strict=True):
            checked[number] = each
    resolved = resolve(checked, cluster, worlds)
    return _foresee_rest(resolved, [deciding.get(world, cluster) for world in worlds]) if outcome else resolved


def checked(source: Source, overlays: Sequence[LoadedOverlay], cluster: Cluster) -> Checked:
    """One file: read, with overlays applied, and checked."""
    return check(load(source, overlays, cluster), cluster)


def load(source: Source, overlays: Sequence[LoadedOverlay], cluster: Cluster) -> Manifests:
    """The documents of a file, with overlays applied."""
    return apply(read(source, cluster.target), overlays, cluster)


def read(source: Source, target: Target) -> Manifests:
    """The documents of a file, with the items of a `v1` List in its place, and the mistakes in its YAML."""
    within = source.in_build
    if within and within.role:
        return _skipped(source, within)
    raw = source.content if isinstance(source.content, bytes) else source.content.encode(errors="surrogatepass")
    if source.skip_unknown and len(raw) > MAX_BYTES and b"apiVersion" not in raw:  # large data of programs
        return Manifests(source.key, (), settled=[DocumentResult(0, "skipped")])
    text = decode(raw, source.name)
    documents: list[Document] = []
    if isinstance(text, Diagnostic):
        problems, text = [text], ""
    else:
        documents, problems = read_documents(text, file=source.name, first_line=source.first_line)
        lost = _lost(text, problems, target) if problems else {}
        problems = [problem for problem in problems if problem.document not in lost] + list(lost.values())
        documents = [document for document in documents if document.index not in lost]
    comments = b"jobspec:" in raw
    if source.skip_unknown and problems and b"apiVersion" not in raw:  # no manifest at all, such as JSON with comments
        indices = {document.index for document in documents} | {problem.document or 0 for problem in problems}
        return Manifests(source.key, documents, settled=[DocumentResult(index, "skipped") for index in sorted(indices)], comments=comments)
    if source.skip_unknown and problems:
        from jobspec.placeholders import template_in

        note = template_in(text, source.name)
        if note:
            return Manifests(source.key, (), [note], settled=[DocumentResult(0, "skipped", reason="template")])
    documents = [item for document in documents for item in items_of(document)]
    if within and within.is_built:
        rows = [result_of(each, "skipped") for each in documents]
        return Manifests(source.key, (), problems, settled=rows, comments=comments)
    documents = [
        inside
        for each in _completed(documents, source, target)
        for inside in _with_wrapped(each, "" if within and within.build else text, target)
    ]
    return Manifests(source.key, documents, problems, text=text, skip_unknown=source.skip_unknown, comments=comments)


def _with_wrapped(document: Document, text: str, target: Target) -> list[Document]:
    """A document, and the manifests inside of it, in which any values stand in for the parameters of its controller."""
    if document.kind not in WRAPPING_KINDS or not isinstance(document.data, dict):
        return [document]
    from jobspec.documents.wrapped import PARAMETER, wrapped_in
    from jobspec.placeholders import without_parameters

    return [document, *(without_parameters(each, PARAMETER, target) for each in wrapped_in(document, text))]


def _completed(documents: list[Document], source: Source, target: Target) -> list[Document]:
    """The documents of a file as builds, engines and given values complete them."""
    within = source.in_build
    if within and within.build:
        documents = within.build.documents(documents)
    if within and (within.namespace or within.default_namespace):
        from jobspec.kustomize import in_namespace

        documents = [in_namespace(each, within) for each in documents]
    if source.values is not None:
        from jobspec.placeholders import filled_in

        documents = filled_in(documents, source.values, target)
    return documents


def _skipped(source: Source, within: InBuild) -> Manifests:
    """A file that is no manifest; of a kustomization lint reads what it generates."""
    text = decode(source.content, source.name) if "kustomization" in within.role and isinstance(source.content, bytes) else ""
    documents = read_documents(text, file=source.name)[0] if isinstance(text, str) else []
    notes, rows = [within.note] if within.note else [], [DocumentResult(0, "skipped", reason=within.role)]
    return Manifests(source.key, documents, notes, settled=rows)


def with_stand_ins(manifests: Manifests, checked: Checked, cluster: Cluster) -> Manifests:
    """The manifests with values in place of the placeholders that a server refuses, and a note for each, without a message."""
    from jobspec.placeholders import stood_in

    errors = [each for each in checked.result.diagnostics if each.severity == "error"]
    documents, notes = stood_in(manifests.documents, errors, cluster.target)
    if not notes or manifests.settled is not None:
        return manifests
    made = Manifests(
        manifests.name,
        documents,
        [*manifests.diagnostics, *notes],
        text=manifests.text,
        skip_unknown=manifests.skip_unknown,
        comments=manifests.comments,
    )
    return with_stand_ins(made, check(made, cluster), cluster)


def _lost(text: str, problems: list[Diagnostic], target: Target) -> dict[int | None, Diagnostic]:
    """Index -> the only problem of each document that has lost its indentation, in place of all that follow from it."""
    from jobspec.kubernetes.builtin import lost_indentation

    found = {problem.document: lost_indentation(text, problem, target) for problem in reversed(problems)}
    return {document: lost for document, lost in found.items() if lost}


def items_of(document: Document) -> list[Document]:
    """The items of a `v1` List as documents of their own; any other document is itself."""
    items = document.data.get("items") if isinstance(document.data, dict) else None
    if document.kind != "List" or document.api_version != "v1" or not isinstance(items, list):
        return [document]

    return [document.part(item, ("items", number)) for number, item in enumerate(items)]


def apply(manifests: Manifests, overlays: Sequence[LoadedOverlay], cluster: Cluster) -> Manifests:
    """The manifests with overlays applied to their jobs.

    They are applied only to a file that is valid without them, by all checks but the webhooks'; else its own mistakes are reported.
    """
    if not overlays or manifests.settled is not None:
        return manifests
    from jobspec.overlays.apply import apply as apply_overlays

    base = check(manifests, cluster.for_bases())
    if not base.result.valid:
        return manifests.applied(base.documents, base.result.diagnostics, settled=base.result.documents)
    applied = apply_overlays(base.documents, overlays, cluster.target)
    if has_error(applied.diagnostics):
        settled = [result_of(row, "invalid") if is_workload(row) else row for row in base.result.documents]
        return manifests.applied(base.documents, applied.diagnostics, settled=settled)
    return manifests.applied(applied.documents, applied.diagnostics)


def check(manifests: Manifests, cluster: Cluster) -> Checked:
    """The result of a file's manifests in a cluster."""
    if manifests.settled is not None:
        result = FileResult(manifests.name, manifests.settled, manifests.diagnostics)
        generating = [each for each in manifests.documents if cluster.closed and each.group_kind == KUSTOMIZATION]
        return Checked(result, manifests.documents, generating, comments=manifests.comments)
    of_text, diagnostics = list(manifests.diagnostics), []
    broken = {problem.document for problem in of_text if problem.severity == "error" and not problem.mark.layer}
    judged = judge(manifests.documents, cluster, broken=broken)
    documents = []
    rows: dict[int, list[DocumentResult]] = {}
    pending = []
    objects = objects_beside(judged, cluster) if any(each.wanted for each in judged) else None
    for each in judged:
        document = each.document
        if document.is_held:
            diagnostics += [_as_info(found) for found in each.diagnostics if each.by_server.status != "unknown"]
            continue
        row, wrong = _of_overlay(document, _row(each, skip_unknown=manifests.skip_unknown), cluster)
        diagnostics += wrong
        rows.setdefault(document.index, []).append(row)
        if row.status == "skipped":
            of_text = [known for known in of_text if known.document != document.index]
        else:
            diagnostics += each.diagnostics
        if row.status != "skipped" or (document.kind and document.name):
            documents.append(document)
        if objects and each.wanted:
            pending.append(Pending(each, objects))
    for index in broken - rows.keys():
        if index is not None:
            rows[index] = [DocumentResult(index, "invalid")]
    result = FileResult(manifests.name, [row for index in sorted(rows) for row in rows[index]], deduplicated([*of_text, *diagnostics]))
    shared = [each.seen for each in judged if each.can_be_looked_up and (cluster.closed or each.document.group_kind not in _MOUNTED)]
    return Checked(result, documents, shared, pending, comments=manifests.comments)


def _of_overlay(document: Document, row: DocumentResult, cluster: Cluster) -> tuple[DocumentResult, list[Diagnostic]]:
    """The result of a document, and what is wrong with it where it is an overlay, which no server judges."""
    if row.status != "valid" or document.group_kind != OVERLAY:
        return row, []
    from jobspec.overlays.load import overlay_problems

    wrong = [each.in_document(document.index) for each in overlay_problems(document, cluster.target)]
    return result_of(document, "invalid") if wrong else row, wrong


def _as_info(found: Diagnostic) -> Diagnostic:
    """A finding in a manifest that a ConfigMap holds."""
    return Diagnostic(found.rule, found.message, found.mark, field=found.field, document=found.document, severity="info", hint=found.hint)


def _row(judged: Judged, *, skip_unknown: bool) -> DocumentResult:
    if judged.status != "unknown":
        return result_of(judged.document, judged.status)
    return result_of(judged.document, "skipped" if skip_unknown and not judged.by_server.near_miss else "invalid")


def resolve(files: Sequence[Checked], cluster: Cluster, worlds: Sequence[str] = ()) -> list[Checked]:
    """The files with references between them resolved: documents can refer to accepted objects of other files, too.

    Only documents with such a reference are reviewed again. *worlds*: as in `check_files`.
    """
    holders: dict[Name, list[tuple[int, Document]]] = {}
    for number, file in enumerate(files):
        for document in file.objects:
            for name in names_of(document):
                holders.setdefault(name, []).append((number, document))
    if not holders:
        return list(files)
    worlds = worlds or [""] * len(files)

    def of_name(name: Name, number: int) -> list[Document]:
        """The documents of other files that hold, or make, an object of a name; some are made in namespaces that nobody names."""
        kind, _, own = name
        found = [*holders.get(name, ()), *holders.get((kind, "*", own), ())]
        return [each for at, each in found if at != number and _reaches(each, worlds[at], worlds[number])]

    return [_resolved(file, lambda name, number=number: of_name(name, number), cluster) for number, file in enumerate(files)]  # type: ignore[misc]


def _reaches(document: Document, world: str, other: str) -> bool:
    """Whether an object of one world counts in another one: quotas and limits without a namespace do not."""
    return world == other or bool(document.namespace) or document.group_kind not in (LIMIT_RANGE, RESOURCE_QUOTA)


def _resolved(file: Checked, of_name: Callable[[Name], Sequence[Document]], cluster: Cluster) -> Checked:
    result = file.result
    for each in file.pending:
        answer, found = each.judged, []
        while new := [each for name in answer.wanted for each in of_name(name) if each not in found]:
            found += new  # a found object may refer to further ones
            objects = each.objects.with_others(found)
            answer = reviewed(each.judged, objects, cluster, policies_beside(objects))
        if found:
            result = _replaced(result, each, answer)
    return file.with_result(result)


def _replaced(result: FileResult, pending: Pending, answer: Judged) -> FileResult:
    """A file's result with a new answer of the webhooks to one document."""
    before = set(map(id, pending.judged.by_webhooks))
    kept = [each for each in result.diagnostics if id(each) not in before]
    status: Status = answer.status if answer.status in ("valid", "partly") else "invalid"
    runs = None if status == "valid" else False
    rows = [result_of(row, status, runs=runs) if _is_of(row, pending.judged.document) else row for row in result.documents]
    return FileResult(result.path, rows, deduplicated([*kept, *answer.by_webhooks]))


def foresee(file: Checked, cluster: Cluster, *, policies: PolicyObjects | None = None) -> Checked:
    """A file with what becomes of its jobs, as far as its own documents tell; to be done before `resolve`.

    *policies*: what `_policies_in` finds in the cluster, for a caller that has many files.
    """
    jobs = [each for each in file.documents if is_workload(each)]
    return _foreseen(file, jobs, _accepted(file), cluster, policies or _policies_in(cluster)) if jobs else file


def _policies_in(cluster: Cluster) -> PolicyObjects | None:
    """The cluster's own objects that decide on pods; None without any."""
    return _with_policies_among(cluster.objects, None, cluster)


def _with_policies_among(documents: Sequence[Document], policies: PolicyObjects | None, cluster: Cluster) -> PolicyObjects | None:
    if not documents:
        return policies
    from jobspec.outcome.programs import policies_among

    return policies_among(documents, policies, closed=cluster.closed)


def _accepted(file: Checked) -> list[Document]:
    """The documents of a file that its jobs can refer to, such as runtimes, and that a server does not refuse."""
    refused = {_identity(row) for row in file.result.documents if row.status == "invalid"}
    return [each for each in file.documents if each.group_kind in WEBHOOK_LOOKUPS and _identity(each) not in refused]


def _foresee_rest(files: Sequence[Checked], clusters: Sequence[Cluster]) -> list[Checked]:
    """Resolved files with what becomes of the jobs whose runtimes are in other files, each in its cluster."""
    objects = [each for file in files for each in file.objects if each.group_kind in WEBHOOK_LOOKUPS]
    if not any(file.unforeseen for file in files):
        return list(files)

    def foreseen(file: Checked, cluster: Cluster) -> Checked:
        return _foreseen(file, file.unforeseen, objects, cluster, _policies_in(cluster)) if file.unforeseen else file

    return _each_warning_once([foreseen(file, cluster) for file, cluster in zip(files, clusters, strict=True)])


def _each_warning_once(files: Sequence[Checked]) -> list[Checked]:
    """The files without warnings that are told of the same line, such as one of a runtime, in an earlier file.

    An error is told in each file that it hits, none of which is valid.
    """
    made, told = [], set()
    for file in files:
        kept = []
        for each in file.result.diagnostics:
            mistake = (each.rule, str(each.mark), each.message)
            if each.stage != "outcome" or each.severity == "error" or mistake not in told:
                kept.append(each)
            told.add(mistake)
        made.append(file.with_result(file.result.with_only(kept, ignored=0)))
    return made


def _with_policies(files: Sequence[Checked], worlds: Sequence[str], cluster: Cluster) -> dict[str, Cluster]:
    """By world, the cluster with the objects of all files that decide on its pods, where a job meets such objects of another file."""
    from jobspec.outcome.programs import decides

    holders = [(number, each) for number, file in enumerate(files) for each in file.objects if decides(each, closed=cluster.closed)]
    found = {}
    for world in dict.fromkeys(worlds[number] for number, file in enumerate(files) if file.has_jobs) if holders else ():
        met = [(number, each) for number, each in holders if _reaches(each, worlds[number], world)]
        places = {number for number, _ in met}
        if any(places - {number} for number, file in enumerate(files) if file.has_jobs and worlds[number] == world):
            found[world] = cluster.with_objects([each for _, each in met])
    return found


def _meant(job: Document, runtimes: Mapping[str, Sequence[Document]]) -> Sequence[Document]:
    """The runtimes, by name, that a job may mean."""
    from jobspec.operators.trainer.runtimes import RuntimeReference

    return runtimes.get(str(RuntimeReference(job.data).name), ())


def _foreseen(
    file: Checked, jobs: Sequence[Document], context: Sequence[Document], cluster: Cluster, policies: PolicyObjects | None
) -> Checked:
    from jobspec.outcome.ordinary import foresee as foresee_job

    rows, unforeseen = list(file.result.documents), []
    told: dict[tuple[str, str, str], Diagnostic] = {}
    places = {_identity(row): at for at, row in reversed(list(enumerate(rows)))}
    policies = _with_policies_among(file.objects, policies, cluster)
    classes = [each for each in context if each.group_kind == PRIORITY_CLASS]
    named: dict[str, list[Document]] = {}
    for each in context:
        if each.group_kind != PRIORITY_CLASS:
            named.setdefault(each.name, []).append(each)
    for job in jobs:
        at = places[_identity(job)]
        if rows[at].status != "valid":
            rows[at] = result_of(rows[at], rows[at].status, runs=False)
            continue
        meant = [*(_meant(job, named) if named else ()), *classes]
        foresight = foresee_job(job, meant, cluster, policies)
        if foresight is None:
            unforeseen.append(job)
        else:
            rows[at] = result_of(rows[at], rows[at].status, runs=foresight.runs)
            for found in foresight.diagnostics:
                told.setdefault(_mistake(found, job), found)
    result = FileResult(file.result.path, rows, deduplicated([*file.result.diagnostics, *told.values()]))
    return file.with_result(result, unforeseen=unforeseen)


def _mistake(found: Diagnostic, job: Document) -> tuple[str, str, str]:
    """What is the same where a mistake hits several jobs, such as one in their runtime: all but the name of the job."""
    return found.rule, str(found.mark), found.message.replace(f"`{job.name}", "`")


def _is_of(row: DocumentResult, document: Document) -> bool:
    """Whether a row of a result is that of a document."""
    return _identity(row) == _identity(document)


def _identity(each: DocumentResult | Document) -> tuple[int, str, str, str]:
    """What a row of a result and its document have in common."""
    return each.index, each.api_version, each.kind, each.name


# Judge documents in a cluster: by the API server's own checks, then by the operators' webhooks.


_MOUNTED = frozenset((*MOUNTED_KINDS, *GENERATING_KINDS))
_REFERRED = frozenset((*WEBHOOK_LOOKUPS, *POLICY_KINDS, *MOUNTED_KINDS, *GENERATING_KINDS))


class Judged:
    """A document, with the server's verdict and the diagnostics of the webhooks."""

    __slots__ = ("by_server", "by_webhooks", "document", "old", "seen", "wanted")

    def __init__(
        self,
        document: Document,
        by_server: Verdict,
        *,
        seen: Document | None = None,
        old: Document | None,
        by_webhooks: Sequence[Diagnostic] = (),
        wanted: Sequence[Name] = (),
    ) -> None:
        self.document = document
        self.by_server = by_server
        self.seen = seen or document
        """The document that the validating webhooks see: rewritten by a mutating one, and as Go decodes what breaks its schema."""
        self.old = old
        """The stored object that the document updates; None for a new object."""
        self.by_webhooks = by_webhooks
        self.wanted = wanted
        """The objects that a webhook looks up and does not find in the same file."""

    def reviewed(self, diagnostics: Sequence[Diagnostic], wanted: Sequence[Name] = ()) -> Judged:
        """The same with the diagnostics of the webhooks."""
        return Judged(self.document, self.by_server, seen=self.seen, old=self.old, by_webhooks=diagnostics, wanted=wanted)

    def seen_as(self, seen: Document, *, old: Document | None) -> Judged:
        """The same with other documents for the webhooks to see."""
        return Judged(self.document, self.by_server, seen=seen, old=old, by_webhooks=self.by_webhooks, wanted=self.wanted)

    @property
    def status(self) -> Judgement:
        """The verdict of both."""
        return "invalid" if has_error(self.by_webhooks) else self.by_server.status

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """The diagnostics of both."""
        return [*self.by_server.diagnostics, *self.by_webhooks]

    @property
    def can_be_looked_up(self) -> bool:
        """Whether the document is an accepted object of a kind that webhooks or the server's own plugins look up."""
        kind = self.document.group_kind
        return (
            kind in _REFERRED
            and not self.document.is_held
            and (self.status in ("valid", "partly") or (kind in GENERATING_KINDS and self.status == "unknown"))
        )


def judge(documents: Sequence[Document], cluster: Cluster, *, broken: Container[int | None] = ()) -> list[Judged]:
    """The judgement of each document of a file; documents with a *broken* index are invalid, since decoding them found an error.

    What refers to others is reviewed last, since only accepted objects can be referred to.
    """
    judged = [_by_server(document, cluster, broken=document.index in broken) for document in documents]
    if not any(_is_reviewed(each, cluster) for each in judged):
        return judged
    judged = [each if _refers(each) else reviewed(each, Objects(), cluster) for each in judged]
    if not any(map(_refers, judged)):
        return judged
    objects = objects_beside(judged, cluster)
    policies = policies_beside(objects) if any(each.document.group_kind in PLUGIN_REVIEWED for each in judged) else None
    return [reviewed(each, objects, cluster, policies) if _refers(each) else each for each in judged]


def _is_reviewed(judged: Judged, cluster: Cluster) -> bool:
    """Whether webhooks or plugins look at a document."""
    kind = judged.document.group_kind
    return kind in PLUGIN_REVIEWED or (cluster.webhooks and (judged.status == "valid" or kind in WEBHOOK_LOOKUPS))


def _refers(judged: Judged) -> bool:
    """Whether what is said of a document depends on others."""
    kind = judged.document.group_kind
    return kind == TRAINJOB or (kind in PLUGIN_REVIEWED and kind != NAMESPACE)


def objects_beside(judged: Sequence[Judged], cluster: Cluster) -> Objects:
    """The objects that webhooks and plugins can look up for the documents of one file: those in the file, and the cluster's."""
    found = [each for each in judged if each.document.group_kind in _REFERRED]
    accepted = [each.seen for each in found if each.can_be_looked_up]
    refused = [each.document for each in found if not each.can_be_looked_up]
    return Objects(accepted, cluster.objects, refused=refused, closed=cluster.closed)


def policies_beside(objects: Objects) -> PolicyObjects | None:
    """The objects that decide on pods and claims, and those that pods may wait for where there are no others; None without any."""
    found = (*objects.elsewhere, *objects.in_file)
    wanted = (*POLICY_KINDS, *MOUNTED_KINDS, *GENERATING_KINDS) if objects.closed else POLICY_KINDS
    if not any(each.group_kind in wanted for each in found):
        return None
    from jobspec.kubernetes.admission.objects import policies_of

    return policies_of(found, closed=objects.closed)


def _by_server(document: Document, cluster: Cluster, *, broken: bool) -> Judged:
    old = cluster.stored.of(document) if cluster.stored else None
    if cluster.later and (unknown := _of_later_release(document, cluster)):
        return Judged(document, unknown, old=old)
    seen = document
    found = verdict(document, cluster.target, custom_kinds=cluster.custom_kinds, old=old)
    if cluster.webhooks and (found.status == "invalid" or document.group_kind == JOBSET):
        from jobspec.operators.webhooks import is_rewritten, rewritten

        seen = rewritten(document, cluster.target) if is_rewritten(document, cluster.target, old=old) else document
        if seen is not document:
            found = verdict(seen, cluster.target, custom_kinds=cluster.custom_kinds, old=old)
    return Judged(document, found.refused() if broken and found.status != "unknown" else found, seen=seen, old=old)


def _of_later_release(document: Document, cluster: Cluster) -> Verdict | None:
    """The verdict on a kind of an operator's release that came after all known ones, where no CRD defines it; None for other kinds."""
    kind = find(document.api_version, document.kind)
    if not kind or kind.component not in cluster.later or (cluster.custom_kinds and cluster.custom_kinds.defines(document)):
        return None
    release = f"{kind.component} {cluster.later[kind.component]}"
    message = f"jobspec does not know {release}, and no CRD in --crd defines {document.kind}"
    problem = document.problem("unknown-kind", message, ("kind",), hint=f"give the CRD of {release}, too")
    return Verdict("invalid", [problem])


def reviewed(judged: Judged, objects: Objects, cluster: Cluster, policies: PolicyObjects | None = None) -> Judged:
    """The judgement with the diagnostics of the server's own plugins, or of the webhooks; they review only what the server accepts.

    *policies*: those among the objects.
    """
    if judged.by_server.status not in ("valid", "partly"):
        return judged
    if judged.document.group_kind in PLUGIN_REVIEWED:
        return _by_plugins(judged, policies, cluster)
    return _by_webhooks(judged, objects, cluster) if cluster.webhooks else judged


def _by_plugins(judged: Judged, policies: PolicyObjects | None, cluster: Cluster) -> Judged:
    document = judged.document
    if cluster.custom_kinds and cluster.custom_kinds.defines(document):
        return judged
    namespace = document.namespace
    wanted = [(NAMESPACE, "", namespace), (LIMIT_RANGE, namespace, ""), (RESOURCE_QUOTA, namespace, "")]
    if policies is None and document.group_kind not in (POD, NAMESPACE):
        return judged.reviewed((), wanted)
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.kubernetes.admission.review import answer

    found = answer(document, cluster.target, policies or PolicyObjects(closed=cluster.closed), old=judged.old)
    return judged.reviewed(found.diagnostics, [*wanted, *found.wanted])


def _by_webhooks(judged: Judged, objects: Objects, cluster: Cluster) -> Judged:
    if cluster.custom_kinds or judged.old:
        judged, is_answered = _decoded(judged, cluster)
        if is_answered:
            return judged
    if judged.by_server.status != "valid":
        return judged
    answer = review(judged.seen, cluster.target, objects, old=judged.old)
    return judged.reviewed(answer.diagnostics, answer.wanted)


def _decoded(judged: Judged, cluster: Cluster) -> tuple[Judged, bool]:
    """A judgement with the document and the stored object as the webhooks decode them, and whether that is all that they do.

    The webhooks know the types of their own release, and not those of a CRD that the user brings.
    """
    from jobspec.operators.webhooks import as_decoded, undecodable

    as_new = verdict(judged.seen, cluster.target)
    judged = judged.seen_as(judged.seen, old=judged.old and as_decoded(judged.old, cluster.target))
    if as_new.status == "valid":
        return judged, False
    judged = judged.seen_as(as_decoded(judged.seen, cluster.target), old=judged.old)
    if cluster.custom_kinds:
        return judged, True
    wrong = undecodable(as_new)
    return judged.reviewed(wrong), bool(wrong)


def names_of(document: Document) -> list[Name]:
    """The names by which webhooks and plugins look up an object; the namespace is empty for kinds without one.

    What plugins take all of, such as the LimitRanges of a namespace, is looked up by an empty name, too.
    """
    kind = document.group_kind
    if kind in GENERATING_KINDS:
        from jobspec.kubernetes.admission.generated import generated_by

        made = [(each, each["metadata"]) for each in generated_by(document.data)]
        return [(("", each["kind"]), metadata["namespace"] or "", metadata["name"]) for each, metadata in made]
    namespace = "" if is_cluster_scoped(document.api_version, document.kind) else document.namespace
    every = [(kind, namespace, "")] if kind in (LIMIT_RANGE, RESOURCE_QUOTA, PRIORITY_CLASS) else []
    return [(kind, namespace, document.name), *every]


# Review a document by its operator's webhooks; the rules of a kind are loaded only for documents of that kind.


def review(document: Document, target: Target, objects: Objects, *, old: Document | None = None) -> Answer:
    """The webhooks' answer to a document, as an update of *old* where there is one; an empty answer for kinds without a webhook."""
    document, old = _with_spec(document), old and _with_spec(old)
    if document.group_kind == TRAINJOB:
        from jobspec.operators.trainer.webhook import answer_to_trainjob

        return answer_to_trainjob(document, target, objects, old=old)
    RULES: Sequence[Rule]  # noqa: N806 (one of the lists)
    if document.group_kind == PYTORCHJOB:
        from jobspec.operators.training_operator.webhook import WEBHOOK_RULES as RULES
    elif document.group_kind in (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME):
        from jobspec.operators.trainer.webhook import RUNTIME_RULES as RULES
    elif document.group_kind == JOBSET:
        from jobspec.operators.jobset.webhook import CREATE_RULES, UPDATE_RULES

        RULES = UPDATE_RULES if old else CREATE_RULES  # noqa: N806
    else:
        return Answer([])
    return Answer(diagnostics(RULES, Workload(document, old=old), target))


def _with_spec(document: Document) -> Document:
    """The document as Go decodes it: an absent `spec` is an empty one."""
    return document if document.data.get("spec") is not None else document.changed({**document.data, "spec": {}})
