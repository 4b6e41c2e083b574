"""Find a field of a kind by its spelling, and describe it and the fields below it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Key
from jobspec.kubernetes.common_kinds import CommonKind
from jobspec.overlays.load import shipped
from jobspec.reports.terminal import wrapped
from jobspec.schemas.explain import ExplainedKind, Field, FieldPage, builtin_roots, root_of

_NARROW = 40  # columns: with less left for descriptions, types stand above them


def print_field(path: str, targets: Iterable[str], *, recursive: bool) -> Iterator[str]:
    """Yield the lines of the page of a field; with *recursive*, of all fields below it, too."""
    import shutil

    from jobspec.schemas import explain

    root, steps, release = place_of(path, targets)
    if recursive:
        for depth, field, kind_of_value in explain.outline(root, steps, release):
            yield f"{'  ' * depth}{field} <{kind_of_value}>"
    else:
        yield from _layout(explain.page(root, steps, release), shutil.get_terminal_size().columns)


def _layout(page: FieldPage, width: int) -> Iterator[str]:
    """A page as lines of at most *width* columns."""
    yield f"{page.title} <{page.type}>"
    yield from wrapped(page.version, max(width, 20))
    for text in filter(None, (page.note, *page.meaning)):
        yield ""
        yield from wrapped(text, max(width, 24), "    ")
    yield ""
    yield from _table(
        [([heading if not number else ""], line) for heading, lines in page.facts.items() for number, line in enumerate(lines)], width
    )
    for heading, fields in (("fields", page.fields), ("fields of other releases", page.elsewhere)):
        if fields:
            yield ""
            yield f"{heading}:"
            yield from _print_fields(fields, width)


def _print_fields(fields: list[Field], width: int) -> Iterator[str]:
    names = max(len(field.name) for field in fields)
    types = max(len(field.type) for field in fields)
    if width - names - types - 6 >= _NARROW:
        yield from _table([(["", field.name, field.type], field.description) for field in fields], width)
    else:
        for field in fields:
            yield f"  {field.name} <{field.type}>"
            yield from wrapped(field.description, max(width, 26), "      ")


def _table(rows: list[tuple[list[str], str]], width: int) -> Iterator[str]:
    """Rows of cells in columns, each with a text that is wrapped in a column of its own."""
    if not rows:
        return
    sizes = [max(len(cells[column]) for cells, _ in rows) for column in range(len(rows[0][0]))]
    for cells, text in rows:
        head = "".join(f"{cell:{size}}  " for cell, size in zip(cells, sizes, strict=True))
        yield from wrapped(text, max(width, len(head) + 20), " " * len(head), first=head) or [head.rstrip()]


def place_of(path: str, targets: Iterable[str], api_version: str = "") -> tuple[ExplainedKind, list[str], str]:
    """Return the kind in a path, the steps behind it, and the release of its component.

    Raises JobspecError if there is no such kind. *api_version*: the API version of the kind, if it is known.
    """
    from jobspec.apis.releases import choose

    kind, steps = _steps(path)
    root = _root(kind, steps, api_version)
    return root, steps, root.release_in(choose(targets))


def _steps(text: str) -> tuple[str, list[str]]:
    """The kind, in its own spelling, and the steps of a path; a step in brackets is a `Key`."""
    import re

    from jobspec.apis import kinds
    from jobspec.kubernetes.common_kinds import by_name

    if not re.fullmatch(r"[^.\[\]]+(\.[^.\[\]]+|\[[^\[\]]*\])*", text):
        raise JobspecError(f"`{text}` is not a rule, an overlay or a path: write KIND.PATH, such as TrainJob.spec.trainer")
    kind, *steps = [Key(part[1:-1]) if part[0] == "[" else part for part in re.findall(r"[^.\[\]]+|\[[^\[\]]*\]", text)]
    names = {kind.name for kind in (*kinds.with_schema(), *kinds.built_in())}
    by_lower = {each.lower(): each for each in sorted(names)}
    if kind.lower() not in by_lower:
        by_lower = {each.lower(): each for each in sorted(names | by_name().keys())}
    if kind.lower() not in by_lower:
        from jobspec.kubernetes.problems import closest

        if not steps:
            raise JobspecError(_nothing_of_name(kind, by_lower.values()))
        near = closest(kind, by_lower.values()) or f"the kinds are {', '.join(by_lower.values())}"
        raise JobspecError(f"no kind `{kind}`: {near}")
    return by_lower[kind.lower()], steps


_ALIKE = 3  # letters in a row that two names share


def _nothing_of_name(name: str, kinds: Iterable[str]) -> str:
    """Say that nothing has a name, and which few names share the most letters in a row with the name."""
    from difflib import SequenceMatcher

    from jobspec.kubernetes.problems import closest, listed
    from jobspec.lint.catalogue import rules

    known = [*rules(), *kinds, *shipped()]
    shared = {each: SequenceMatcher(None, name.lower(), each.lower(), autojunk=False).find_longest_match().size for each in known}
    alike = sorted((each for each in known if shared[each] >= _ALIKE), key=lambda each: -shared[each])[:5]
    few = f"names that are a little like it are {listed(alike)}; " if alike else ""
    return f"no rule, kind or overlay `{name}`: {closest(name, known) or f'{few}`jobspec explain` lists all rules'}"


def _root(kind: str, steps: Sequence[str], api_version: str) -> ExplainedKind:
    """A kind in a version, or else in its newest one, or the older one that alone has the steps."""
    from jobspec.schemas import explain

    if built_in := builtin_roots().get(kind):
        return built_in
    roots = _roots(kind)
    wanted = [each for each in roots if each.api_version == api_version]
    return next((each for each in wanted or roots if explain.has_place(each, steps)), (wanted or roots)[0])


def _roots(kind: str) -> list[ExplainedKind]:
    """All versions of a kind that no API server has built in, those of the operators first."""
    from jobspec import models
    from jobspec.apis.releases import choose
    from jobspec.kubernetes import common_kinds
    from jobspec.schemas.explain import ExplainedKind, roots_of_operators

    model = getattr(models, kind, None)
    found = [root_of(model, each) for each in reversed(model.RESOURCE.versions)] if model else []
    found += roots_of_operators().get(kind, [])
    for api_version, project in [] if found else common_kinds.by_name().get(kind, []):
        common = common_kinds.kind_of(api_version, kind, choose([]))
        assert common
        releases = [common.release.rpartition(" ")[2]]
        found.append(ExplainedKind(kind, api_version, project, releases, partial(_structure_of_common, common)))
    return found


def _structure_of_common(common: CommonKind, release: str) -> dict[str, Any]:
    """The structure of a common kind, which is known of one *release* alone."""
    from jobspec.schemas.kinds import structure_of_shape

    assert common.release.endswith(release)
    return structure_of_shape(common.shape)
