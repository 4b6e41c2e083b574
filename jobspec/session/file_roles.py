"""Say what each file of a repository is, as `repository.roles` does.

The roles are kept while the names of files, the kustomizations and the tests stay as they are.
"""

from __future__ import annotations

import os
from functools import cache

from jobspec.diagnostics.record import Record
from jobspec.repository.expected_states import expected_states
from jobspec.repository.roles import Builds
from jobspec.session.cache import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from jobspec.documents.document import Document
    from jobspec.repository.roles import Kustomization
    from jobspec.session.kept_facts import KeptFacts


class FileRole(Record):
    """What a file is in the builds of its repository, as attributes of `InBuild` say it."""

    role: str
    completed: frozenset[str]
    patched_in: tuple[str, ...]
    is_left_out: bool


class FileRoles(Record):
    """What the files of a repository are in its builds."""

    of: Mapping[str, FileRole]
    """By real path."""
    patches: Sequence[str]
    """The paths of the files that kustomizations name as patches."""


def file_roles(
    paths: Collection[str],
    kustomizations: Mapping[str, Kustomization],
    charts: Iterable[str],
    tests: Mapping[str, Sequence[Document]],
    facts: KeptFacts | None,
) -> FileRoles:
    """Return what the files at real paths are.

    *kustomizations*: by path. *charts*: the folders of Helm charts. *tests*: the tests of Chainsaw in each file that has some.

    *facts*: what an earlier run has found out; None if there is no such run.
    """
    charts = sorted(map(os.path.realpath, charts))
    key = facts and _key(facts, (*paths, "", *charts), (*kustomizations, *tests))
    found = facts.known("roles", key, FileRoles) if facts and key else None
    if found is None:
        given = [each for several in tests.values() for each in several]
        roles = Builds(kustomizations, charts, expected_states(given, paths) if given else ())
        once = cache(FileRole)  # most files have one of few roles, which is one value, also in the cache
        of = {each: once(roles.role(each) or "", roles.completed(each), roles.patched_in(each), roles.is_left_out(each)) for each in paths}
        found = FileRoles(of, roles.patches)
        if facts and key:
            facts.learned("roles", key, found)
    return found


def _key(facts: KeptFacts, names: Sequence[str], read: Iterable[str]) -> bytes | None:
    """Return a digest of all that the roles follow from.

    If a file that is read has no digest, return None.
    """
    digests = [(path, facts.digests.get(path)) for path in read]
    return None if any(digest is None for _, digest in digests) else digest_of((facts.tree, names, digests))
