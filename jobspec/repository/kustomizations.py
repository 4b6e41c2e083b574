"""Kustomizations: what they read, which are roots, and which cannot be built offline.

Follows `types.Kustomization` and `FileLoader`, sigs.k8s.io/kustomize/api, 0.21.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from jobspec.apis.kinds import FLUX
from jobspec.documents.document import KUSTOMIZATIONS, Document
from jobspec.documents.kustomization_fields import FIELDS
from jobspec.documents.reader import read
from jobspec.go.values import mapping, texts
from jobspec.repository.roles import GENERATORS, inputs_of, joined, patches_of
from jobspec.repository.source_files import SourceFiles

#: The fields of a kustomization that list manifests and other kustomizations.
LISTS = ("resources", "bases", "components")
#: The fields that change nothing of what a kustomization lists.
_PLAIN = frozenset(("apiVersion", "kind", "metadata", "buildMetadata", "sortOptions", "openapi", *LISTS))
_OF_TYPE = frozenset(("apiVersion", "kind"))
_KUSTOMIZATIONS = frozenset(KUSTOMIZATIONS)
_HELM = ("helmCharts", "helmChartInflationGenerator", "helmGlobals")
_CHARTS = "HelmChartInflationGenerator"
#: The fields of a kustomization that name plugins.
PLUGINS = ("generators", "transformers", "validators")
_OF_FILES = frozenset(("path", "paths", "files", "envs", "env", "resources"))
_REMOTE = re.compile(r"\w+://|^(\w+@|git::|gh:|github\.com[:/])|[?&]ref=")


def kustomizations_below(folder: str, walk: Callable[[str], Iterator[tuple[str, list[str], list[str]]]] = os.walk) -> Iterator[str]:
    """Yield the kustomizations in a folder and in those inside of it, but for hidden ones.

    *walk*: walks as `os.walk` does.
    """
    for here, folders, names in walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        yield from (path for name in KUSTOMIZATIONS if name in names and os.path.isfile(path := os.path.join(here, name)))


#: What lets a builder read files outside of a kustomization's folder.
UNRESTRICTED = "LoadRestrictionsNone"


def builds_anywhere(document: Document) -> bool:
    """True if an engine builds without kustomize's restriction to the folder.

    Flux does, and Argo CD with that build option.
    """
    options = mapping(document.data, "data").get("kustomize.buildOptions") if document.name == "argocd-cm" else ""
    return document.group_kind == FLUX or UNRESTRICTED in str(options)


@dataclass(frozen=True, slots=True)
class RootKustomization:
    """A kustomization that is built by itself, and the files of its build. All paths are real."""

    path: str
    manifests: frozenset[str]
    read: tuple[str, ...]
    """All files that it reads, kustomizations and manifests among them, in order."""
    changing: frozenset[str]
    """The files that may change objects of other files: all but manifests that are named once."""
    has_changes: bool
    """Whether it makes anything else of its manifests than what they say."""
    is_list: bool
    """Whether it only lists files in its own folder."""
    obstacle: str
    """Why it is not built; empty where it can be."""
    missing: Sequence[tuple[str, str]]
    """The paths that it names and that do not exist, or have no kustomization, each with the kustomization that names it."""
    unknown_fields: Sequence[tuple[str, str]]
    """The fields that kustomize does not have, each with the kustomization that has it."""
    reads_around: bool
    """Whether it reads a file that is not in or below the folder of its kustomization, which builders refuse by default."""

    def is_reached_by(self, changed: Container[str]) -> bool:
        """Whether a change of some files, given by real paths, can change what is built."""
        missing = (joined(os.path.dirname(path), name) for name, path in self.missing)
        return any(each in changed for each in (*missing, *self.read))


class References(NamedTuple):
    """The references of one kustomization."""

    path: str
    is_root: bool
    """Whether it is built by itself where no other one refers to it: it is no component."""
    lists: bool
    """Whether it names any manifests, or what makes some, or says nothing at all, which kustomize refuses."""
    has_changes: bool
    obstacles: list[str]
    missing: list[tuple[str, str]]
    unknown_fields: list[tuple[str, str]]
    listed: list[str]
    """All that it lists, as paths without a look at the files."""
    folders: list[str]
    """Those of other kustomizations."""
    files: list[str]
    manifests: list[str]
    """Those of the files that it lists as resources."""


def references_of(
    path: str, data: dict[str, Any], folders: Collection[str], top: str, real_folder: Callable[[str], str], files: SourceFiles
) -> References:
    """Return the references of a kustomization.

    *folders* below *top*, real paths, have kustomizations; *real_folder* gives such a path.
    """
    has_changes = any(data.get(field) for field in data.keys() - _PLAIN) or bool(texts(data, "components"))
    lists = any(map(data.get, (*LISTS, *GENERATORS, *_HELM, *PLUGINS))) or not any(map(data.get, data.keys() - _OF_TYPE))
    listed = [name for field in LISTS for name in texts(data, field)]
    found = References(
        path,
        is_root=data.get("kind") != "Component",
        lists=lists,
        has_changes=has_changes,
        obstacles=list(_obstacles(path, data, files)),
        missing=[],
        unknown_fields=[(str(field), path) for field in data if field not in FIELDS],
        listed=[joined(os.path.dirname(path), name) for name in listed],
        folders=[],
        files=[],
        manifests=[],
    )
    others = [name for name in (*patches_of(data), *inputs_of(data)) if name and "\n" not in name]  # others are patches themselves
    for name in (*listed, *others):
        around, last = os.path.split(os.path.join(os.path.dirname(path), name))
        place = os.path.join(around if around in folders else real_folder(around), last)
        if place not in folders and (last in ("", os.curdir, os.pardir) or os.path.islink(place)):
            place = os.path.realpath(place)
        if _REMOTE.search(name):
            found.obstacles.append("needs the network")
        elif place != top and not place.startswith(os.path.join(top, "")):
            found.obstacles.append("reads outside of the repository")
        elif name in listed and place not in folders and os.path.isdir(place) and not _KUSTOMIZATIONS.isdisjoint(os.listdir(place)):
            found.obstacles.append("is built of a hidden folder")
        elif place not in folders and (not os.path.exists(place) or (name in listed and os.path.isdir(place))):
            found.missing.append((name, path))
        elif name in listed and place in folders:
            found.folders.append(place)
        elif not os.path.isfile(place) and not os.path.isdir(place):
            found.obstacles.append("reads a pipe or a device")
        else:
            found.files.append(place)
            found.manifests.extend([place] if name in listed else [])
    return found


def roots(references: Mapping[str, References], given: Container[str] | None = None) -> list[RootKustomization]:
    """Return the kustomizations that no other one refers to, but for components.

    *given*: the files that are asked about. A kustomization that is not among them and changes nothing does not count, so that files are
    not judged with all others of a list. If None, all count.

    Of a cycle that no such kustomization reaches, return the first one, so that kustomize says that it is a cycle.
    """
    counted = {folder: each for folder, each in references.items() if given is None or each.path in given or each.has_changes}
    used = {path for each in _closure(counted, references).values() for path in each.listed}
    found = [_closure((folder,), references) for folder, each in counted.items() if folder not in used and each.is_root]
    reached = {folder for those in found for folder in those}
    for folder, each in counted.items():
        if folder in used and folder not in reached and each.is_root:
            below = _closure((folder,), references)
            if any(folder in inner.folders for inner in below.values()):
                found.append(below)
                reached |= below.keys()
    return list(map(_root, found))


def _closure(folders: Iterable[str], references: Mapping[str, References]) -> dict[str, References]:
    """Return the kustomizations that the builds of some folders read, by their folders. That of a single folder is the first one."""
    found: dict[str, References] = {}
    left = list(folders)
    while left:
        each = left.pop()
        if each not in found:
            found[each] = references[each]
            left += found[each].folders
    return found


def _root(found: Mapping[str, References]) -> RootKustomization:
    """Return what the build of the first of some kustomizations reads, which lists the others."""
    first = next(iter(found.values()))
    obstacles = [obstacle for each in found.values() for obstacle in each.obstacles]
    if not first.lists:
        obstacles.append("lists no manifests")
    has_changes = any(each.has_changes for each in found.values())
    reads_around = any(not read.startswith(os.path.join(folder, "")) for folder, each in found.items() for read in each.files)
    manifests = frozenset(manifest for each in found.values() for manifest in each.manifests)
    read = Counter(read for each in found.values() for read in (each.path, *each.files))
    return RootKustomization(
        first.path,
        manifests,
        tuple(read),
        frozenset(each for each, times in read.items() if times > 1 or each not in manifests),
        has_changes,
        not has_changes and not reads_around and len(found) == 1,
        next(iter(obstacles), ""),
        [missing for each in found.values() for missing in each.missing],
        [unknown for each in found.values() for unknown in each.unknown_fields],
        reads_around,
    )


def _obstacles(path: str, data: dict[str, Any], files: SourceFiles) -> Iterator[str]:
    """Why a kustomization is not built, by its own fields."""
    if any(data.get(field) for field in _HELM):
        yield "needs Helm"
    for name in (name for field in PLUGINS for name in texts(data, field)):
        place = os.path.join(os.path.dirname(path), name)
        plugins = read(name, file="")[0] if "\n" in name else files.documents(place)
        if any(each.kind == _CHARTS for each in plugins):
            yield "needs Helm"
        elif ("\n" not in name and os.path.isdir(place)) or not all(map(_is_harmless, plugins)):
            yield "has a plugin"


def _is_harmless(plugin: Document) -> bool:
    """Whether a plugin is built into kustomize, and neither reads files nor starts programs."""
    return plugin.api_version == "builtin" and _OF_FILES.isdisjoint(plugin.data)
