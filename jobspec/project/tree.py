"""The rendered tree: a folder for each variant, one for what they share, kustomizations, the inventory, the engines' objects."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import StringIO
from typing import Any

from jobspec.apis.kinds import PROJECT, PROJECT_FILE
from jobspec.diagnostics.diagnostic import Diagnostic, has_error
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.results import FileResult
from jobspec.documents.atomic_writes import HEADER
from jobspec.documents.decoding import decode
from jobspec.documents.writer import write
from jobspec.journey.steps import Source
from jobspec.operators.workloads import JOBS
from jobspec.project.engines.argocd import app_project, application, application_set, health_patch, mistakes
from jobspec.project.engines.argocd_health import customizations
from jobspec.project.engines.argocd_plugin import plugin_config, plugin_patch
from jobspec.project.engines.flux import kustomizations, namespaces, source
from jobspec.project.engines.replacement import policy
from jobspec.project.engines.synced import Synced, SyncedObject
from jobspec.project.project import ArgoCDSettings, EngineSettings, LoadedProject, ReadFile, Sources, only_document
from jobspec.project.rendering import Identity, RenderedObject, RenderedVariant, identity_of, judged_together, render_variant
from jobspec.project.variants import PlannedVariant, documents_in, variants_of
from jobspec.world.world import Cluster

#: Files by their path below the output folder, with `/` between the parts.
Files = Mapping[str, bytes]


KUSTOMIZATION = "kustomization.yaml"
SHARED = "_shared"
"""The folder of objects that several variants have; no variant can have this name."""


@dataclass(frozen=True, slots=True)
class PlacedObject:
    """The file of an object in the tree."""

    content: bytes
    identity: Identity
    variants: Sequence[str]
    """The names of the variants that have the object."""


_NAMESPACES = ("namespace-",)
_RUNTIMES = ("clustertrainingruntime-", "trainingruntime-")
_JOBS = tuple(f"{name.lower()}-" for _, name in JOBS)


@dataclass(frozen=True, slots=True)
class VariantsTree:
    """The files of variants' objects by path, and problems of objects with two owners.

    Such a problem is an object that two variants make differently.
    """

    placed: Mapping[str, PlacedObject] = field(default_factory=dict)
    diagnostics: Sequence[Diagnostic] = ()

    def only(self, variants: Collection[str]) -> VariantsTree:
        """Return the tree with the files of these variants' objects, shared ones too."""
        return VariantsTree({path: each for path, each in self.placed.items() if any(name in variants for name in each.variants)})

    def text(self) -> str:
        """Write all objects as one stream, in the order in which they must be applied."""
        texts = {path: each.content.decode().removeprefix(f"{HEADER}\n") for path, each in self.placed.items()}
        return "---\n".join(texts[path] for path in sorted(texts, key=_stream_order))


def _stream_order(path: str) -> tuple[int, str]:
    """Where an object stands in a stream: namespaces and runtimes before the rest."""
    name = os.path.basename(path)
    first = next((at for at, begins in enumerate((_NAMESPACES, _RUNTIMES)) if name.startswith(begins)), 2)
    return first, path


def tree_of(variants: Iterable[RenderedVariant]) -> VariantsTree:
    """Return the tree of the valid variants.

    If several variants have an object, its file is in a folder of shared objects, so that it belongs to none of them.
    """
    first: dict[Identity, tuple[str, RenderedObject]] = {}
    users: dict[Identity, list[str]] = {}
    problems: list[Diagnostic] = []
    for variant in sorted((each for each in variants if each.checked.result.valid), key=lambda each: each.name):
        for each in variant.objects:
            owner, known = first.setdefault(each.identity, (variant.name, each))
            users.setdefault(each.identity, []).append(variant.name)
            if known is not each and (each.is_job or known.text != each.text):
                _, kind, _, name = each.identity
                message = f"the variants `{owner}` and `{variant.name}` would be one object, {kind} `{name}`; first in {known.place}"
                problems.append(Diagnostic("duplicate-resource", message, each.place, hint="rename one of them or namespace"))
    placed: dict[str, PlacedObject] = {}
    for identity, (owner, each) in first.items():
        path = f"{owner}/{each.file}" if len(users[identity]) == 1 else shared_path(identity)
        if path in placed:
            message = f"two objects of different groups would both be the file `{path}`"
            problems.append(Diagnostic("duplicate-resource", message, each.place, hint="rename one of them"))
        placed[path] = PlacedObject(as_rendered(each.text), identity, users[identity])
    return VariantsTree(placed, problems)


def shared_path(identity: Identity) -> str:
    """Return the path of a shared object. It depends only on the object's identity."""
    _, kind, namespace, name = identity
    return "/".join(part for part in (SHARED, namespace, f"{kind.lower()}-{name}.yaml") if part)


def with_inventory(files: Files, hashes: Mapping[str, str] = {}) -> dict[str, bytes]:
    """Add the inventory to the files of a tree.

    *hashes*: the hashes of files that are not as they were written.
    """
    found = {path: hashes.get(path) or digest_of(content) for path, content in files.items()}
    return {**files, NAME: as_rendered(text_of(found))}


def complete(tree: VariantsTree, kept: Files, kept_hashes: Mapping[str, str]) -> dict[str, bytes]:
    """Return the whole tree: objects' files, *kept* files, kustomizations and inventory.

    *kept_hashes*: the hashes of the kept files.
    """
    moved = set(_moved(kept, tree))
    changed = {_folder(path) for path in [*tree.placed, *moved]}
    gone = {path for path in kept if path in moved or (path.endswith(f"/{KUSTOMIZATION}") and _folder(path) in changed)}
    stay = {path: content for path, content in kept.items() if path not in gone}
    files = stay | {path: each.content for path, each in tree.placed.items()}
    folders = gathered(path.partition("/")[::2] for path in files)
    written = {f"{folder}/{KUSTOMIZATION}": kustomization(names) for folder, names in folders.items() if KUSTOMIZATION not in names}
    files |= {**written, KUSTOMIZATION: kustomization(folders, in_order=_need_order(files))}
    return with_inventory(files, {path: kept_hashes[path] for path, content in files.items() if content is stay.get(path)})


def _moved(kept: Files, tree: VariantsTree) -> Iterator[str]:
    """Yield the paths of kept files whose object now has another path in the tree.

    The object became shared, or is no longer shared.
    """
    now = {each.identity: path for path, each in tree.placed.items()}
    names = {f"{kind.lower()}-{part}{name}.yaml" for _, kind, namespace, name in now for part in ("", f"{namespace}-")}
    for path, content in kept.items():
        if os.path.basename(path) in names and now.get(_identity_in(content), path) != path:
            yield path


def _identity_in(content: bytes) -> Identity:
    """The object in a file; nothing where it is no longer one."""
    documents = documents_in(content)
    return identity_of(documents[0]) if documents else ("", "", "", "")


def _folder(path: str) -> str:
    """The folder at the top of the tree that a file stands in."""
    return path.partition("/")[0]


def differences(before: Files, after: Files, folder: str = "") -> Iterator[str]:
    """Yield the lines of a unified diff between two states of a folder."""
    from difflib import unified_diff

    around = f"{folder}/" if folder else ""
    for path in sorted(before.keys() | after.keys(), key=lambda each: (each == NAME, each)):
        old, new = before.get(path), after.get(path)
        if old != new:
            end = "\t" if " " in f"{around}{path}" else ""  # which ends a name with a blank in it, as in the diffs of git
            said = ["/dev/null" if each is None else f"{side}/{around}{path}{end}" for side, each in (("a", old), ("b", new))]
            yield from map(_ended, unified_diff(_lines_of_file(old), _lines_of_file(new), said[0], said[1]))


def _lines_of_file(content: bytes | None) -> list[str]:
    """Return the lines of a file. Only a line feed ends a line.

    YAML has other line breaks, but programs that apply diffs do not.
    """
    return list(StringIO((content or b"").decode(errors="backslashreplace")))


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def kustomization(resources: Collection[str], *, in_order: bool = False) -> bytes:
    """Write a `kustomization.yaml` with these resources.

    With a runtime among the resources, or *in_order*, they are applied in the order in which they are listed.
    """
    data = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": sorted(resources, key=_apply_order)}
    order = {"sortOptions": {"order": "fifo"}} if in_order or _need_order(resources) else {}
    return as_rendered(write([{**data, **order}]))


def _need_order(paths: Iterable[str]) -> bool:
    """True if files must be applied in order.

    In kustomize's own order, a TrainJob comes before its runtime, and a webhook then refuses the job.
    """
    return any(os.path.basename(path).startswith(_RUNTIMES) for path in paths)


def _apply_order(path: str) -> tuple[int, str]:
    """Namespaces come first, and what variants share; jobs last, and each group by name."""
    name = os.path.basename(path)
    is_early = path == SHARED or name.startswith(_NAMESPACES)
    return (0 if is_early else 2 if name.startswith(_JOBS) else 1), path


def as_rendered(text: str) -> bytes:
    """Return the content of a rendered file. Its first line says that it is rendered."""
    return f"{HEADER}\n{text}".encode()


# The inventory of a rendered tree: which files are ours, each with the hash of what was written.
#
# It is sorted by path and says nothing of time or place, so that the same tree has the same inventory on every machine.


NAME = ".jobspec-inventory"


def text_of(hashes: Mapping[str, str]) -> str:
    """Write the inventory of hashes by path, with a line of its own before each folder.

    These lines let Git merge changes of different variants.
    """
    lines, before = [], ""
    for path in sorted(hashes, key=lambda each: ("/" in each, each)):
        folder = path.rpartition("/")[0].partition("/")[0]
        lines += [f"# {folder}\n"] if folder != before else []
        lines.append(f"{hashes[path]}  {path}\n")
        before = folder
    return "".join(lines)


def parse(text: str) -> dict[str, str]:
    """Read the hashes by path of an inventory.

    Raises ValueError if the text is no inventory, such as one with two sides of a merge.
    """
    hashes = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        digest, blanks, path = line.partition("  ")
        if not blanks or len(digest) != 64 or not path:
            raise ValueError(line)
        hashes[path] = digest
    return hashes


def inventory_in(found: Files) -> dict[str, str] | None:
    """Return the hashes in the inventory of a tree. If it cannot be read, return None.

    In a merge, Git may have left conflict markers in the inventory.
    """
    try:
        return parse(found.get(NAME, b"").decode())
    except ValueError:
        return None


def digest_of(content: bytes) -> str:
    """Return the hash of a file's content."""
    return sha256(content).hexdigest()


def ours(found: Mapping[str, bytes], hashes: Mapping[str, str]) -> dict[str, bytes]:
    """Return the files of a folder that are as jobspec wrote them."""
    return {path: content for path, content in found.items() if path in hashes and digest_of(content) == hashes[path]}


def state_of(found: Mapping[str, bytes], hashes: Mapping[str, str], wanted: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
    """Return our files with edits, stale files too, and files of others, in the files *found*.

    A file that is as *wanted* is ours, whatever program wrote it.
    """
    others = [path for path in sorted(found) if path != NAME and found[path] != wanted.get(path)]
    edited = [path for path in others if path in hashes and digest_of(found[path]) != hashes[path]]
    return edited, [path for path in others if path not in hashes]


# The folder of the engines' objects: beside the rendered tree, since an engine that syncs its own objects can lock itself out.


#: The patch of Argo CD's own ConfigMap, which no kustomization applies: it would take the whole ConfigMap over.
_HEALTH = "argocd-cm-health.yaml"
#: What belongs to the cluster that is synced to, and so not to the one that Argo CD runs in.
_THERE = "# For the cluster {}: kubectl apply --server-side -f {}\n"
_HOW = "# The health of training jobs: kubectl patch configmap argocd-cm -n {} --patch-file {}\n"
#: The patch of Argo CD's repository server with the plugin's sidecar.
_SIDECAR = "argocd-repo-server-patch.yaml"
_HOW_TO_ADD = "# The plugin's sidecar: kubectl patch deployment argocd-repo-server -n {} --patch-file {}\n"


@dataclass(frozen=True, slots=True)
class EngineTree:
    """The files of the engines' folder by path, and diagnostics about the engines' limits."""

    files: Files = field(default_factory=dict)
    diagnostics: Sequence[Diagnostic] = ()


def engine_tree(
    engines: EngineSettings | None, variants: Iterable[RenderedVariant], tree: VariantsTree, *, earlier: Files, path: str, project: str
) -> EngineTree:
    """Return the folder of the engines that sync the *tree* of variants and *earlier* runs.

    *path*: the path of the tree in the repository; *project*: the path of the project's file in the repository. Without engines, there
    are no files.
    """
    if not engines:
        return EngineTree()
    objects = [each.synced for variant in variants for each in variant.objects]
    # The objects of earlier runs are in the namespace, and of the kind, that their variant had then.
    synced = Synced([*objects, *(SyncedObject(each, is_job=True) for content in earlier.values() for each in documents_in(content))])
    folders = set(map(_folder, tree.placed))
    problems = list(_mistakes(engines, synced, folders, project))
    return EngineTree({} if problems or not synced.objects else _files(engines, synced, path, project), problems)


def _files(chosen: EngineSettings, synced: Synced, path: str, project: str) -> dict[str, bytes]:
    """The files by their path in the folder."""
    policies = policy() if synced.has_fixed else []
    files: dict[str, bytes] = {}
    if said := chosen.argocd:
        elsewhere = [] if said.syncs_here else policies
        has_plugin = said.flag("plugin")
        place = said.path or ((os.path.dirname(project) or ".") if has_plugin else path)
        objects = [*_argocd_objects(said, synced, place), *([plugin_config(said)] if has_plugin else [])]
        files |= _engine_folder("argocd", [*objects, *(policies if said.syncs_here else [])])
        if has_plugin:
            files[f"argocd/{_SIDECAR}"] = _rendered_text(plugin_patch(said), _HOW_TO_ADD.format(said.namespace, _SIDECAR))
        files |= {f"argocd/{_file(each)}": _rendered_text(each, _THERE.format(said.server, _file(each))) for each in elsewhere}
        patch = health_patch(said, customizations())
        files[f"argocd/{_HEALTH}"] = _rendered_text(patch, _HOW.format(said.namespace, _HEALTH))
    if flux := chosen.flux:
        parts = kustomizations(flux, synced, flux.path or path)
        files |= _engine_folder("flux", [*namespaces(flux, synced), source(flux), *parts, *policies])
    return files


def _mistakes(chosen: EngineSettings, synced: Synced, folders: Collection[str], project: str) -> Iterator[Diagnostic]:
    homeless = [each for each in synced.objects if each.is_namespaced and not each.namespace]
    if homeless:
        first = homeless[0]
        more = f", and neither have {len(homeless) - 1} more" if len(homeless) > 1 else ""
        message = f"{first.group_kind[1]} `{first.name}` has no namespace{more}: engines cannot create it"
        yield Diagnostic("invalid-project", message, first.place, hint="set `namespace` in the variant or in the defaults")
    if chosen.argocd:
        yield from mistakes(chosen.argocd, synced, folders)
        if chosen.argocd.flag("plugin") and os.path.basename(project) != PROJECT_FILE:
            message = f"the plugin renders the project `{PROJECT_FILE}` of a folder, and this one is `{os.path.basename(project)}`"
            yield chosen.argocd.mistake(message, "plugin", hint=f"call it {PROJECT_FILE}")


def _argocd_objects(said: ArgoCDSettings, synced: Synced, path: str) -> list[dict[str, Any]]:
    project = app_project(said, synced)
    make = application_set if said.flag("applicationSet") else application
    return [*([project] if project else []), make(said, synced, path)]


def _engine_folder(name: str, objects: Sequence[dict[str, Any]]) -> dict[str, bytes]:
    """The files of an engine's folder, with a kustomization that applies them."""
    files = {_file(each): _rendered_text(each) for each in objects}
    return {f"{name}/{file}": content for file, content in {**files, KUSTOMIZATION: kustomization(files)}.items()}


def _file(each: dict[str, Any]) -> str:
    return f"{each['kind'].lower()}-{each['metadata']['name']}.yaml"


def _rendered_text(each: dict[str, Any], comment: str = "") -> bytes:
    return as_rendered(comment + write([each]))


# A whole project from the text of its file: its variants, what they render to, and what is wrong with any of them.


@dataclass(frozen=True)
class Whole:
    """The rendered files of a project, and its problems."""

    diagnostics: Sequence[Diagnostic]
    """What is wrong with the project, its bases and overlays, and with the tree; what is wrong with a variant is in the variant."""
    rendered: Sequence[RenderedVariant] = ()
    tree: VariantsTree = field(default_factory=VariantsTree)
    """The files of the variants' objects."""
    project: LoadedProject | None = None
    """None where it could not be rendered."""
    variants: Sequence[PlannedVariant] = ()
    cluster: Cluster = field(default_factory=Cluster)

    @property
    def valid(self) -> bool:
        """True if no problem prevents the project from being rendered."""
        return not has_error(self.diagnostics)


def project_in(source: Source) -> LoadedProject | FileResult:
    """Read the project in a file, or return the problems of the file.

    Raises JobspecError if the file holds anything else, too.
    """
    found = only_document(source, PROJECT, "a project file must hold one document, the project")
    if isinstance(found, FileResult):
        return found
    text = source.content if isinstance(source.content, str) else decode(source.content, source.name)
    assert isinstance(text, str)
    return LoadedProject(found, text)


def whole(source: Source, read: ReadFile, cluster: Cluster | None = None) -> Whole:
    """Read and render the project in a file, with the files that it names.

    If no *cluster* is given, the project meets a cluster of its own releases.
    """
    project = project_in(source)
    if isinstance(project, FileResult):
        return Whole(project.diagnostics)
    wrong = [*project.wrong_releases(), *(project.engines.mistakes() if project.engines else ())]
    if wrong:
        return Whole(wrong)
    cluster = cluster or Cluster(project.asked_releases)
    variants, problems = variants_of(project, Sources(read, cluster))
    if not FileResult(source.name, (), problems).valid:
        return Whole(problems)
    rendered = judged_together([render_variant(each, cluster) for each in variants], {"": cluster})
    tree = tree_of(rendered)
    return Whole([*problems, *tree.diagnostics], rendered, tree, project, variants, cluster)
