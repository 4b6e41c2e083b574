"""How Argo CD and Flux apply folders: namespaces, substituted values, patches."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from jobspec.apis.kinds import APPLICATION, CONFIG_MAP, FLUX, PROJECT, find
from jobspec.diagnostics.grouping import gathered
from jobspec.documents.document import Document
from jobspec.go.values import mapping, structs
from jobspec.kubernetes import common_kinds
from jobspec.repository.in_build import AppliedFolder, Undecrypted
from jobspec.repository.roles import joined
from jobspec.repository.substitution import Variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.apis.releases import Target
    from jobspec.repository.in_build import InBuild


#: The kinds that say how folders are applied, Argo CD's ConfigMap among them.
APPLYING_KINDS = (FLUX, APPLICATION, PROJECT, CONFIG_MAP)


def applied_folders(
    documents: Sequence[Document], top: str, *, is_added: Callable[[Document, str], bool] = lambda _, __: False
) -> dict[str, AppliedFolder]:
    """Return the folders below *top* that Flux, Argo CD and the engines of projects apply.

    Of a folder that several apply, what they say alike counts. *is_added*: whether a patch may add a field to a Kustomization.
    """
    found = gathered((joined(top, folder), how) for each in documents for folder, how in _applied_by(each, documents, is_added))
    agreed = {folder: agreed_on(several) for folder, several in found.items()}
    return {folder: how for folder, how in agreed.items() if how != AppliedFolder()}


def _applied_by(
    document: Document, documents: Sequence[Document], is_added: Callable[[Document, str], bool]
) -> Iterator[tuple[str, AppliedFolder]]:
    """The folders that a document has an engine apply, from the top of the repository or where the document is, and how."""
    spec = mapping(document.data, "spec")
    if document.group_kind == FLUX:
        if spec.get("sourceRef"):  # a patch of a Kustomization has none
            yield str(spec.get("path") or ""), _by_flux(document, documents, partial(is_added, document))
    elif document.group_kind == APPLICATION:
        namespace = str(mapping(spec, "destination").get("namespace") or "")
        for source in _sources(document):
            if source.get("path"):
                encrypted = None if source.get("plugin") else _without_plugin(f"Application `{document.name}`")
                yield (
                    str(source["path"]),
                    AppliedFolder(
                        default_namespace=namespace,
                        undecrypted=encrypted,
                        engine="Argo CD",
                        is_recursive=bool(mapping(source, "directory").get("recurse")),
                        is_replaced="Replace=true" in options_of(document),
                        by_server="ServerSideApply=true" in options_of(document),
                        prunes=mapping(spec, "syncPolicy", "automated").get("prune") is True,
                    ),
                )
    elif document.group_kind == PROJECT:
        argocd = mapping(spec, "engines", "argocd")
        if argocd and not argocd.get("plugin"):
            folder = os.path.join(os.path.dirname(document.file), str(spec.get("output") or "rendered"))
            encrypted = _without_plugin(f"the engine of {os.path.basename(document.file)}")
            yield os.path.abspath(folder), AppliedFolder(undecrypted=encrypted, engine="Argo CD")


def _sources(application: Document) -> list[dict[str, Any]]:
    """Return the sources of an Application."""
    spec = mapping(application.data, "spec")
    return [mapping(spec, "source"), *structs(spec, "sources")]


def applied_paths(application: Document) -> list[str]:
    """Return the folders of an Application, from the top of their repositories."""
    return [str(each["path"]) for each in _sources(application) if each.get("path")]


def options_of(application: Document) -> list[str]:
    """Return the sync options of an Application, which hold for all of its objects."""
    options = mapping(application.data, "spec", "syncPolicy").get("syncOptions")
    return [each for each in options if isinstance(each, str)] if isinstance(options, list) else []


def _without_plugin(application: str) -> Undecrypted:
    why = f"{application} has no plugin that decrypts it: Argo CD applies the encrypted values"
    hint = "decrypt it in a config management plugin, such as KSOPS, or let External Secrets or Sealed Secrets make the Secret"
    return Undecrypted(why, hint, why)


def _by_flux(document: Document, documents: Sequence[Document], is_added: Callable[[str], bool]) -> AppliedFolder:
    """How a Kustomization of Flux applies its folder, where no patch adds anything to it."""
    spec = mapping(document.data, "spec")
    is_committed = mapping(spec, "sourceRef").get("kind") == "GitRepository"  # other artifacts may be rendered before
    namespace = str(spec.get("targetNamespace") or "")
    by = f"Kustomization `{document.name}`"
    encrypted = None
    if is_committed and not spec.get("decryption") and not is_added("decryption"):
        why = f"{by} has no `decryption`: Flux applies"
        encrypted = Undecrypted(f"{why} nothing of its folder", "set `spec.decryption.provider: sops`", f"{why} the encrypted values")
    return AppliedFolder(
        _substitution(document, documents, by, is_open=not is_committed or is_added("postBuild")),
        namespace=namespace,
        undecrypted=encrypted,
        completed=frozenset({"namespace"} if namespace else ()),
        is_recursive=True,
        engine="Flux",
        forced_by=f"`force: true` of the {by}" if spec.get("force") is True else "",
        by_server=True,
        prunes=spec.get("prune") is True,
    )


def _substitution(document: Document, documents: Sequence[Document], by: str, *, is_open: bool) -> Variables:
    """What a Kustomization of Flux substitutes, as far as files have the values in plain text."""
    build = mapping(document.data, "spec", "postBuild")
    found: dict[str, Any] = {}
    differing: set[str] = set()
    for source in structs(build, "substituteFrom"):
        objects = [each for each in documents if _is_source(each, source, document.namespace)]
        plain = [{name: value for name, value in _texts_of(each).items() if not str(value).startswith("ENC[")} for each in objects]
        is_open = is_open or not objects or any(len(_texts_of(each)) > len(values) for each, values in zip(objects, plain, strict=True))
        is_open = is_open or any(each.kind == "Secret" and mapping(each.data, "data") for each in objects)
        differing |= {name for values in plain for name in values if any(other.get(name) != values[name] for other in plain)}
        found |= {name: value for values in plain for name, value in values.items()}
    inline = mapping(build, "substitute")
    differing -= inline.keys()
    values = {name: str(value).replace("\n", "") for name, value in {**found, **inline}.items() if name not in differing}
    return Variables(values, is_open, frozenset(differing), by, always=build.get("substituteStrategy") == "Always")


def _is_source(document: Document, source: dict[str, Any], namespace: str) -> bool:
    """Whether an object is the ConfigMap or Secret that a Kustomization names; its kustomization may give it the namespace."""
    is_named = (document.kind, document.name) == (source.get("kind"), source.get("name"))
    return is_named and document.namespace in ("", namespace)


def _texts_of(document: Document) -> dict[str, Any]:
    return mapping(document.data, "stringData" if document.kind == "Secret" else "data")


def agreed_on(several: Sequence[AppliedFolder]) -> AppliedFolder:
    """The settings that several ways to apply a folder share."""
    first, *others = several
    if not others:
        return first

    def same(values: Iterable[str]) -> str:
        first, *others = dict.fromkeys(values)
        return "" if others else first

    undecrypted = [each.undecrypted for each in several if each.undecrypted]
    return AppliedFolder(
        _agreed_substitution([each.substitution for each in several]),
        namespace=same(each.namespace for each in several),
        default_namespace=same(each.default_namespace for each in several),
        undecrypted=next(iter(undecrypted), None),
        completed=first.completed.intersection(*(each.completed for each in others)),
        is_recursive=any(each.is_recursive for each in several),
        engine=same(each.engine for each in several),
        forced_by=first.forced_by if all(each.forced_by for each in several) else "",
        is_replaced=all(each.is_replaced for each in several),
        by_server=all(each.by_server for each in several),
        prunes=first.prunes if all(each.prunes == first.prunes for each in others) else None,
    )


def _agreed_substitution(several: Sequence[Variables | None]) -> Variables | None:
    """The values that several Kustomizations give alike; it is open what becomes of all other variables."""
    known = [each for each in several if each is not None]
    if not known:
        return None
    given = [each.values for each in known if each.values]
    names = {name for values in given for name in values}
    common = {name for name in names if len({values.get(name) for values in given}) == 1}
    is_same = len(known) == len(several) and all(each.values == known[0].values for each in known)
    return Variables(
        {name: given[0][name] for name in sorted(common)},
        is_open=not is_same or any(each.is_open for each in known),
        differing=frozenset(names - common),
        by=known[0].by,
        always=all(each.always for each in known),
    )


def builds_itself(kustomization: Document, top: str) -> bool:
    """True if a Kustomization of Flux builds the folder of its own file, as `flux-system` does."""
    folder = joined(top, str(mapping(kustomization.data, "spec").get("path") or ""))
    return os.path.commonpath([folder, os.path.realpath(kustomization.file)]) == folder


def patched_by_flux(documents: Iterable[Document]) -> frozenset[str]:
    """Return what patches of Flux's Kustomizations may fill in, such as `HelmRelease interval`."""
    found = set()
    for patch in (each for document in documents if document.group_kind == FLUX for each in structs(document.data, "spec", "patches")):
        text = str(patch.get("patch"))
        kinds = {*re.findall(r"\bkind: (\w+)", text), str(mapping(patch, "target").get("kind"))}
        found |= {f"{kind} {field}" for kind in kinds for field in re.findall(r"\w+(?=:)|(?<=/)\w+", text)}
    return frozenset(found)


def sources_of_values(document: Document) -> list[str]:
    """The names of the ConfigMaps and Secrets that a Kustomization of Flux takes values from."""
    build = mapping(document.data, "spec", "postBuild") if document.group_kind == FLUX else {}
    return [str(each["name"]) for each in structs(build, "substituteFrom") if each.get("name")]


def in_namespace(document: Document, within: InBuild, target: Target) -> Document:
    """Return a document in the namespace that engines put it in.

    If its kind has no namespace, or jobspec does not know whether it has one, return the document itself.
    """
    metadata = mapping(document.data, "metadata")
    namespace = within.by_engine.namespace or document.namespace or within.by_engine.default_namespace
    if not metadata or namespace == document.namespace or not _is_namespaced(document, target):
        return document
    return document.with_metadata({"namespace": namespace})


def _is_namespaced(document: Document, target: Target) -> bool:
    if known := find(document.api_version, document.kind):
        return known.namespaced
    common = common_kinds.find(document, target)
    return common is not None and common.namespaced
