"""A baseline: the diagnostics that a repository begins with, kept in a file and not reported again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from jobspec.diagnostics import Diagnostic, JobspecError, Mark
from jobspec.results import FileResult

#: File, object, rule and field of a diagnostic: not its line, which changes with every edit above it.
Known = tuple[str, str, str, str]

_FIELDS = ("file", "object", "rule", "field")


def written(results: Sequence[FileResult], place: Callable[[str], str]) -> str:
    """The text of a baseline of these results; *place* gives the path of a file as the baseline names it."""
    from json import dumps

    known = Counter(key for each in results for key in _keys(each, place))
    lines = [dumps(dict(zip(_FIELDS, key, strict=True)) | {"times": known[key]}, ensure_ascii=False) for key in sorted(known)]
    inside = ",\n  ".join(lines)
    return f'{{"known": [\n  {inside}\n]}}\n' if lines else '{"known": []}\n'


def read(text: str, path: str) -> Counter[Known]:
    """The entries of a baseline. Raises JobspecError for what is none."""
    from json import loads

    known: Counter[Known] = Counter()
    try:
        for entry in loads(text)["known"]:
            known[tuple(str(entry[name]) for name in _FIELDS)] += int(entry["times"])  # type: ignore[index]  # four fields
    except (ValueError, KeyError, TypeError):
        raise JobspecError(f"{path}: this is no baseline; --write-baseline writes one") from None
    return known


def without_known(
    results: Iterable[FileResult], known: Counter[Known], place: Callable[[str], str], *, looked_at: Callable[[str, str], bool]
) -> tuple[list[FileResult], list[Known]]:
    """The results without what a baseline knows, and its stale entries: nothing breaks the rule any more.

    *looked_at* says whether a rule was looked at in a file of the baseline.
    """
    left = Counter(known)
    kept = [_without_known(each, left, place) for each in results]
    return kept, sorted(key for key, times in left.items() if times > 0 and looked_at(key[0], key[2]))


def stale_entries(stale: Iterable[Known], path: str, text: str) -> Iterator[Diagnostic]:
    """A warning about each stale entry of a baseline, at its line."""
    lines = text.split("\n")
    for file, of, rule, field in stale:
        parts = [f'"{name}": {_quoted(value)}' for name, value in zip(_FIELDS, (file, of, rule, field), strict=True)]
        line = next((number for number, each in enumerate(lines, 1) if all(part in each for part in parts)), 0)
        message = f"`{rule}` is not broken as often in {file} any more{f', {field}' if field else ''}"
        yield Diagnostic("stale-baseline", message, Mark(path, line, 1), severity="warning", hint="write the baseline again")


def _quoted(value: str) -> str:
    from json import dumps

    return dumps(value, ensure_ascii=False)


def _without_known(result: FileResult, left: Counter[Known], place: Callable[[str], str]) -> FileResult:
    kept = []
    for each, key in zip(result.diagnostics, _keys(result, place), strict=True):
        if each.stage != "decoding" and left[key] > 0:
            left[key] -= 1
        else:
            kept.append(each)
    return result.with_only(kept)


def _keys(result: FileResult, place: Callable[[str], str]) -> Iterator[Known]:
    named = {each.index: f"{each.kind}/{each.name}" for each in result.documents}
    for each in result.diagnostics:
        index = each.document
        yield place(each.mark.file), named.get(index, "") if index is not None else "", each.rule, each.field
