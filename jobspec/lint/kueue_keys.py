"""Labels and annotations of Kueue that are misspelt."""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import QUEUE_GROUP
from jobspec.diagnostics.places import Key, value_at
from jobspec.diagnostics.problems import rename
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.values import mapping
from jobspec.lint.linted import LintedDocument
from jobspec.operators.kueue.keys import USERS, meant_key
from jobspec.operators.kueue.versions import QUEUED_KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics.places import Path


def misspelt_kueue_key(document: LintedDocument) -> Iterator[Finding]:
    """A label or annotation of a job or its pods misspells one of Kueue's, and no release of Kueue reads it.

    Why: Kueue ignores it without a warning: a job with a misspelt queue name bypasses every queue and quota, or waits suspended forever;
    one with a misspelt priority class or topology is admitted as if it had asked for none.
    Instead: the key as Kueue spells it. Other keys of the prefix `kueue.x-k8s.io/`, near to none of Kueue's, are not reported.
    Fix: renames the key, if Kueue reads the right one from there, it is not there yet, and the object does not select its pods by it.
    Before: labels: {kueue.x-k8s.io/queuename: team-a}
    After: labels: {kueue.x-k8s.io/queue-name: team-a}
    Evidence: pkg/controller/constants of sigs.k8s.io/kueue, 0.1 to 0.19; https://kueue.sigs.k8s.io/docs/reference/labels-and-annotations/
    """
    renamed: set[tuple[Path, str]] = set()  # of two misspellings in one mapping, one
    selected = mapping(value_at(document.given.data, ("spec", "selector", "matchLabels")))
    for path, key, meant in misspelt_keys(document):
        field, is_there = path[-1], meant in mapping(value_at(document.given.data, path)) or (path, meant) in renamed
        is_read = field in USERS[meant]
        edits = [(path, rename((Key(key),), meant))] if is_read and not is_there and key not in selected else []
        renamed.update([(path, meant)] if edits else [])
        hint = f"did you mean `{meant}`?" if is_read else f"did you mean the {USERS[meant][0].removesuffix('s')} `{meant}`?"
        yield Finding((*path, Key(key)), f"Kueue does not read the {str(field).removesuffix('s')} `{key}`", hint, edits=edits)


def misspelt_keys(document: LintedDocument) -> Iterator[tuple[Path, str, str]]:
    """Yield the misspelt labels and annotations of Kueue in a job and its pods.

    Each comes with the path of its mapping, and the key that was meant.
    """
    given = document.given
    if given.group_kind[0] == QUEUE_GROUP or not (given.group_kind in QUEUED_KINDS or document.pod_specs):
        return
    for path, keys in _labels_and_annotations(given.data, ()):
        for key in keys:
            if meant := meant_key(key):
                yield path, key, meant


def _labels_and_annotations(value: Any, path: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield the path and the keys with a `/` of the labels and annotations in every `metadata`."""
    if isinstance(value, dict):
        for field in ("labels", "annotations") if path[-1:] == ("metadata",) else ():
            if keys := [key for key in mapping(value.get(field)) if isinstance(key, str) and "/" in key]:
                yield (*path, field), keys
        for name, each in value.items():
            yield from _labels_and_annotations(each, (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _labels_and_annotations(each, (*path, index))


RULES = (Rule(misspelt_kueue_key, "warning", sees="document", has_unsafe_fix=True),)
