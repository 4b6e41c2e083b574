"""Tell whether an Application of Argo CD ignores a difference between an object and its manifest.

Follows `ignoreNormalizer.Normalize`, github.com/argoproj/argo-cd util/argo/normalizers, 3.1.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from jobspec.go.values import mapping, structs, text, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics.places import Path
    from jobspec.documents.document import Document


def ignores_difference(application: Document, given: Document, path: Path) -> bool:
    """True if an Application or ApplicationSet ignores a difference at a path of an object.

    If an expression of jq is more than a path, it may ignore each field that it names.
    """
    spec = mapping(application.data, "spec")
    several = (*structs(spec, "ignoreDifferences"), *structs(spec, "template", "spec", "ignoreDifferences"))
    ignored = [each for each in several if _is_about(each, given)]
    pointers = [_of_pointer(pointer) for each in ignored for pointer in texts(each, "jsonPointers")]
    expressions = [expression for each in ignored for expression in texts(each, "jqPathExpressions")]
    return any(_is_at(steps, path) for steps in pointers) or any(_may_be_at(each, path) for each in expressions)


def _is_about(ignored: dict[str, Any], given: Document) -> bool:
    group, kind = given.group_kind
    is_kind = fnmatchcase(group, text(ignored, "group")) and fnmatchcase(kind, text(ignored, "kind"))
    return is_kind and text(ignored, "name") in ("", given.name) and text(ignored, "namespace") in ("", given.namespace)


def _of_pointer(pointer: str) -> list[str]:
    """The steps of a JSON pointer."""
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]


_STEP = re.compile(r"""\.?\["(?P<quoted>[^"]+)"\]\??|\.(?P<field>[A-Za-z_]\w*)\??|\.?\[(?P<item>\d*)\]\??""")


def _may_be_at(expression: str, path: Path) -> bool:
    """True if an expression of jq selects the value at a path, or one around it."""
    steps: list[str] = []
    rest = expression.strip()
    while found := _STEP.match(rest):
        steps.append(found["quoted"] or found["field"] or found["item"] or "*")
        rest = rest[found.end() :]
    return str(path[-1]) in expression if rest else _is_at(steps, path)


def _is_at(steps: list[str], path: Path) -> bool:
    """True if steps, of which `*` is any item of a list, lead to a path or to a value around it."""
    return 0 < len(steps) <= len(path) and all(
        each == str(step) or (each == "*" and isinstance(step, int)) for each, step in zip(steps, path, strict=False)
    )
