"""The folder of the engines' objects. It stands beside the rendered tree, which an engine that synced its own objects could lock up."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.documents.writer import write
from jobspec.gitops.engines import argocd, flux
from jobspec.gitops.engines.replacing import policy
from jobspec.gitops.engines.synced import Synced, SyncedObject
from jobspec.gitops.health.argocd import customizations
from jobspec.gitops.health.flux import HEALTH_CHECK_EXPRS
from jobspec.gitops.tree import KUSTOMIZATION, as_rendered, kustomization

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.gitops.engines.declared import ArgoCD, Engines, Flux
    from jobspec.gitops.rendering import RenderedVariant
    from jobspec.gitops.tree import Files, Tree

#: The patch of Argo CD's own ConfigMap, which no kustomization applies: it would take the whole ConfigMap over.
_HEALTH = "argocd-cm-health.yaml"
#: What belongs to the cluster that is synced to, and so not to the one that Argo CD runs in.
_THERE = "# For the cluster {}: kubectl apply --server-side -f {}\n"
_HOW = "# The health of training jobs: kubectl patch configmap argocd-cm -n {} --patch-file {}\n"


class EngineTree:
    """The files of the engines' folder by path, and what the engines cannot do."""

    __slots__ = ("diagnostics", "files")

    def __init__(self, files: Files, diagnostics: Sequence[Diagnostic] = ()) -> None:
        self.files = files
        self.diagnostics = diagnostics


def engine_tree(engines: Engines, variants: Iterable[RenderedVariant], tree: Tree, *, earlier: Files, path: str) -> EngineTree:
    """The folder of the engines that sync the *tree* of variants with their *earlier* runs, which is at *path* in the repository."""
    objects = [each.synced for variant in variants for each in variant.objects]
    synced = Synced([*objects, *(SyncedObject(each) for content in earlier.values() for each in _documents(content))])
    folders = {each.partition("/")[0] for each in tree.placed}
    problems = list(_mistakes(engines, synced, folders))
    return EngineTree({} if problems or not synced.objects else _files(engines, synced, path), problems)


def _documents(content: bytes) -> list[Document]:
    """The objects of an earlier run's file: they are in the namespace, and of the kind, that the variant had then."""
    from jobspec.documents.reader import read

    return read(content.decode(errors="replace"), file="")[0]


def _files(engines: Engines, synced: Synced, path: str) -> dict[str, bytes]:
    """The files by their path in the folder."""
    policies = policy() if synced.has_fixed else []
    files: dict[str, bytes] = {}
    if said := engines.argocd:
        elsewhere = [] if said.syncs_here else policies
        files |= _folder("argocd", [*_argocd_objects(said, synced, said.path or path), *(policies if said.syncs_here else [])])
        files |= {f"argocd/{_file(each)}": _rendered(each, _THERE.format(said.server, _file(each))) for each in elsewhere}
        patch = argocd.health_patch(said, customizations())
        files[f"argocd/{_HEALTH}"] = _rendered(patch, _HOW.format(said.namespace, _HEALTH))
    if engines.flux:
        files |= _folder("flux", [*_flux_objects(engines.flux, synced, engines.flux.path or path), *policies])
    return files


def _mistakes(engines: Engines, synced: Synced, folders: Collection[str]) -> Iterator[Diagnostic]:
    homeless = [each for each in synced.objects if each.is_namespaced and not each.namespace]
    if homeless:
        first = homeless[0]
        more = f", and neither have {len(homeless) - 1} more" if len(homeless) > 1 else ""
        message = f"{first.group_kind[1]} `{first.name}` has no namespace{more}: no engine knows where to make it"
        yield Diagnostic("invalid-project", message, first.place, hint="write `namespace` into the variant or into the defaults")
    if engines.argocd:
        yield from argocd.mistakes(engines.argocd, synced, folders)


def _argocd_objects(said: ArgoCD, synced: Synced, path: str) -> list[dict[str, Any]]:
    project = argocd.app_project(said, synced)
    make = argocd.application_set if said.flag("applicationSet") else argocd.application
    return [*([project] if project else []), make(said, synced, path)]


def _flux_objects(said: Flux, synced: Synced, path: str) -> list[dict[str, Any]]:
    return [flux.source(said), *flux.kustomizations(said, synced, path, HEALTH_CHECK_EXPRS)]


def _folder(name: str, objects: Sequence[dict[str, Any]]) -> dict[str, bytes]:
    """The files of an engine's folder, with a kustomization that applies them."""
    files = {_file(each): _rendered(each) for each in objects}
    return {f"{name}/{file}": content for file, content in {**files, KUSTOMIZATION: kustomization(files)}.items()}


def _file(each: dict[str, Any]) -> str:
    return f"{each['kind'].lower()}-{each['metadata']['name']}.yaml"


def _rendered(each: dict[str, Any], comment: str = "") -> bytes:
    return as_rendered(comment + write([each]))
