"""Put values of the right type in place of placeholders that a server would refuse, so that everything around them is judged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jobspec.apis.kinds import OVERLAY
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark, Path, span_of, spell, value_at
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.rules import UNJUDGED
from jobspec.documents.document import Document, with_value_at
from jobspec.documents.fields import path_of
from jobspec.repository.placeholders import PLACEHOLDER, WORDS, is_misspelt_choice, with_names, without_real_values
from jobspec.repository.substitution import Variables, substituted, with_texts_changed
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

#: The stand-in for a value of a type or a format.
_STAND_INS: dict[str, Any] = {
    "integer": 1,
    "number": 1,
    "boolean": True,
    "int-or-string": 1,
    "byte": "eA==",
    "quantity": "1",
    "date-time": "2000-01-01T00:00:00Z",
    "duration": "1s",
}


def without_parameters(document: Document, parameter: re.Pattern[str], target: Target) -> Document:
    """The document with a value of the right type in place of each text that has a parameter."""

    def change(value: str, shape: Shape | None) -> Any:
        return _of_type(parameter.sub("x", value), shape) if parameter.search(value) else value

    return with_texts_changed(document, change, target)


def stood_in(
    documents: Sequence[Document], errors: Sequence[Diagnostic], target: Target, given: Variables
) -> tuple[list[Document], list[Diagnostic]]:
    """Put values in place of the placeholders with errors, and note each such place.

    *given*: what is filled in otherwise.
    """
    made, notes = [], []
    for document in documents:
        data = document.data
        shape = shapes.load(document.api_version, document.kind, target)
        for error in (each for each in errors if each.document == document.index and _may_be_about_one(each, document.data, shape, given)):
            for path in [("sops",)] if error.field == "sops" else _paths_to(error.mark, document):
                changed = _with_stand_in(data, path, shape, given)
                if changed is not data:
                    notes.append(Diagnostic(UNJUDGED, "", error.mark, field=spell(path), document=document.index, severity="info"))
                    data = changed
        made.append(document if data is document.data else document.changed(data))
    return made, notes


def with_hints(result: FileResult, documents: Sequence[Document]) -> FileResult:
    """Add to each error at a value with a placeholder such as `${NAME}` how to give its value."""
    named = {each.index: each for each in documents if not each.is_item and each.group_kind[0] != OVERLAY[0]}
    changed = [
        _with_hint(each, named[each.document]) if each.severity == "error" and each.document in named else each
        for each in result.diagnostics
    ]
    return result.with_only(changed, ignored=0)


_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")


def _with_hint(found: Diagnostic, document: Document) -> Diagnostic:
    paths = [path_of(found.field, document.data)] if found.field else _paths_to(found.mark, document)
    values = [value_at(document.data, path) for path in paths]
    name = next((name for each in values if isinstance(each, str) and (name := _VARIABLE.search(each))), None)
    hint = (
        f"if `{name[0] + ('}' if name[0][1:2] == '{' else '')}` is filled in later, give a value: --substitute {name[1]}=VALUE"
        if name
        else ""
    )
    return found.with_hint("; ".join(filter(None, [found.hint, hint]))) if hint else found


def _may_be_about_one(error: Diagnostic, data: Any, shape: Shape | None, given: Variables) -> bool:
    """Whether an error may be about a placeholder: by its schema the one at its field; webhooks may report a field of another cause."""
    if error.stage != "schema" or error.field == "sops":
        return True
    path = path_of(error.field, data)
    return not is_misspelt_choice(value_at(data, path), error) and _with_stand_in(data, path, shape, given) is not data


def _paths_to(mark: Mark, document: Document) -> list[Path]:
    """The paths of the values at a place, which may be that of their key."""
    found = document.marks.paths().get(span_of(mark))
    return list(dict.fromkeys([*([found] if found else []), *document.marks.paths_to(mark)]))


def _with_stand_in(data: Any, path: Path, shape: Shape | None, given: Variables) -> Any:
    """The data with another value at a path, where that is a placeholder; the same data where it is none."""
    if path == ("sops",) and isinstance(data, dict):
        return {key: each for key, each in data.items() if key != "sops"} if "sops" in data else data
    before = value_at(data, path)
    after = _stand_in(before, path, shape.at(path) if shape else None, given)
    if path == _NAMESPACE and after is not before:  # may be any namespace, as where none is written
        return {**data, "metadata": {key: each for key, each in data["metadata"].items() if key != "namespace"}}
    return data if after is before else with_value_at(data, path, after)


_NAME = ("metadata", "name")
_NAMESPACE = ("metadata", "namespace")


def _stand_in(value: Any, path: Path, shape: Shape | None, given: Variables) -> Any:
    """Return a value of the right type for a placeholder, its default but in a name; the same value if it is no placeholder."""
    if isinstance(value, dict) and len(value) == 1 and None in value.values() and shape and shape.type not in ("object", "any"):
        text = f"{{{next(iter(value))}}}"
    elif isinstance(value, str) and (_has_placeholder(value, path, given) or _is_word(value, shape)):
        text = substituted(value, Variables(is_open=True)) if path != _NAME else value
    else:
        return value
    return _of_type(with_names(text), shape)


def _has_placeholder(value: str, path: Path, given: Variables) -> bool:
    return PLACEHOLDER.search(without_real_values(given.unsettled(value), spell(path))) is not None


def _is_word(value: str, shape: Shape | None) -> bool:
    return bool(shape and {shape.type, shape.format} & _STAND_INS.keys() and WORDS.fullmatch(value))


def _of_type(text: str, shape: Shape | None) -> Any:
    """The stand-in for a placeholder in a field; the text itself in a string field, and where it is a choice or an integer."""
    if shape and shape.enum:
        return text if text in shape.enum else next((each for each in shape.enum if each), shape.enum[0])
    if shape and "integer" in (shape.type, shape.format) and text.isdecimal():
        return int(text)
    for name in (shape.format, shape.type) if shape else ():
        if name in _STAND_INS:
            return max(_STAND_INS[name], shape.minimum or 1) if shape and name == "integer" else _STAND_INS[name]
    return text
