"""The results to report: of whole files, at the files that builds are made of, without placeholders."""

from __future__ import annotations

from jobspec.apis.kinds import group_kind
from jobspec.diagnostics.results import UNBUILT, FileResult
from jobspec.documents.document import result_of
from jobspec.journey.parts import whole
from jobspec.session.finding import with_roles
from jobspec.session.found import is_judged_in_build, is_template
from jobspec.session.reading import files_of, substitution_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from jobspec.diagnostics.results import DocumentResult
    from jobspec.reports.text import ReadText
    from jobspec.session.found import Found


_RENDERED = "# Source: "  # a comment of what helm renders


def reported(
    results: Sequence[FileResult],
    found: Sequence[Found],
    read: ReadText,
    *,
    skip_unknown: bool,
    values: Mapping[str, str] | None = None,
) -> list[FileResult]:
    """The results to report: of whole files, builds at the files that they were built of, and without findings about placeholders.

    *read*: gives the text of a file.
    """
    results = whole(results)
    asked = {each.path: each for each in found if is_judged_in_build(each, skip_unknown=skip_unknown)}
    if builds := {each.path: each.in_build.build for each in found if each.in_build and each.in_build.build}:
        from jobspec.repository.at_sources import at_sources

        results = at_sources(results, builds)
    results = [_with_templates(each, read) if each.diagnostics else each for each in results]
    unbuilt = {each.path: each.in_build.unbuilt for each in found if each.in_build and each.in_build.unbuilt}
    results = [_without_build(each, unbuilt[each.path]) if each.path in unbuilt else each for each in results]
    results = _with_seeming_roles(_with_own_kinds(results, asked), found)
    if not any(each.diagnostics and each.path in asked for each in results):
        return results
    from jobspec.repository.in_build import InBuild
    from jobspec.repository.substitution import Variables
    from jobspec.repository.unfilled_values import without_placeholders

    alone, anything = InBuild(), Variables(is_open=True)

    def relaxed(result: FileResult) -> FileResult:
        if not result.diagnostics or result.path not in asked:
            return result
        file = asked[result.path]
        given = substitution_for(file, values) or anything
        within, is_completed = file.in_build or alone, lambda: is_template(result.path, file.disk)
        return without_placeholders(result, read, within, given, files_of(file), is_template=is_completed)

    return [relaxed(each) for each in results]


def _with_seeming_roles(results: list[FileResult], found: Sequence[Found]) -> list[FileResult]:
    """The results, where the first error of a file that the user named says that it seems to be no manifest, but a patch for example."""
    wrong = {each.path for each in results if not each.valid}
    named = [each for each in found if each.named and each.content is None and each.path in wrong]
    roles = {each.path: each.in_build.role for each in with_roles(named, skip_unknown=True, build=False) if each.in_build}

    def saying(result: FileResult, role: str) -> FileResult:
        said = f"the file seems to be a {role}, which `--skip-unknown` passes by"
        first = next(each for each in result.diagnostics if each.severity == "error")
        hint = "; ".join(filter(None, (first.hint, said)))
        rows = [each.with_hint(hint) if each is first else each for each in result.diagnostics]
        return FileResult(result.path, result.documents, rows, ignored=result.ignored)

    return [saying(each, roles[each.path]) if roles.get(each.path) else each for each in results]


def _without_build(result: FileResult, why: str) -> FileResult:
    """Return the result of manifests as partly checked, if the build that changes them was not made."""
    alone = f"as written, without the {why.removeprefix(UNBUILT)}"
    rows = [
        row if row.status != "valid" or row.will_not_run else row.changed(status="partly", runs=None, reason=alone)
        for row in result.documents
    ]
    return result.with_documents(rows)


def _with_own_kinds(results: Sequence[FileResult], asked: Collection[str]) -> list[FileResult]:
    """The results, where a kind that a CRD of the repository defines is skipped as unknown, though it resembles one of ours."""
    defined = [row.name.partition(".") for each in results for row in each.documents if row.kind == "CustomResourceDefinition"]

    def is_own(row: DocumentResult) -> bool:
        group, kind = group_kind(row.api_version, row.kind)
        return any(group == domain and plural.startswith(kind.lower()[:-1]) for plural, _, domain in defined)

    def with_own(result: FileResult) -> FileResult:
        wrong = {each.document for each in result.diagnostics if each.rule == "unknown-kind"}
        own = {row.index for row in result.documents if row.index in wrong and is_own(row)}
        rows = [result_of(row, "skipped") if row.index in own else row for row in result.documents]
        kept = [each for each in result.diagnostics if each.document not in own or each.rule != "unknown-kind"]
        return FileResult(result.path, rows, kept, ignored=result.ignored) if own else result

    return [with_own(each) if defined and each.diagnostics and each.path in asked else each for each in results]


def _with_templates(result: FileResult, read: ReadText) -> FileResult:
    """Return the result with the templates of findings, if helm rendered the file."""
    if _RENDERED not in read(result.path):
        return result
    from jobspec.repository.helm import with_templates

    return with_templates(result, read(result.path))
