"""What a change concerns: files that differ from a Git ref, what is built of them, and files that refer to their objects."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from jobspec.apis.kinds import GENERATING_KINDS, MOUNTED_KINDS, POLICY_KINDS, WEBHOOK_LOOKUPS, group_kind
from jobspec.diagnostics.results import FileResult
from jobspec.operators.workloads import is_workload
from jobspec.session.found import Found
from jobspec.session.git import git
from jobspec.session.reading import reader

_REFERABLE = (*WEBHOOK_LOOKUPS, *MOUNTED_KINDS, *GENERATING_KINDS)
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_QUEUES = ("LocalQueue", "ClusterQueue", "ResourceFlavor", "WorkloadPriorityClass")


def changed_since(ref: str, paths: Iterable[str]) -> set[str]:
    """The real paths of the files that were changed, added or removed since the working tree and a Git ref had a commit in common.

    Raises JobspecError for a ref that does not exist, and outside of a repository.
    """
    found: set[str] = set()
    for folder in dict.fromkeys(path if os.path.isdir(path) else os.path.dirname(path) or os.curdir for path in paths):
        why = f"--changed-since {ref}: no commit of the repository around {folder}"
        commit = git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", why=why).strip().decode()
        base = git(folder, "merge-base", commit, "HEAD", why=f"--changed-since {ref}: no common ancestor with HEAD").strip().decode()
        top = os.path.realpath(os.fsdecode(git(folder, "rev-parse", "--show-toplevel", why=why).rstrip(b"\n")))
        names = git(top, "diff", "--name-only", "--no-renames", "-z", base, why=why).split(b"\0")
        names += git(top, "ls-files", "--others", "--exclude-standard", "-z", why=why).split(b"\0")
        found |= {os.path.join(top, os.fsdecode(name)) for name in names if name}
    return found


def files_met(results: Sequence[FileResult], found: Sequence[Found], read: Mapping[str, Sequence[Found]]) -> set[str]:
    """The paths of all files of a run: those with results, and what builds and projects *read*."""
    of_builds = [path for each in found if each.in_build and each.in_build.build for path in each.in_build.build.reads]
    return {each.path for each in results}.union(of_builds, (each.path for files in read.values() for each in files))


def concerned(
    results: Sequence[FileResult], found: Sequence[Found], read: Mapping[str, Sequence[Found]], changed: set[str]
) -> list[FileResult]:
    """The results of files that changed, and of those that depend on them: builds, projects (and what they *read*), references."""
    paths = {each.path: os.path.realpath(each.path) for each in results}
    kept = {path for path, real in paths.items() if real in changed}
    for each in found:
        build = each.in_build.build if each.in_build else None
        if build and not changed.isdisjoint(build.reads):
            kept |= {each.path, *build.sources()}
    kept |= {project for project, files in read.items() if any(os.path.realpath(each.path) in changed for each in files)}
    if any(not os.path.exists(path) for path in changed):  # it may be what a kustomization lists
        kept |= {each.path for each in results if any(one.rule == "broken-kustomization" for one in each.diagnostics)}
    refers = referring([each for each in results if each.path in kept], reader(found))
    return [each for each in results if each.path in kept or refers(each)]


def referring(changed: Sequence[FileResult], read: Callable[[str], str]) -> Callable[[FileResult], bool]:
    """Return a function that tells if a file depends on an object of the changed files.

    The file may refer to the object, or has jobs that the object decides on.
    """
    objects = {(group_kind(row.api_version, row.kind), row.name) for each in changed for row in each.documents}
    decides = any(kind in POLICY_KINDS for kind, _ in objects)
    names = [re.escape(name) for kind, name in objects if _NAME.fullmatch(name) and (kind in _REFERABLE or kind[1] in _QUEUES)]
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(names)})(?![\w.-])") if names else None

    def refers(result: FileResult) -> bool:
        if decides and any(map(is_workload, result.documents)):
            return True
        return pattern is not None and any(row.kind for row in result.documents) and pattern.search(read(result.path)) is not None

    return refers
