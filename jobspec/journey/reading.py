"""Read a file: its documents, completed by builds, engines and given values."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.results import PATCH, DocumentResult
from jobspec.documents.decoding import MAX_BYTES, decode
from jobspec.documents.document import Document, items_of, result_of
from jobspec.documents.reader import read as read_documents
from jobspec.journey.steps import Manifests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.journey.steps import Source
    from jobspec.repository.in_build import InBuild
    from jobspec.repository.source_files import SourceFiles


def read(source: Source, target: Target) -> Manifests:
    """Read the documents of a file, the items of a `v1` List too, and the mistakes in its YAML."""
    build = source.in_build
    raw = source.content if isinstance(source.content, bytes) else source.content.encode(errors="surrogatepass")
    if build and (build.role or build.documents):
        return _skipped(source, build, raw)
    is_no_manifest = source.skip_unknown and b"apiVersion" not in raw
    if is_no_manifest and len(raw) > MAX_BYTES:  # large data of programs
        return Manifests(source.key, (), settled=[DocumentResult(0, "skipped")])
    text = decode(raw, source.name)
    documents: list[Document] = []
    remarks: list[Diagnostic] = []
    if isinstance(text, Diagnostic):
        problems, text = [text.in_document(0)], ""
    else:
        if build and build.build:
            documents, problems = build.build.read(text, _files_of(source), source.first_line)
            remarks = [*build.notes, *(each for each in problems if each.severity != "error")]
            problems = [each for each in problems if each.severity == "error"]
        else:
            documents, problems = read_documents(text, file=source.name, first_line=source.first_line)
        lost = _lost_indentation(text, problems, target) if problems else {}
        problems = [problem for problem in problems if problem.document not in lost] + list(lost.values())
        documents = [document for document in documents if document.index not in lost]
    comments = build.comments if build and build.build else may_ignore(raw)
    if is_no_manifest and problems:  # such as JSON with comments
        indices = {document.index for document in documents} | {problem.document or 0 for problem in problems}
        rows = [DocumentResult(index, "skipped") for index in sorted(indices)]
        return Manifests(source.key, documents, [each for each in problems if each.severity == "warning"], settled=rows, comments=comments)
    if source.skip_unknown and not (build and build.build) and (note := _template_in(text, source, problems)):
        return Manifests(source.key, (), [note], settled=[DocumentResult(0, "skipped", reason="template")])
    if source.skip_unknown and b"$patch" in raw and any(_says_patch(each.data) for each in documents):
        return Manifests(source.key, (), settled=[result_of(each, "skipped", reason="kustomize patch") for each in documents])
    documents = [item for document in documents for item in items_of(document)]
    if build and build.is_built:
        from jobspec.repository.builds import dropped

        return Manifests(source.key, (), problems, settled=dropped(documents), comments=comments)
    written = "" if build and build.build else text
    documents, unfilled = _completed(documents, source, target)
    documents = [inside for each in documents for inside in _with_wrapped(each, written, target)]
    return Manifests(
        source.key,
        documents,
        [*problems, *remarks, *unfilled],
        text=text,
        skip_unknown=source.skip_unknown,
        comments=comments,
        sync=build.sync if build else "",
        substitution=source.substitution,
        by_engine=build.by_engine if build else None,
    )


def _template_in(text: str, source: Source, problems: Sequence[Diagnostic]) -> Diagnostic | None:
    """Return what is reported of a file that is a template. If its YAML has no errors, or not those of a template, return None."""
    if not any(each.severity == "error" for each in problems):
        return None
    from jobspec.repository.placeholders import template_in

    return template_in(text, source.name, problems)


def may_ignore(content: bytes) -> bool:
    """Whether a file may have comments that ignore findings."""
    lowered = content.lower()
    return b"jobspec" in lowered and any(each in lowered for each in (b"jobspec:", b"# jobspec", b"#jobspec"))


def _skipped(source: Source, build: InBuild, raw: bytes) -> Manifests:
    """A file that is no manifest, or is known to be judged by its builds; of a kustomization lint reads what it generates."""
    if build.documents:
        return Manifests(source.key, (), settled=build.documents, comments=may_ignore(raw))
    text = decode(source.content, source.name) if "kustomization" in build.role and isinstance(source.content, bytes) else ""
    documents, problems = read_documents(text, file=source.name) if isinstance(text, str) else ([], [text.in_document(0)])
    if source.skip_unknown and isinstance(text, str) and (note := _template_in(text, source, problems)):
        return Manifests(source.key, (), [note], settled=[DocumentResult(0, "skipped", reason="template")])
    documents = [each for each in documents if each.is_kustomization]
    rows = [DocumentResult(0, "skipped", reason=build.role)]
    comments = (bool(text) or build.role == PATCH) and may_ignore(raw)
    return Manifests(source.key, documents, [*problems, *build.notes], settled=rows, comments=comments)


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


def _completed(documents: list[Document], source: Source, target: Target) -> tuple[list[Document], list[Diagnostic]]:
    """The documents of a file as builds, engines and given values complete them, and what is wrong with their variables."""
    build = source.in_build
    if build and (build.by_engine.namespace or build.by_engine.default_namespace):
        from jobspec.repository.engines import in_namespace

        documents = [in_namespace(each, build, target) for each in documents]
    if source.substitution is None:
        return documents, []
    from jobspec.repository.substitution import filled_in

    return filled_in(documents, source.substitution, target, _files_of(source))


def _files_of(source: Source) -> SourceFiles:
    """What reads the files that a source is built of."""
    from jobspec.repository.source_files import NoFiles

    return source.files or NoFiles()


def _with_wrapped(document: Document, text: str, target: Target) -> list[Document]:
    """A document, and the manifests inside of it, in which any values stand in for the parameters of its controller."""
    if document.kind not in kinds.WRAPPING_KINDS or not isinstance(document.data, dict):
        return [document]
    from jobspec.documents.wrapped import PARAMETER, wrapped_in
    from jobspec.repository.stand_ins import without_parameters

    return [document, *(without_parameters(each, PARAMETER, target) for each in wrapped_in(document, text))]
