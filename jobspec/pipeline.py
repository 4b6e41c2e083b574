"""The journey of files: read, apply overlays, check in a cluster, refer to each other, and foresee what becomes of jobs.

Each step takes values and gives values; files, streams and processes belong to `commands/`.
"""

from __future__ import annotations

import jobspec.kinds as kinds
from jobspec.cluster import MOUNTED, can_be_looked_up, judge, names_of, objects_for, parameters_in, policies_for, reviewed
from jobspec.diagnostics import Diagnostic, DocumentResult, FileResult, Record, deduplicated, gathered, grouped, has_error
from jobspec.documents.document import KUSTOMIZATIONS, Document, result_of
from jobspec.documents.reader import MAX_BYTES, decode
from jobspec.documents.reader import read as read_documents
from jobspec.go.values import mapping, structs
from jobspec.workloads import is_workload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from dataclasses import KW_ONLY
    from typing import Any, TypeVar

    from jobspec.cluster import Cluster, Judged
    from jobspec.diagnostics import Status
    from jobspec.kinds import GroupKind, Name
    from jobspec.kubernetes.admission.objects import PolicyObjects
    from jobspec.kustomize import InBuild
    from jobspec.operators.webhooks import Objects
    from jobspec.overlays.load import LoadedOverlay
    from jobspec.targets import Target

    T = TypeVar("T")
    R = TypeVar("R")
    #: The parts of a file that are read, and whether a document in them is wanted.
    Wanted = tuple[Callable[[T], Sequence[T]], Callable[[Document], bool]]
    #: `run(items, work)` is `[work(item) for item in items]`.
    Run = Callable[[Sequence[Any], Callable[[Any], "Checked"]], list["Checked"]]
    #: A function of a file, its cluster and the function that checks it, that gives a new or an earlier result.
    Kept = Callable[[Any, Cluster, Callable[[Any], "Checked"]], "Checked"]
    #: A document that refers to objects which are not in its own file and may be in others, and the objects that it was reviewed with.
    Pending = tuple[Judged, Objects]


class Source(Record):
    """A file's content under its name."""

    name: str
    content: str | bytes
    _: KW_ONLY
    skip_unknown: bool = False
    """Whether a document that is no manifest or of an unknown kind is skipped and counted, instead of an error."""
    in_build: InBuild | None = None
    """The role of the file in the builds of its repository; None where it is judged by itself."""
    part: int = 0
    """The number of the part of a large file that it is."""
    first_line: int = 0
    """How many lines of the file are before it."""
    values: Mapping[str, str] | None = None
    """Values to fill in for placeholders; None where nobody gives any."""

    @property
    def key(self) -> str:
        """The path of its result: the name, with the number of a later part behind a NUL."""
        return f"{self.name}{PART}{self.part}" if self.part else self.name


class Manifests(Record):
    """The documents of a file, as they are read or with overlays applied."""

    name: str
    documents: Sequence[Document]
    diagnostics: Sequence[Diagnostic] = ()
    _: KW_ONLY
    text: str = ""
    """The text that the documents were read from; empty where overlays were applied."""
    skip_unknown: bool = False
    settled: Sequence[DocumentResult] | None = None
    """The results of the documents where no check follows: the file is skipped, or overlays cannot be applied. None otherwise."""
    comments: bool = False
    """Whether the file may have comments that ignore findings."""
    sync: str = ""
    """The folder that an engine applies the file with; empty where none does."""


class Checked(Record):
    """A file's result, and its documents."""

    result: FileResult
    documents: Sequence[Document]
    """The documents that can be rendered: all but skipped ones without a kind or name."""
    objects: Sequence[Document] = ()
    """The accepted objects that documents of other files can refer to."""
    pending: Sequence[Pending] = ()
    """The documents on which the verdict depends on objects of other files."""
    unforeseen: Sequence[Document] = ()
    """The accepted jobs of which nobody can say what becomes of them before their runtimes are found in other files."""
    _: KW_ONLY
    refused: Sequence[Document] = ()
    """The refused objects that jobs of other files can name."""
    comments: bool = False
    """Whether the file may have comments that ignore findings."""
    sync: str = ""
    """The folder that an engine applies the file with; empty where none does."""
    settled: bool = False
    """Whether no webhook has seen the documents, such as bases that overlays cannot be applied to."""

    @property
    def has_jobs(self) -> bool:
        """Whether jobs are among the accepted documents."""
        return any(each.status == "valid" and is_workload(each) for each in self.result.documents)

    def with_objects_named_in(self, manifests: Manifests) -> Checked:
        """The same without the objects for other files whose name or namespace is not the one that is written, but stands in for it."""
        written = {(each.index, each.name, each.namespace) for each in manifests.documents}
        return self.changed(objects=[each for each in self.objects if (each.index, each.name, each.namespace) in written])


#: The kinds of objects that decide on objects of other files.
_DECIDING = (kinds.LIMIT_RANGE, kinds.RESOURCE_QUOTA, *kinds.ADMISSION_POLICIES)


# The whole way of several files, which are checked one by one, and then with each other.


def one_by_one(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """The work for each item, in this process."""
    return [work(item) for item in items]


def check_files(
    files: Sequence[T],
    load: Callable[[T, Cluster], Manifests],
    cluster: Cluster,
    *,
    outcome: bool,
    documents: bool = True,
    definitions: bool = True,
    run: Run = one_by_one,
    folders: Sequence[str] = (),
    has_placeholders: Callable[[T], bool] = lambda _: False,
    kept: Kept | None = None,
    is_left_out: Callable[[T], bool] = lambda _: False,
    parts_with: Callable[[T, Collection[GroupKind], Collection[str]], Sequence[T]] = lambda *_: (),
) -> list[Checked]:
    """Check files one by one, and then what they say of each other.

    *load* gives the documents of a file, with overlays applied that a cluster takes. *outcome*: what becomes of accepted jobs is reported,
    too; where objects of other files decide on their pods, files with jobs are checked once more, with these objects. Without *documents*
    the results alone come back, without *definitions* of CRDs their names. *run* goes through the files, in several processes for example.
    *folders*: of each file, the folder whose files are applied together: quotas and limits without a namespace reach no further.
    *has_placeholders*: whether others fill in values of a file, for which stand-ins are then checked. *is_left_out*: whether nobody applies
    a file with the others, for which its quotas, limits and policies then do not count. *kept* checks a file, or knows its result by itself
    already. *parts_with*: the parts of a file that seem to have objects of some kinds, with one of some words unless there are none; where
    policies are found by it, files need not be checked once more.
    """

    def check_one(asked: tuple[T, Cluster]) -> Checked:
        each, cluster = asked
        manifests = load(each, cluster)
        checked = check(manifests, cluster)
        if not checked.result.valid and has_placeholders(each):
            filled, checked = with_stand_ins(manifests, checked, cluster)
            checked = checked.with_objects_named_in(manifests) if filled is not manifests else checked
        checked = foresee(checked, cluster) if outcome else checked
        if checked.objects and is_left_out(each):
            checked = checked.changed(objects=[one for one in checked.objects if one.group_kind not in _DECIDING])
        if documents and definitions:
            return checked
        return checked.changed(documents=_without_definitions(checked.documents) if documents else ())

    def check_kept(asked: tuple[T, Cluster]) -> Checked:
        return kept(*asked, lambda each: check_one((each, asked[1]))) if kept else check_one(asked)

    def check_in(those: Sequence[T], clusters: Sequence[Cluster]) -> list[Checked]:
        return run(list(zip(those, clusters, strict=True)), check_kept)

    def read_again(those: Sequence[T], *wanted: Wanted[T]) -> list[Document]:
        """The wanted documents in some files, or in parts of these, which are read for that alone."""
        found = run(those, lambda each: _read_only(each, wanted, lambda part: load(part, cluster)))
        return [each for file in found for each in file.documents]

    folders = folders or [""] * len(files)
    rules = _expected_policies(files, parts_with, read_again, cluster)
    expected = for_all = cluster.with_objects(rules) if rules else cluster
    checked = check_in(files, [expected] * len(files))
    found = _policies_of_files(files, checked, read_again, cluster) if len(files) > 1 else []
    if set(map(_name_in_file, found)) != set(map(_name_in_file, rules)):
        rules, for_all = found, cluster.with_objects(found)
    clusters = _clusters_with_policies(checked, folders, for_all) if outcome else {}
    met = [clusters.get(folder, for_all) for folder in folders]
    concerned = _kinds_concerned(checked, [*rules, *cluster.rules] if rules else [])
    again = [at for at, there in enumerate(met) if there is not expected and _is_concerned(checked[at], concerned)]
    for at, each in zip(again, check_in([files[at] for at in again], [met[at] for at in again]), strict=True):
        checked[at] = each
    resolved = resolve(checked, for_all, folders)
    return _foresee_rest(resolved, met)


def _without_definitions(documents: Sequence[Document]) -> list[Document]:
    """The documents, of CRDs their names alone: their schemas are much of a repository's memory, and nobody looks into them."""
    return [_name_alone(each) if each.group_kind == kinds.CUSTOM_RESOURCE_DEFINITION else each for each in documents]


def _name_alone(document: Document) -> Document:
    """A document with its name alone."""
    return document.reduced_to({"apiVersion": document.api_version, "kind": document.kind, "metadata": {"name": document.name}})


def checked(source: Source, overlays: Sequence[LoadedOverlay], cluster: Cluster) -> Checked:
    """One file: read, with overlays applied, and checked."""
    return check(load(source, overlays, cluster), cluster)


def load(source: Source, overlays: Sequence[LoadedOverlay], cluster: Cluster) -> Manifests:
    """The documents of a file, with overlays applied."""
    return apply(read(source, cluster.target), overlays, cluster)


# Read a file.


def read(source: Source, target: Target) -> Manifests:
    """The documents of a file, with the items of a `v1` List in its place, and the mistakes in its YAML."""
    build = source.in_build
    raw = source.content if isinstance(source.content, bytes) else source.content.encode(errors="surrogatepass")
    if build and (build.role or build.documents):
        return _skipped(source, build, raw)
    is_no_manifest = source.skip_unknown and b"apiVersion" not in raw
    if is_no_manifest and len(raw) > MAX_BYTES:  # large data of programs
        return Manifests(source.key, (), settled=[DocumentResult(0, "skipped")])
    text = decode(raw, source.name)
    documents: list[Document] = []
    if isinstance(text, Diagnostic):
        problems, text = [text.in_document(0)], ""
    else:
        if build and build.build:
            documents, problems = build.build.read(text, source.first_line)
        else:
            documents, problems = read_documents(text, file=source.name, first_line=source.first_line)
        lost = _lost_indentation(text, problems, target) if problems else {}
        problems = [problem for problem in problems if problem.document not in lost] + list(lost.values())
        documents = [document for document in documents if document.index not in lost]
    comments = build.comments if build and build.build else may_ignore(raw)
    if is_no_manifest and problems:  # such as JSON with comments
        indices = {document.index for document in documents} | {problem.document or 0 for problem in problems}
        return Manifests(source.key, documents, settled=[DocumentResult(index, "skipped") for index in sorted(indices)], comments=comments)
    if source.skip_unknown and problems:
        from jobspec.placeholders import template_in

        note = template_in(text, source.name)
        if note:
            return Manifests(source.key, (), [note], settled=[DocumentResult(0, "skipped", reason="template")])
    if source.skip_unknown and b"$patch" in raw and any(_says_patch(each.data) for each in documents):
        return Manifests(source.key, (), settled=[result_of(each, "skipped", reason="kustomize patch") for each in documents])
    documents = [item for document in documents for item in items_of(document)]
    if build and build.is_built:
        return Manifests(source.key, (), problems, settled=build.dropped(documents), comments=comments)
    written = "" if build and build.build else text
    documents = [inside for each in _completed(documents, source, target) for inside in _with_wrapped(each, written, target)]
    sync = build.sync if build else ""
    return Manifests(source.key, documents, problems, text=text, skip_unknown=source.skip_unknown, comments=comments, sync=sync)


def may_ignore(content: bytes) -> bool:
    """Whether a file may have comments that ignore findings."""
    lowered = content.lower()
    return b"jobspec" in lowered and any(each in lowered for each in (b"jobspec:", b"# jobspec", b"#jobspec"))


def _skipped(source: Source, build: InBuild, raw: bytes) -> Manifests:
    """A file that is no manifest, or is known to be judged by its builds; of a kustomization lint reads what it generates."""
    if build.documents:
        return Manifests(source.key, (), settled=build.documents, comments=may_ignore(raw))
    text = decode(source.content, source.name) if "kustomization" in build.role and isinstance(source.content, bytes) else ""
    documents = read_documents(text, file=source.name)[0] if isinstance(text, str) else []
    notes, rows = [build.note] if build.note else [], [DocumentResult(0, "skipped", reason=build.role)]
    return Manifests(source.key, documents, notes, settled=rows, comments=bool(text) and may_ignore(raw))


def _says_patch(value: Any) -> bool:
    """Whether a directive of a strategic merge patch is somewhere in a value."""
    if isinstance(value, dict):
        return "$patch" in value or any(map(_says_patch, value.values()))
    return isinstance(value, list) and any(map(_says_patch, value))


def _lost_indentation(text: str, problems: list[Diagnostic], target: Target) -> dict[int | None, Diagnostic]:
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


def _completed(documents: list[Document], source: Source, target: Target) -> list[Document]:
    """The documents of a file as builds, engines and given values complete them."""
    build = source.in_build
    if build and (build.by_engine.namespace or build.by_engine.default_namespace):
        from jobspec.kustomize import in_namespace

        documents = [in_namespace(each, build) for each in documents]
    if source.values is not None:
        from jobspec.placeholders import filled_in

        documents = filled_in(documents, source.values, target)
    return documents


def _with_wrapped(document: Document, text: str, target: Target) -> list[Document]:
    """A document, and the manifests inside of it, in which any values stand in for the parameters of its controller."""
    if document.kind not in kinds.WRAPPING_KINDS or not isinstance(document.data, dict):
        return [document]
    from jobspec.documents.wrapped import PARAMETER, wrapped_in
    from jobspec.placeholders import without_parameters

    return [document, *(without_parameters(each, PARAMETER, target) for each in wrapped_in(document, text))]


def with_stand_ins(manifests: Manifests, checked: Checked, cluster: Cluster) -> tuple[Manifests, Checked]:
    """The manifests with values in place of the placeholders that a server refuses, and what a check of these says.

    Each place has a note without a message. Those of overlays and projects are parameters, which nobody else fills in.
    """
    from jobspec.placeholders import stood_in

    own = {each.index for each in manifests.documents if each.group_kind[0] == kinds.OVERLAY[0]}
    errors = [each for each in checked.result.diagnostics if each.severity == "error" and each.document not in own]
    documents, notes = stood_in(manifests.documents, errors, cluster.target)
    if not notes or manifests.settled is not None:
        return manifests, checked
    changed = manifests.changed(documents=documents, diagnostics=[*manifests.diagnostics, *notes])
    return with_stand_ins(changed, check(changed, cluster), cluster)


# Apply overlays to a file, and check it.


def apply(manifests: Manifests, overlays: Sequence[LoadedOverlay], cluster: Cluster) -> Manifests:
    """The manifests with overlays applied to their jobs.

    They are applied only to a file that is valid without them, by all checks but the webhooks'; else its own mistakes are reported.
    """
    if not overlays or manifests.settled is not None:
        return manifests
    from jobspec.overlays.apply import apply as apply_overlays

    base, manifests = check(manifests, cluster.for_bases()), manifests.changed(text="")
    if not base.result.valid:
        return manifests.changed(documents=base.documents, diagnostics=base.result.diagnostics, settled=base.result.documents)
    applied = apply_overlays(base.documents, overlays, cluster.target, cluster.lookups)
    if has_error(applied.diagnostics):
        settled = [result_of(row, "invalid") if is_workload(row) else row for row in base.result.documents]
        return manifests.changed(documents=base.documents, diagnostics=applied.diagnostics, settled=settled)
    return manifests.changed(documents=applied.documents, diagnostics=applied.diagnostics)


def check(manifests: Manifests, cluster: Cluster) -> Checked:
    """The result of a file's manifests in a cluster."""
    if manifests.settled is not None:
        result = FileResult(manifests.name, manifests.settled, manifests.diagnostics)
        generating = [each for each in manifests.documents if cluster.complete.every and each.group_kind == kinds.KUSTOMIZATION]
        return Checked(result, manifests.documents, generating, comments=manifests.comments, settled=True)
    of_text, diagnostics = list(manifests.diagnostics), []
    broken = {problem.document for problem in of_text if problem.severity == "error" and not problem.mark.layer}
    judged = judge(manifests.documents, cluster, broken=broken, skip_unknown=manifests.skip_unknown)
    documents = []
    rows: dict[int, list[DocumentResult]] = {}
    pending = []
    objects = objects_for(judged, cluster) if any(each.wanted for each in judged) else None
    for each in judged:
        document = each.document
        if document.is_held:
            diagnostics += [found.changed(severity="info", changes=()) for found in each.diagnostics if each.by_server.status != "unknown"]
            continue
        row, wrong = _of_overlay(document, _row_of(each, skip_unknown=manifests.skip_unknown), cluster)
        diagnostics += wrong
        rows.setdefault(document.index, []).append(row)
        if row.status == "skipped":
            of_text = [known for known in of_text if known.document != document.index]
        else:
            diagnostics += each.diagnostics
        if row.status != "skipped" or (document.kind and document.name):
            documents.append(document)
        if objects and each.wanted:
            pending.append((each, objects))
    for index in broken - rows.keys():
        if index is not None:
            rows[index] = [DocumentResult(index, "invalid")]
    result = FileResult(manifests.name, [row for index in sorted(rows) for row in rows[index]], deduplicated([*of_text, *diagnostics]))
    shared = [each.seen for each in judged if each.can_be_looked_up and (cluster.complete.every or _is_shared(each.seen))]
    if any(each.group_kind in kinds.ADMISSION_POLICIES for each in shared):
        accepted = [each.seen for each in judged if each.status != "invalid" and each.seen not in shared]
        shared += parameters_in(accepted, shared)
    refused = [each.document for each in judged if each.status == "invalid" and each.document.group_kind in kinds.WEBHOOK_LOOKUPS]
    return Checked(result, documents, shared, pending, refused=refused, comments=manifests.comments, sync=manifests.sync)


def _is_shared(document: Document) -> bool:
    """Whether jobs of other files refer to an object, which need not be there while others may exist in the cluster."""
    return document.group_kind not in MOUNTED or kinds.configures_queues(document.group_kind, document.data)


def _row_of(judged: Judged, *, skip_unknown: bool) -> DocumentResult:
    """The result of a document; *skip_unknown*: what is no manifest or a part of one is skipped."""
    document = judged.document
    if judged.status != "unknown":
        part = _part_of_object(judged) if skip_unknown and judged.diagnostics else ""
        return result_of(document, "skipped", reason=part) if part else result_of(document, judged.status)
    if not skip_unknown or judged.by_server.near_miss:
        return result_of(document, "invalid")
    is_kustomization = document.group_kind[0] == kinds.KUSTOMIZATION[0] or document.file.rpartition("/")[2] in KUSTOMIZATIONS
    return result_of(document, "skipped", reason="kustomization" if is_kustomization else "")


def _part_of_object(judged: Judged) -> str:
    """What a document is that only lacks fields: a patch, such as one of `kubectl patch`, or the state that a test or a policy expects."""
    document, lacks = judged.document, [each.message for each in judged.diagnostics if each.rule == "missing-field"]
    if len(lacks) < len(judged.diagnostics) or document.file.rpartition("/")[2] in KUSTOMIZATIONS:
        return ""
    if document.data.get("status") and "spec" not in document.data:
        return "expected state"
    steps = kinds.POD_TEMPLATES.get(document.group_kind)
    pod = mapping(document.data, *steps, "spec") if steps else {}
    fields = {*mapping(document.data, "spec"), *pod, *(field for each in structs(pod, "containers") for field in each)}
    return "patch" if steps and fields.isdisjoint(("image", "selector", "restartPolicy")) else ""


def _of_overlay(document: Document, row: DocumentResult, cluster: Cluster) -> tuple[DocumentResult, list[Diagnostic]]:
    """The result of a document, and what is wrong with it where it is an overlay, which no server judges."""
    if row.status != "valid" or document.group_kind != kinds.OVERLAY:
        return row, []
    from jobspec.overlays.load import overlay_problems

    wrong = [each.in_document(document.index) for each in overlay_problems(document, cluster.target)]
    return result_of(document, "invalid") if wrong else row, wrong


# What files say of each other: references between them.


def resolve(files: Sequence[Checked], cluster: Cluster, folders: Sequence[str] = ()) -> list[Checked]:
    """The files with references between them resolved: documents can refer to accepted objects of other files, too.

    Only documents with such a reference are reviewed again. *folders*: as in `check_files`.
    """
    if not any(file.pending for file in files):
        return list(files)
    holders = gathered((name, (number, each)) for number, file in enumerate(files) for each in file.objects for name in names_of(each))
    refused = gathered((name, each) for file in files for each in file.refused for name in names_of(each))
    folders = folders or [""] * len(files)

    def of_name(name: Name, number: int) -> list[Document]:
        """The documents of other files that hold, or make, an object of a name; some are made in namespaces that nobody names."""
        kind, _, own = name
        found = [*holders.get(name, ()), *holders.get((kind, "*", own), ())]
        return [each for at, each in found if at != number and _reaches(each, folders[at], folders[number])]

    return [
        _resolved(file, lambda name, number=number: of_name(name, number), refused, cluster)  # type: ignore[misc]
        for number, file in enumerate(files)
    ]


def _reaches(document: Document, folder: str, other: str) -> bool:
    """Whether an object of one folder applies in another one: quotas and limits without a namespace do not."""
    return folder == other or bool(document.namespace) or document.group_kind not in (kinds.LIMIT_RANGE, kinds.RESOURCE_QUOTA)


def _resolved(
    file: Checked, of_name: Callable[[Name], Sequence[Document]], refused: Mapping[Name, Sequence[Document]], cluster: Cluster
) -> Checked:
    """A file whose pending documents are reviewed again with the objects of other files that they name."""
    result = file.result
    known: dict[tuple[int, ...], tuple[Objects, PolicyObjects | None]] = {}

    def seeing(own: Objects, found: Sequence[Document], refused: Sequence[Document] = ()) -> tuple[Objects, PolicyObjects | None]:
        """The objects with those of other files, and the policies among them, which most documents of a file have alike."""
        key = (id(own), *map(id, (*found, None, *refused)))
        if key not in known:
            objects = own.changed(elsewhere=[*own.elsewhere, *found], refused=[*own.refused, *refused])
            known[key] = objects, policies_for(objects, cluster)
        return known[key]

    for judged, own in file.pending:
        answer, found = judged, []
        while new := [each for name in answer.wanted for each in of_name(name) if each not in found]:
            found += new  # a found object may refer to further ones
            objects, policies = seeing(own, found)
            answer = reviewed(judged, objects, cluster, policies)
        if broken := [each for name in answer.wanted if not of_name(name) for each in refused.get(name, ())]:
            objects, policies = seeing(own, found, broken)
            answer = reviewed(judged, objects, cluster, policies)
        if found or broken:
            result = _replaced(result, judged, answer)
    return file.changed(result=result)


def _replaced(result: FileResult, before: Judged, after: Judged) -> FileResult:
    """A file's result with a new answer of the webhooks to one document."""
    old = set(map(id, before.by_webhooks))
    kept = [each for each in result.diagnostics if id(each) not in old]
    status: Status = after.status if after.status in ("valid", "partly") else "invalid"
    runs = None if status == "valid" else False
    identity = _document_key(before.document)
    rows = [result_of(row, status, runs=runs) if _document_key(row) == identity else row for row in result.documents]
    return FileResult(result.path, rows, deduplicated([*kept, *after.by_webhooks]))


def _name_in_file(document: Document) -> tuple[str, Name]:
    return document.file, (document.group_kind, document.namespace, document.name)


def kind_of(row: DocumentResult) -> GroupKind:
    """The group and kind of a document, by its result."""
    return kinds.group_kind(row.api_version, row.kind)


def _document_key(each: DocumentResult | Document) -> tuple[int, str, str, str]:
    """The key by which a row of a result finds its document."""
    return each.index, each.api_version, each.kind, each.name


# What becomes of accepted jobs.


def context_of(file: Checked, files: Sequence[Checked], cluster: Cluster) -> list[Document]:
    """What the jobs of a file may refer to: all in their own file, and the runtimes and classes of others and of the cluster.

    Of several in other files that have one name, nobody knows which is meant.
    """
    objects = (each for other in files if other is not file for each in other.objects)
    others = grouped(objects, lambda each: (each.group_kind, each.namespace, each.name)).values()
    return [*file.documents, *(several[0] for several in others if len(several) == 1), *cluster.lookups]


def foresee(file: Checked, cluster: Cluster) -> Checked:
    """A file with what becomes of its jobs, as far as its own documents and the cluster say; to be done before `resolve`."""
    jobs = [each for each in file.documents if is_workload(each)]
    if not jobs:
        return file
    refused = {_document_key(row) for row in file.result.documents if row.status == "invalid"}
    context = [each for each in file.documents if each.group_kind in kinds.WEBHOOK_LOOKUPS and _document_key(each) not in refused]
    return _with_outcomes(file, jobs, [*context, *cluster.lookups] if cluster.objects else context, cluster)


def _foresee_rest(files: Sequence[Checked], clusters: Sequence[Cluster]) -> list[Checked]:
    """Resolved files with what becomes of the jobs whose runtimes are in other files, each in its cluster."""
    if not any(file.unforeseen for file in files):
        return list(files)
    context = [each for file in files for each in file.objects if each.group_kind in kinds.WEBHOOK_LOOKUPS]

    def foreseen(file: Checked, cluster: Cluster) -> Checked:
        return _with_outcomes(file, file.unforeseen, context, cluster) if file.unforeseen else file

    return _each_warning_once([foreseen(file, cluster) for file, cluster in zip(files, clusters, strict=True)])


def _with_outcomes(file: Checked, jobs: Sequence[Document], context: Sequence[Document], cluster: Cluster) -> Checked:
    """A file with what becomes of some of its jobs; *context*: what these may refer to, such as runtimes and priority classes."""
    from jobspec.outcome.ordinary import foresee as foresee_job

    rows, unforeseen = list(file.result.documents), []
    found: dict[tuple[str, str, str], Diagnostic] = {}
    places = {_document_key(row): at for at, row in reversed(list(enumerate(rows)))}
    policies = _policies_on_jobs(file, cluster)
    classes = [each for each in context if each.group_kind == kinds.PRIORITY_CLASS]
    runtimes: dict[str, list[Document]] = {}
    for each in context:
        if each.group_kind != kinds.PRIORITY_CLASS:
            runtimes.setdefault(each.name, []).append(each)
    for job in jobs:
        at = places[_document_key(job)]
        if rows[at].status != "valid":
            rows[at] = result_of(rows[at], rows[at].status, runs=False)
            continue
        if policies is not None and policies.change_objects:
            from jobspec.operators.policies import changed_job

            job = changed_job(job, policies, cluster.target)
        known = [*(_of_its_name(job, runtimes) if runtimes else ()), *classes]
        foresight = foresee_job(job, known, cluster, policies, is_reviewed=not file.settled)
        if foresight is None:
            unforeseen.append(job)
        else:
            rows[at] = result_of(rows[at], rows[at].status, runs=foresight.runs)
            for one in foresight.diagnostics:  # a mistake that hits several jobs, such as one in their runtime, is reported once
                found.setdefault((one.rule, str(one.mark), one.message.replace(f"`{job.name}", "`")), one)
    result = FileResult(file.result.path, rows, deduplicated([*file.result.diagnostics, *found.values()]))
    return file.changed(result=result, unforeseen=unforeseen)


def _of_its_name(job: Document, runtimes: Mapping[str, Sequence[Document]]) -> Sequence[Document]:
    """The runtimes, given by name, that a job may refer to."""
    from jobspec.operators.trainer.runtimes import RuntimeReference

    return runtimes.get(str(RuntimeReference(job.data).name), ())


def _each_warning_once(files: Sequence[Checked]) -> list[Checked]:
    """The files without warnings about a line, such as one of a runtime, that an earlier file has, too.

    An error stays in each file that it hits, none of which is valid.
    """
    changed, known = [], set()
    for file in files:
        kept = []
        for each in file.result.diagnostics:
            mistake = (each.rule, str(each.mark), each.message)
            if each.stage != "outcome" or each.severity == "error" or mistake not in known:
                kept.append(each)
            known.add(mistake)
        changed.append(file.changed(result=file.result.with_only(kept, ignored=0)))
    return changed


# The objects that decide on the pods of jobs: quotas, limits, classes and the like.


def _policies_on_jobs(file: Checked, cluster: Cluster) -> PolicyObjects | None:
    """The objects of a file and of the cluster that decide on the pods of jobs; None without any."""
    there = cluster.policies_on_jobs if cluster.objects else None
    if not file.objects:
        return there
    from jobspec.kubernetes.admission.objects import policies_among

    return policies_among(file.objects, there, complete=cluster.complete)


def _read_only(file: T, wanted: Sequence[Wanted[T]], load: Callable[[T], Manifests]) -> Checked:
    """The wanted documents of a file, which is not checked."""
    read = ((load(part), is_wanted) for parts_of, is_wanted in wanted for part in parts_of(file))
    documents = ((each, is_wanted) for manifests, is_wanted in read for each in manifests.documents)
    return Checked(FileResult("", (), ()), [each for each, is_wanted in documents if not each.is_held and is_wanted(each)])


def _kinds_concerned(files: Sequence[Checked], policies: Sequence[Document]) -> set[GroupKind]:
    """The kinds of the documents for which admission policies may be: those of accepted objects, and of refused ones."""
    if not policies:
        return set()
    from jobspec.kubernetes.admission.objects import may_concern

    met = {kind_of(row) for file in files for row in file.result.documents if row.status in ("valid", "partly", "invalid")}
    return {each for each in met if may_concern(policies, each)}


def _is_concerned(file: Checked, concerned: Collection[GroupKind]) -> bool:
    """Whether a file has jobs, or documents of the kinds that are concerned."""
    return file.has_jobs or any(kind_of(row) in concerned for row in file.result.documents)


def _expected_policies(
    files: Sequence[T],
    parts_with: Callable[[T, Collection[GroupKind], Collection[str]], Sequence[T]],
    read_again: Callable[..., list[Document]],
    cluster: Cluster,
) -> list[Document]:
    """The policies that the files seem to have, and what they need, as `_policies_of_files` is likely to give them later."""
    if len(files) < 2:
        return []

    def of_kinds(wanted: Collection[GroupKind]) -> Wanted[T]:
        return lambda each: parts_with(each, wanted, ()), lambda each: each.group_kind in wanted

    found = [each for each in read_again(files, of_kinds(kinds.ADMISSION_POLICIES)) if can_be_looked_up(each, cluster)]
    if not found and not cluster.has_policies:
        return []
    from jobspec.kubernetes.admission.objects import may_be_parameter, parameter_kinds, parameter_words

    policies = [*cluster.rules, *found]
    in_rules, words, is_wanted = parameter_kinds(policies), parameter_words(policies), may_be_parameter(policies)
    parameters = (
        lambda each: parts_with(each, in_rules, words) if in_rules else (),
        lambda each: is_wanted(each.group_kind, each.name, each.labels),
    )
    needed = read_again(files, of_kinds([kinds.NAMESPACE]), parameters)
    return [*found, *(each for each in needed if each.group_kind != kinds.NAMESPACE or can_be_looked_up(each, cluster))]


def _policies_of_files(
    files: Sequence[T], checked: Sequence[Checked], read_again: Callable[..., list[Document]], cluster: Cluster
) -> list[Document]:
    """The admission policies in CEL of all files, with their bindings and parameters, and the namespaces that they select.

    Files with objects that may be parameters are read once more.
    """
    found = [each for file in checked for each in file.objects if each.group_kind in kinds.ADMISSION_POLICIES]
    if not found and not cluster.has_policies:
        return []
    namespaces = [each for file in checked for each in file.objects if each.group_kind == kinds.NAMESPACE]
    policies = [*cluster.rules, *found]
    from jobspec.kubernetes.admission.objects import may_be_parameter

    is_wanted = may_be_parameter(policies)
    rows = [file.result.documents for file in checked]
    holders = [
        each for each, several in zip(files, rows, strict=True) if any(is_wanted(kind_of(row), row.name, row.labels) for row in several)
    ]
    if not holders:
        return [*found, *namespaces]
    read = read_again(holders, (lambda each: [each], lambda each: is_wanted(each.group_kind, each.name, each.labels)))
    return [*found, *namespaces, *parameters_in(read, policies)]


def _clusters_with_policies(files: Sequence[Checked], folders: Sequence[str], cluster: Cluster) -> dict[str, Cluster]:
    """By folder, the cluster with the objects of all files that decide on its pods, where a job meets such objects of another file."""
    if len(files) < 2:
        return {}
    from jobspec.kubernetes.admission.objects import decides

    holders = [(number, each) for number, file in enumerate(files) for each in file.objects if decides(each, complete=cluster.complete)]
    found = {}
    for folder in dict.fromkeys(folders[number] for number, file in enumerate(files) if file.has_jobs) if holders else ():
        met = [(number, each) for number, each in holders if _reaches(each, folders[number], folder)]
        places = {number for number, _ in met}
        if any(places - {number} for number, file in enumerate(files) if file.has_jobs and folders[number] == folder):
            there = set(map(_name_in_file, cluster.objects))
            new = [each for _, each in met if _name_in_file(each) not in there]
            found[folder] = cluster.with_objects([each for _, each in met]) if new else cluster
    return found


# The parts of large files, which are checked one by one.


PART = "\0"
"""What stands between a path and the number of a part."""


def whole(results: Sequence[FileResult]) -> list[FileResult]:
    """The results of files, those of the parts of a file together, with the documents counted from its beginning."""
    if not any(PART in each.path for each in results):
        return list(results)
    parts = grouped(results, lambda each: each.path.partition(PART)[0])
    return [_joined(path, several) for path, several in parts.items()]


def _joined(path: str, parts: Sequence[FileResult]) -> FileResult:
    rows: list[DocumentResult] = []
    found: list[Diagnostic] = []
    for part in parts:
        first = rows[-1].index + 1 if rows else 0
        rows += [each.moved(first + each.index) for each in part.documents]
        found += [each if each.document is None else each.in_document(first + each.document) for each in part.diagnostics]
    return FileResult(path, rows, found, ignored=sum(each.ignored for each in parts))
