"""What the files of a repository are: manifests, or parts of a build that no server gets as they are.

A kustomization says of files that they are patches, or inputs of its generators and transformers; a chart has templates. Such files are
recognised where a folder is walked, and where unknown kinds are skipped; what is built of them is what a server gets.

Follows `types.Kustomization`, sigs.k8s.io/kustomize/api, 0.21, and the layout of charts, helm.sh/helm/v3 pkg/chart/loader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from jobspec.diagnostics import Diagnostic, FileResult, Mark
from jobspec.documents.document import result_of
from jobspec.documents.reader import read
from jobspec.go.values import mapping, structs, texts

#: What a file is that is no manifest: why it is skipped.
Role = Literal["kustomize patch", "kustomize input", "Helm chart file", "template"]

_OF_CHARTS = ("templates", "files")
#: The fields of a kustomization with the paths of patches, and those with paths of what is read besides.
_PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")
_INPUTS = ("configurations", "crds", "generators", "replacements", "transformers", "validators")
_GENERATORS = ("configMapGenerator", "secretGenerator")
_SECTION = re.compile(r"#?\s?(\w+):\s*(#.*)?$")
_COMMENTED_ITEM = re.compile(r"\s*#\s*\w*\s*-\s*(?:path:\s*)?[\"']?([\w./-]+\.ya?ml)[\"']?\s*$")
_PATCH = re.compile(r"(?:^|[_-])patch(?:es)?(?:[_-].*)?\.ya?ml$")  # how patches are called by habit
#: What stands for a value that somebody fills in: of shells, Flux and make, of documentation, of Helm and Jinja, of SOPS, and by habit.
_PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}|\$\(\w+\)|\$[A-Z_][A-Z0-9_]*\b|<[A-Za-z][\w .-]*>|\{\{.*?\}\}|ENC\[[^]]*\]"
    r"|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b|\b(?:NAMESPACE|PROJECT|IMAGE|REGION|CLUSTER)\b"
)
_ACTION = re.compile(r"\s*(- )?(\S+:\s+)?(\{\{|\{%|%\{)")


class Builds:
    """What kustomizations (path -> text) and the folders of charts say of the files around them."""

    def __init__(self, kustomizations: Mapping[str, str], charts: Iterable[str]) -> None:
        by_folder = {os.path.dirname(file): data_of(text) for file, text in kustomizations.items()}
        self._charts = [os.path.normpath(each) for each in charts]
        self._roles: dict[str, Role] = {}
        for file, text in kustomizations.items():
            folder = os.path.dirname(file)
            self._roles |= {_join(folder, name): "kustomize patch" for name in _commented(text, _PATCHES)}
            self._roles |= {_join(folder, name): "kustomize input" for name in inputs_of(by_folder[folder]) if name}
            self._roles |= {_join(folder, name): "kustomize patch" for name in patches_of(by_folder[folder]) if name}
        commented = {os.path.dirname(file): list(_commented(text, ("resources",))) for file, text in kustomizations.items()}
        self._completed = _completed(by_folder, commented)
        self._folders = by_folder.keys()
        self._folders_of_patches = {os.path.dirname(path) for path, role in self._roles.items() if role == "kustomize patch"}

    def role(self, path: str) -> Role | None:
        """What a file is; None where it may be a manifest: it is listed as one, too.

        A file that nobody names is a patch in `patches/`, and by its own name beside a kustomization.
        """
        path = os.path.normpath(path)
        if any(path.startswith(os.path.join(chart, part, "")) for chart in self._charts for part in _OF_CHARTS):
            return "Helm chart file"
        is_listed, folder = path in self._completed, os.path.dirname(path)
        if is_listed and self._roles.get(path) != "kustomize patch":
            return None
        if path not in self._roles and not is_listed:
            if folder in self._folders_of_patches and os.path.basename(folder) == "patches":
                return "kustomize patch"
            if folder in self._folders and _PATCH.search(os.path.basename(path)):
                return "kustomize patch"
        while path not in self._roles and os.path.dirname(path) not in ("", path):
            path = os.path.dirname(path)
        return self._roles.get(path)

    def completed(self, path: str) -> frozenset[str]:
        """What the builds of a manifest fill in: `namespace`, `selector`."""
        return frozenset(self._completed.get(os.path.normpath(path), ()))


def _join(folder: str, name: str) -> str:
    return os.path.normpath(os.path.join(folder, name))


def data_of(text: str) -> dict[str, Any]:
    """The data of a kustomization; empty where it is no mapping."""
    documents = read(text, file="")[0]
    return documents[0].data if documents and isinstance(documents[0].data, dict) else {}


def _completed(kustomizations: Mapping[str, dict[str, Any]], commented: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """The manifests that kustomizations (folder -> data) list, each with what the build of any of these fills in; *commented* ones, too."""
    found: dict[str, set[str]] = {}

    def visit(folder: str, fills: set[str], around: frozenset[str]) -> None:
        data = kustomizations[folder]
        labels = data.get("commonLabels") or any(each.get("includeSelectors") for each in structs(data, "labels"))
        fills = {*fills, *(["namespace"] if data.get("namespace") else []), *(["selector"] if labels else [])}
        for name in (*texts(data, "resources"), *texts(data, "bases"), *texts(data, "components"), *commented[folder]):
            path = _join(folder, name)
            if path not in kustomizations:
                found.setdefault(path, set()).update(fills)
            elif path not in around:
                visit(path, fills, around | {path})

    for folder in kustomizations:
        visit(folder, set(), frozenset((folder,)))
    return found


def template_in(text: str, file: str) -> Diagnostic | None:
    """A note that a text which is no YAML is a template, as of Helm or Jinja: a line or a value begins with `{{`; else None."""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _ACTION.match(line)]
    if not lines:
        return None
    actions = "1 line has an action" if len(lines) == 1 else f"{len(lines)} lines have actions"
    message = f"a template, not judged: {actions}, such as `{{{{ name }}}}`"
    hint = "judge what it renders to"
    return Diagnostic("unjudged-template", message, Mark(file, lines[0], 1), severity="info", hint=hint)


def without_placeholders(result: FileResult, text: str, completed: Collection[str]) -> FileResult:
    """The result of a file in which nothing is said of values that others fill in, but one note that counts them.

    Those are values with a placeholder, such as `${NAME}`, `<NAME>`, `{{ name }}` or `V_NAME`, and what SOPS has encrypted, with its own
    key `sops`. What lint and outcomes find is left out only where the placeholder is all of the value. What its builds have *completed*
    is not missing.
    """
    lines = text.split("\n")
    unjudged = [each for each in result.diagnostics if _is_of_text(each.mark, result, lines) and _is_placeholder(each, lines)]
    kept = [each for each in result.diagnostics if each not in unjudged and not _is_filled_in(each, completed)]
    if len(kept) == len(result.diagnostics):
        return result
    places = sorted({(each.mark.line, each.mark.column) for each in unjudged})
    message = f"a template, not judged at {len(places)} place{'' if len(places) == 1 else 's'}"
    hint = "judge what it becomes"
    notes = [Diagnostic("unjudged-template", message, Mark(result.path, *place), severity="info", hint=hint) for place in places[:1]]
    broken = {each.document for each in kept if each.severity == "error"}
    rows = [result_of(row, "partly") if row.status == "invalid" and row.index not in broken else row for row in result.documents]
    return FileResult(result.path, rows, [*kept, *notes], ignored=result.ignored)


def _is_filled_in(found: Diagnostic, completed: Collection[str]) -> bool:
    is_namespace = found.field.startswith("subjects[") and found.field.endswith("].namespace")
    return found.rule == "missing-field" and (
        ("namespace" in completed and is_namespace) or ("selector" in completed and found.field == "spec.selector")
    )


def _is_of_text(mark: Mark, result: FileResult, lines: Sequence[str]) -> bool:
    """Whether a place is in the file itself, and not in an overlay, or in the runtime of a job in another file."""
    return mark.file == result.path and 0 < mark.line <= len(lines)


def _is_placeholder(found: Diagnostic, lines: Sequence[str]) -> bool:
    mark = found.mark
    if found.field == "sops" and found.rule == "unknown-field":
        return True
    end = mark.end_column - 1 if mark.end_line == mark.line else None
    value = lines[mark.line - 1][mark.column - 1 : end].strip("\"'")
    place = _PLACEHOLDER.search(value)
    return place is not None and (found.stage not in ("outcome", "lint") or place[0] == value)


def patches_of(data: dict[str, Any]) -> Iterator[str]:
    """The paths of the patches of a kustomization."""
    for field in _PATCHES:
        yield from (name for name in texts(data, field) if "\n" not in name)  # others are patches themselves
        yield from (str(each.get("path") or "") for each in structs(data, field))


def inputs_of(data: dict[str, Any]) -> Iterator[str]:
    """The paths of what a kustomization reads besides manifests and patches."""
    for field in _INPUTS:
        yield from texts(data, field)
        yield from (str(each.get("path") or "") for each in structs(data, field))
    for generator in (each for field in _GENERATORS for each in structs(data, field)):
        for name in (*texts(generator, "files"), *texts(generator, "envs"), str(generator.get("env") or "")):
            yield name.rpartition("=")[2]
    for chart in structs(data, "helmCharts"):
        yield from (str(chart.get("valuesFile") or ""), *texts(chart, "additionalValuesFiles"))
    yield str(mapping(data, "openapi").get("path") or "")


def _commented(text: str, sections: Sequence[str]) -> Iterator[str]:
    """The files that somebody has commented out in some sections of a kustomization."""
    section = ""
    for line in text.splitlines():
        if found := _SECTION.match(line):
            section = found[1]
        elif section in sections and (item := _COMMENTED_ITEM.match(line)):
            yield item[1]
