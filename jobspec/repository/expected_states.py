"""Files with the objects that tests of Chainsaw expect in a cluster.

Follows `Operation`, github.com/kyverno/chainsaw pkg/apis/v1alpha1, 0.2: a file is a path or a pattern from the folder of the test.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from typing import Any

from jobspec.apis.kinds import GroupKind
from jobspec.documents.document import Document
from jobspec.go.values import mapping, structs, text
from jobspec.repository.roles import joined

#: The kinds with operations of tests.
TESTS: Sequence[GroupKind] = (("chainsaw.kyverno.io", "Test"), ("chainsaw.kyverno.io", "StepTemplate"))
_PHASES = ("try", "catch", "finally", "cleanup")
_COMPARING, _APPLYING = ("assert", "error"), ("apply", "create", "patch", "update")


def expected_states(tests: Iterable[Document], paths: Iterable[str]) -> set[str]:
    """Return those of *paths* whose files tests compare objects with.

    A file that a test also applies is left out. All paths are real ones.
    """
    named = [(field, joined(os.path.dirname(each.file), file)) for each in tests for field, file in _files_in(each)]
    compared, applied = (_fitting([path for field, path in named if field in fields]) for fields in (_COMPARING, _APPLYING))
    return {path for path in paths if compared and compared.fullmatch(path) and not (applied and applied.fullmatch(path))}


def _fitting(names: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern of paths. If there are no names, return None."""
    return re.compile("|".join(map(translate, names))) if names else None


def _files_in(test: Document) -> Iterator[tuple[str, str]]:
    """Yield the name of each operation of a test, and the file that the operation names."""
    spec = mapping(test.data, "spec")
    operations: list[dict[str, Any]] = [
        each for step in (spec, *structs(spec, "steps")) for phase in _PHASES for each in structs(step, phase)
    ]
    for operation in operations:
        for field in (*_COMPARING, *_APPLYING):
            if file := text(mapping(operation, field), "file"):
                yield field, file
