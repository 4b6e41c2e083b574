"""`jobspec krm`: a KRM function, by which kustomize, kpt and Argo CD apply overlays to jobs and check manifests in their own pipelines.

The protocol is that of functions-spec.md, kustomize cmd/config/docs/api-conventions: a ResourceList on standard input and output.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Any

from jobspec.diagnostics.diagnostic import SEVERITIES, Diagnostic, has_error
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark, marks_at, value_at
from jobspec.documents.decoding import decode
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.documents.writer import write
from jobspec.journey.checking import apply
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import LoadedFile, Manifests
from jobspec.operators.workloads import may_take_overlays
from jobspec.session.inputs import no_workload
from jobspec.session.krm_config import FIELDS, KrmConfig
from jobspec.session.options import Options

_VERSIONS = ("config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1")


_PATH = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")


_INDEX = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")


_STDIN = "standard input"


#: Of kustomize, which starts a program without arguments.
_EXAMPLE = """\
# the script ./jobspec-krm runs `exec jobspec krm`
apiVersion: jobspec.dev/v1alpha1
kind: Function
metadata:
  name: gpu
  annotations:
    config.kubernetes.io/function: |
      exec: {path: ./jobspec-krm}
spec:
  overlays:
  - gpu-nccl: {gpus: 2}
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options: it has none, since the `functionConfig` says what is to be done."""
    what = f"of the ResourceList on standard input: a ConfigMap, or any kind with a `spec`, that sets {', '.join(FIELDS)}; or an Overlay"
    parser.add_argument_group("functionConfig", what)
    parser.add_argument_group("example, a file that a kustomization lists as transformer", _EXAMPLE)


def run(_: Options) -> int:
    """Run the function; 1 where a result is as severe as `fail-on` says."""
    text = decode(sys.stdin.buffer.read(), _STDIN)
    if isinstance(text, Diagnostic):
        raise JobspecError(f"{text.mark}: {text.message}")
    whole = _resource_list(text)
    config = KrmConfig(whole.get("functionConfig"))
    if config.wrong:
        results = [{"message": each, "severity": "error"} for each in config.wrong]
        return _answer(text, whole, whole.get("items") or [], results, fails=True)
    given = whole.get("items") or []
    documents, diagnostics = _processed(given, config)
    failed = has_error(diagnostics)
    enough = SEVERITIES[: SEVERITIES.index(config.fail_on) + 1]
    items = given if failed or not config.overlays else [each.data for each in documents]
    results = [_result(each, given) for each in diagnostics]
    return _answer(text, whole, items, results, fails=any(each.severity in enough for each in diagnostics))


def _resource_list(text: str) -> dict[str, Any]:
    """The ResourceList in a text. Raises JobspecError with all that is wrong with it."""
    documents, problems = read(text, file=_STDIN)
    wrong = [f"{each.mark}: {each.message}" for each in problems]
    if not wrong and (len(documents) != 1 or documents[0].kind != "ResourceList" or documents[0].api_version not in _VERSIONS):
        wrong = [f"{_STDIN}: a KRM function reads one ResourceList of {_VERSIONS[0]}; kustomize, kpt or another tool writes it"]
    if not wrong:
        items = documents[0].data.get("items")
        if items is not None and not (isinstance(items, list) and all(isinstance(each, dict) for each in items)):
            wrong = [f"{_STDIN}: the `items` of a ResourceList are a list of objects"]
    if wrong:
        raise JobspecError("\n".join(wrong))
    whole: dict[str, Any] = documents[0].data
    return whole


def _processed(items: Sequence[dict[str, Any]], config: KrmConfig) -> tuple[Sequence[Document], list[Diagnostic]]:
    """The items with overlays applied, and what is said of them; what is of an unknown kind passes unchanged."""
    given = [_document(each, number) for number, each in enumerate(items)]
    manifests = Manifests(_STDIN, given, skip_unknown=True)
    applied = apply(manifests, config.overlays, config.cluster)
    checked = travel(Journey([LoadedFile(applied)], config.cluster, outcome=True))
    if config.check == "lint":
        from jobspec.lint.linting import lint

        (result,) = lint(checked, config.cluster)
    else:
        result = checked[0].result
    found = list(result.diagnostics)
    if config.overlays and not any(map(may_take_overlays, given)):
        found.append(no_workload(config.overlays, _STDIN, "warning", given))
    return _in_place(given, applied.documents), found


def _in_place(given: Sequence[Document], made: Sequence[Document]) -> list[Document]:
    """The given items, changed ones in their place, then those that overlays add: what is skipped by a check is no less an item."""
    by_index = {each.index: each for each in made}
    known = {each.index for each in given}
    return [*(by_index.get(each.index, each) for each in given), *(each for each in made if each.index not in known)]


def _document(item: dict[str, Any], number: int) -> Document:
    mark = Mark(_annotation(item, _PATH) or _STDIN)
    return Document(item, lambda: marks_at(item, mark), file=_STDIN, index=number)


def _annotation(item: dict[str, Any], names: Sequence[str]) -> str:
    metadata = item.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return next((str(annotations[name]) for name in names if name in annotations), "") if isinstance(annotations, dict) else ""


def _result(found: Diagnostic, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A finding as functions-spec.md has it."""
    message = f"{found.message}{f'; {found.hint}' if found.hint else ''} [{found.rule}]"
    result: dict[str, Any] = {"message": message, "severity": found.severity}
    if found.document is None or found.document >= len(items):
        return result
    item = items[found.document]
    metadata = item.get("metadata")
    of = {**item, **(metadata if isinstance(metadata, dict) else {})}
    result["resourceRef"] = {key: of[key] for key in ("apiVersion", "kind", "name", "namespace") if isinstance(of.get(key), str)}
    if found.field:
        result["field"] = {"path": found.field, **dict(_proposed_values(found, item))}
    if path := _annotation(item, _PATH):
        index = _annotation(item, _INDEX)
        result["file"] = {"path": path, **({"index": int(index)} if index.isdecimal() else {})}
    return result


def _proposed_values(found: Diagnostic, item: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The value at the field of a finding that is fixed by setting it, and the one to set."""
    change = found.changes[0] if len(found.changes) == 1 else None
    if change is None or change.action != "set":
        return
    value = value_at(item, change.path)
    if isinstance(value, (str, int, float)):
        yield "currentValue", value
    yield "proposedValue", change.value


def _answer(text: str, whole: dict[str, Any], items: Sequence[Any], results: list[dict[str, Any]], *, fails: bool) -> int:
    """Write the ResourceList, with the text and comments of what was not changed where that can be had."""
    more = {"results": results} if results else {}
    wanted = {**{key: value for key, value in whole.items() if key != "results"}, "items": list(items), **more}
    kept = _with_changed_items(text, whole.get("items") or [], items, more) if "results" not in whole and _is_block(text) else ""
    again, problems = read(kept, file=_STDIN) if kept else ([], [])
    is_same = not problems and len(again) == 1 and {"items": [], **again[0].data} == wanted
    sys.stdout.write(kept if is_same else write([wanted]))
    for each in results:
        if each["severity"] == "error":
            sys.stderr.write(f"jobspec: {each['message']}\n")
    return 1 if fails else 0


def _with_changed_items(text: str, before: Sequence[Any], items: Sequence[Any], more: dict[str, Any]) -> str:
    """The text with the lines of changed items replaced; the caller checks that it can be read as it should."""
    lines = text.splitlines()
    marks = read(text, file=_STDIN)[0][0].marks
    starts = [marks.nearest(("items", number)).mark for number in range(len(before))]
    if items != before and not starts:
        return ""
    added = [line for each in items[len(before) :] for line in _entry(each, starts[0].column)]
    for number, mark in reversed(list(enumerate(starts))):
        lead = " " * (mark.column - 1)  # what is indented less, or is a comment that may be the next item's, is no part of it
        end = next((at for at in range(mark.line, len(lines)) if lines[at].strip() and not lines[at].startswith(lead)), len(lines))
        if number == len(starts) - 1:
            lines[end:end] = added
        if items[number] != before[number]:
            lines[mark.line - 1 : end] = _entry(items[number], mark.column)
    return "".join(f"{line}\n" for line in lines) + (write([more]) if more else "")


def _entry(item: Any, column: int) -> list[str]:
    """The lines of an entry of a list whose values begin in a column."""
    return [f"{' ' * (column - 3)}{line}" if line else line for line in write([[item]]).splitlines()]


def _is_block(text: str) -> bool:
    """Whether keys can be appended to a text: it is one document in block style, from the first column on, without `...`."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return any(line.startswith("kind:") for line in lines) and not any(line.startswith(("...", "{")) for line in lines)
