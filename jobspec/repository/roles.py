"""What the files of a repository are: manifests, or parts of a build that nobody applies directly.

A kustomization says of files that they are patches, or inputs of its generators and transformers; a chart has templates. Such files are
recognised where a folder is walked, and where unknown kinds are skipped; what is built of them is what a server gets.

Follows `types.Kustomization`, sigs.k8s.io/kustomize/api, 0.21, and the layout of charts, helm.sh/helm/v3 pkg/chart/loader.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from jobspec.documents.document import is_of_chart
from jobspec.documents.reader import read
from jobspec.go.values import mapping, structs, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Diagnostic

#: Roles of files that are not manifests, as the reason why they are skipped.
Role = Literal["kustomize patch", "patch", "kustomize input", "Helm chart file", "template", "expected state"]

_OF_CHARTS = ("templates", "files")
#: The fields of a kustomization with the paths of patches, and those with paths of what is read besides.
PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")
_INPUTS = ("configurations", "crds", "generators", "replacements", "transformers", "validators")
#: The fields of a kustomization that generate objects.
GENERATORS = ("configMapGenerator", "secretGenerator")
_SECTION = re.compile(r"#?\s?(\w+):\s*(#.*)?$")
_COMMENTED_ITEM = re.compile(r"\s*#\s*\w*\s*-\s*(?:path:\s*)?[\"']?([\w./-]+\.ya?ml)[\"']?\s*$")
_PATCH = re.compile(r"(?:^|[._-])patch(?:es)?(?:[_-].*)?\.ya?ml$")  # how patches are named by convention


_LONE_PATCH = re.compile(r"(?:^|[._-])patch\.ya?ml$")
_ASSERTION = re.compile(r"(?:^|-)assert(?:-[^.]*)?\.ya?ml$|^\d+-errors?\.ya?ml$")  # of tests by KUTTL or Chainsaw


class Kustomization(NamedTuple):
    """The parts of a `kustomization.yaml` that are read."""

    data: dict[str, Any]
    """Empty where it is no mapping."""
    patches: Sequence[str]
    resources: Sequence[str]
    """The patches and resources that somebody has commented out."""
    comments: bool
    """Whether it may have comments that ignore findings."""
    warnings: Sequence[Diagnostic]
    """What kustomize passes over in its text: all but the last of equal keys."""


def kustomization_in(text: str, path: str, *, comments: bool) -> Kustomization:
    """The kustomization in the text of a file."""
    documents, problems = read(text, file=path)
    data = documents[0].data if documents and isinstance(documents[0].data, dict) else {}
    warnings = [each for each in problems if each.severity == "warning"]
    return Kustomization(data, list(_commented(text, PATCHES)), list(_commented(text, ("resources",))), comments, warnings)


class Builds:
    """The kustomizations, by their paths, and the folders of charts around files."""

    def __init__(self, kustomizations: Mapping[str, Kustomization], charts: Iterable[str], expected: Container[str] = ()) -> None:
        """*expected*: the paths of files that tests compare objects with."""
        self._expected = expected
        by_folder = {os.path.dirname(file): each.data for file, each in kustomizations.items()}
        charts = list(map(os.path.normpath, charts))
        self._of_charts = tuple(os.path.join(each, part, "") for each in charts for part in _OF_CHARTS)
        self._charts = frozenset(charts)
        self._roles: dict[str, Role] = {}
        for file, each in kustomizations.items():
            folder = os.path.dirname(file)
            self._roles |= {joined(folder, name): "kustomize patch" for name in each.patches}
            self._roles |= {joined(folder, name): "kustomize input" for name in inputs_of(by_folder[folder]) if name}
            self._roles |= {joined(folder, name): "kustomize patch" for name in patches_of(by_folder[folder]) if name}
        commented = {os.path.dirname(file): each.resources for file, each in kustomizations.items()}
        self._completed, patched_in = _completed(by_folder, commented)
        files = {os.path.dirname(file): file for file in kustomizations}
        self._patched_in = {path: tuple(files[folder] for folder in folders) for path, folders in patched_in.items()}
        self.patches = tuple(path for path, role in self._roles.items() if role == "kustomize patch")
        """The paths of the files that kustomizations name as patches."""
        self._folders = by_folder.keys()
        self._folders_of_patches = {os.path.dirname(path) for path, role in self._roles.items() if role == "kustomize patch"}

    def role(self, path: str) -> Role | None:
        """What a file is; None where it may be a manifest, also where it is an input of a kustomization that lists it as a manifest, too.

        A file that no kustomization names is a patch if it is in a folder `patches`, as those of kubeadm and Talos are, or by its own name:
        beside or below a kustomization, it is enough that the name has the word `patch`; elsewhere it has to end in `patch.yaml`.
        """
        path = os.path.normpath(path)
        if path.startswith(self._of_charts) or (os.path.dirname(path) in self._charts and is_of_chart(os.path.basename(path))):
            return "Helm chart file"
        is_listed, folder = path in self._completed, os.path.dirname(path)
        if is_listed and self._roles.get(path) != "kustomize patch":
            return None
        if path not in self._roles and not is_listed:
            if os.path.basename(folder) == "patches":
                return "kustomize patch" if folder in self._folders_of_patches else "patch"
            name = os.path.basename(path)
            if _PATCH.search(name) and any(each in self._folders for each in _around(folder)):
                return "kustomize patch"
            if _LONE_PATCH.search(name):
                return "patch"
            if path in self._expected or _ASSERTION.search(name):
                return "expected state"
        while path not in self._roles and os.path.dirname(path) not in ("", path):
            path = os.path.dirname(path)
        return self._roles.get(path)

    def is_left_out(self, path: str) -> bool:
        """Whether a file is beside a kustomization, and none lists it: who applies the folder does not apply the file."""
        path = os.path.normpath(path)
        return os.path.dirname(path) in self._folders and path not in self._completed

    def completed(self, path: str) -> frozenset[str]:
        """What the builds of a manifest fill in: `namespace`, `selector`, the tag of `image NAME`; `annotations` are made texts."""
        return frozenset(self._completed.get(os.path.normpath(path), ()))

    def patched_in(self, path: str) -> tuple[str, ...]:
        """The kustomizations whose patches may change a manifest."""
        return self._patched_in.get(os.path.normpath(path), ())


def _around(folder: str) -> Iterator[str]:
    """A folder, and those around it."""
    while folder:
        yield folder
        folder = os.path.dirname(folder) if folder != os.sep else ""


@lru_cache(maxsize=4096)
def joined(folder: str, name: str) -> str:
    """The path that a name in a file of a folder stands for."""
    return os.path.normpath(os.path.join(folder, name))


def _completed(
    kustomizations: Mapping[str, dict[str, Any]], commented: Mapping[str, Sequence[str]]
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """The manifests that kustomizations (folder -> data) list, each with what the build of any of these fills in; *commented* ones, too.

    And the folders of the kustomizations whose patches may change it.
    """
    found: dict[str, set[str]] = {}
    patched_in: dict[str, set[str]] = {}

    @cache
    def of_folder(folder: str) -> tuple[frozenset[str], frozenset[str], list[str]]:
        data = kustomizations[folder]
        components = [joined(folder, name) for name in texts(data, "components")]
        patching = frozenset(each for each in (folder, *components) if any(map(kustomizations.get(each, {}).get, PATCHES)))
        names = (*texts(data, "resources"), *texts(data, "bases"), *commented[folder])
        filled_in = frozenset().union(*(_filled_in_by(each) for each in (data, *(kustomizations.get(name, {}) for name in components))))
        return filled_in, patching, [*(joined(folder, name) for name in names), *components]

    def visit(folder: str, fills: frozenset[str], around: frozenset[str], patches: frozenset[str]) -> None:
        own, patching, listed = of_folder(folder)
        fills, patches = fills | own, patches | patching
        for path in listed:
            if path not in kustomizations:
                found.setdefault(path, set()).update(fills)
                patched_in.setdefault(path, set()).update(patches)
            elif path not in around:
                visit(path, fills, around | {path}, patches)

    for folder in kustomizations:
        visit(folder, frozenset(), frozenset((folder,)), frozenset())
    return found, patched_in


def _filled_in_by(data: dict[str, Any]) -> frozenset[str]:
    """What a kustomization fills in in what it lists."""
    is_component = data.get("kind") == "Component"  # whoever uses it may fill them in, in another repository, too
    labels = data.get("commonLabels") or any(each.get("includeSelectors") for each in structs(data, "labels"))
    pinned = [each for each in structs(data, "images") if each.get("digest") or each.get("newTag", "latest") != "latest"]
    names = ("annotations", *(f"image {each.get('name')}" for each in pinned), *_labels_in_templates(data))
    filled = {"namespace": is_component or data.get("namespace"), "selector": is_component or labels}
    return frozenset((*names, *(name for name, value in filled.items() if value)))


def _labels_in_templates(data: dict[str, Any]) -> Iterator[str]:
    """Yield the labels that a kustomization gives pod templates: the key alone if selectors get the label, too."""
    yield from (f"label {key}" for key in mapping(data, "commonLabels"))
    for each in structs(data, "labels"):
        pairs = mapping(each, "pairs")
        if each.get("includeSelectors"):
            yield from (f"label {key}" for key in pairs)
        elif each.get("includeTemplates"):
            yield from (f"label {key}: {value}" for key, value in pairs.items())


def patches_of(data: dict[str, Any]) -> Iterator[str]:
    """The paths of the patches of a kustomization."""
    return _paths_in(data, PATCHES)


def inline_patches_of(data: dict[str, Any]) -> Iterator[str]:
    """The texts of the patches that a kustomization has in itself."""
    for name in PATCHES:
        yield from (text for text in texts(data, name) if "\n" in text)
        yield from (str(each.get("patch") or "") for each in structs(data, name))


def inputs_of(data: dict[str, Any]) -> Iterator[str]:
    """The paths of what a kustomization reads besides manifests and patches."""
    yield from _paths_in(data, _INPUTS)
    for generator in (each for field in GENERATORS for each in structs(data, field)):
        for name in (*texts(generator, "files"), *texts(generator, "envs"), str(generator.get("env") or "")):
            yield name.rpartition("=")[2]
    for chart in structs(data, "helmCharts"):
        yield from (str(chart.get("valuesFile") or ""), *texts(chart, "additionalValuesFiles"))
    yield str(mapping(data, "openapi").get("path") or "")


def _paths_in(data: dict[str, Any], fields: Iterable[str]) -> Iterator[str]:
    """The paths in the lists of some fields; a text of several lines is a patch or a plugin itself."""
    for field in fields:
        yield from (name for name in texts(data, field) if "\n" not in name)
        yield from (str(each.get("path") or "") for each in structs(data, field))


def _commented(text: str, sections: Sequence[str]) -> Iterator[str]:
    """The files that somebody has commented out in some sections of a kustomization."""
    section = ""
    for line in text.splitlines():
        if found := _SECTION.match(line):
            section = found[1]
        elif section in sections and (item := _COMMENTED_ITEM.match(line)):
            yield item[1]
