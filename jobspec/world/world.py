"""The world that manifests meet: releases, kinds, objects, webhooks, open or closed."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.apis.releases import CHOSEN, OPERATORS, QUEUES, Target, is_later, reported
from jobspec.apis.releases import complete as completed
from jobspec.diagnostics.diagnostic import lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.grouping import grouped
from jobspec.documents.document import Document
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.workloads import may_have_templates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
    from typing import Any, TypeVar

    from jobspec.apis.kinds import GroupKind
    from jobspec.documents.manifest import Manifest
    from jobspec.kubernetes.applying import Side
    from jobspec.kubernetes.custom_kinds import CustomKinds, UnreadFile
    from jobspec.kubernetes.index import Index
    from jobspec.operators.templates import PodsSetting, PodTemplate
    from jobspec.programs.contracts import Contract

    T = TypeVar("T")


class StoredObjects:
    """The stored objects that manifests update, by API version, kind, namespace and name."""

    __slots__ = ("_by_name", "_documents", "is_live", "side")

    def __init__(self, documents: Iterable[Document], side: Side = "client", *, is_live: bool = False) -> None:
        """*side*: where the updates are applied. *is_live*: a server gave the objects, with all that policies added to them."""
        self.side = side
        self.is_live = is_live
        named = self._documents = [each for each in documents if each.name]
        self._by_name = grouped(named, lambda each: (each.api_version, each.kind, each.name))

    def of(self, document: Document) -> Document | None:
        """The stored object that the document updates, None for a new object.

        If several stored objects have its name, as in several builds, the one of its own file counts. If only one of them names a
        namespace, the other is taken to be in it, unless several stored objects have the name.
        """
        named = self._by_name.get((document.api_version, document.kind, document.name), [])
        exact = [each for each in named if each.namespace == document.namespace]
        loose = [each for each in named if not each.namespace or not document.namespace]
        if exact:
            return next((each for each in exact if each.file == document.file), exact[-1])
        return loose[0] if len(loose) == 1 else None

    def without(self, documents: Iterable[Document]) -> StoredObjects:
        """Return the stored objects other than those that some documents update."""
        left_out = [self.of(each) for each in documents]
        return StoredObjects(
            (each for each in self._documents if not any(each is one for one in left_out)), self.side, is_live=self.is_live
        )

    def applied_at(self, side: Side) -> StoredObjects:
        """Return the same stored objects, updated by applies at a side."""
        return StoredObjects(self._documents, side)


class Cluster:
    """The world of a manifest: releases, kinds, objects and policies that decide on it."""

    __slots__ = (
        *("_found", "around", "complete", "contracts", "custom_kinds", "installed", "later", "objects"),
        *("pods", "stored", "target", "webhooks"),
    )

    def __init__(
        self,
        target: Mapping[str, str] | None = None,
        *,
        crds: Sequence[Manifest] = (),
        custom_kinds: CustomKinds | None = None,
        objects: Sequence[Manifest] = (),
        stored: StoredObjects | Sequence[Manifest] | None = None,
        webhooks: bool = True,
        closed: bool = False,
        complete: kinds.CompleteKinds = kinds.UNKNOWN,
        installed: Mapping[str, str | None] | None = None,
        contracts: Mapping[str, Contract] | None = None,
        pods: Mapping[GroupKind, Sequence[PodsSetting]] | None = None,
        around: Index | None = None,
    ) -> None:
        """Raises JobspecError for an unknown release, and for *crds*, *objects* and *stored* that cannot be read."""
        asked = target or {}
        brings_crds = custom_kinds is not None or bool(crds)
        self.later = {each: asked[each] for each in OPERATORS if brings_crds and each in asked and is_later(each, asked[each])}
        """Releases that came after all known ones, by operator: their kinds are judged by *crds* alone, by the newest known webhooks."""
        self.target: Target = completed({each: release for each, release in asked.items() if each not in self.later})
        """The release of each component, as in `{"trainer": "2.2"}`; the newest where nothing is said."""
        self.custom_kinds = custom_kinds or (_custom_kinds(crds, self.target) if crds else None)
        """The kinds that *crds* define, by which objects are judged before our own schemas; None where there are none."""
        self.objects = _documents(objects, "<objects>")
        """Accepted objects that manifests may refer to, besides those in their own file and those that the operators ship."""
        self.stored = stored if stored is None or isinstance(stored, StoredObjects) else StoredObjects(_documents(stored, "<stored>"))
        """The objects that manifests update; None where all manifests are new objects."""
        self.webhooks = webhooks
        """Whether the operators' webhooks are asked."""
        self.complete = kinds.CompleteKinds(complete.pinned, every=True) if closed else complete
        """The kinds of which an object that is nowhere at hand does not exist: all of them where it is *closed*."""
        there = dict.fromkeys(OPERATORS) if installed is None else installed
        self.installed = {**there, QUEUES: self.target[QUEUES]} if QUEUES in self.target else there
        """What it has of operators, each with its release where that is known: all of them unless a pinned cluster says otherwise."""
        self.contracts: Mapping[str, Contract] = contracts or {}
        """Of images, by their names without tag and digest: the flags that their programs take."""
        self.pods: Mapping[GroupKind, Sequence[PodsSetting]] = pods or {}
        """Of kinds that jobspec does not know: where their objects have pod templates."""
        self.around = around
        """The objects with those of all checked files; None before these are known."""
        self._found: dict[str, Any] = {}
        """What was looked for among the objects, of which a pinned cluster has thousands."""

    def __repr__(self) -> str:
        return f"<Cluster of {', '.join(' '.join(each) for each in self.releases.items())}>"

    @property
    def releases(self) -> dict[str, str]:
        """The releases that a report names, whatever the files have."""
        return self.releases_met()

    def releases_met(self, components: Container[str] = ()) -> dict[str, str]:
        """Return the releases that a report names of files with kinds of *components*."""
        return reported(self.target, components) | self.later

    @property
    def is_pinned(self) -> bool:
        """Whether it is that of a file, which has the shapes of its nodes."""
        return self.once("is_pinned", lambda: any(each.group_kind == kinds.CLUSTER for each in self.objects))

    @property
    def lookups(self) -> list[Document]:
        """Those of the objects that webhooks look up, such as runtimes."""
        return self.once("lookups", lambda: [each for each in self.objects if each.group_kind in kinds.WEBHOOK_LOOKUPS])

    @property
    def has_policies(self) -> bool:
        """Whether admission policies with rules in CEL are among the objects."""
        return bool(self.rules)

    @property
    def rules(self) -> list[Document]:
        """Those policies and their bindings."""
        return self.once("rules", lambda: [each for each in self.objects if each.group_kind in kinds.ADMISSION_POLICIES])

    @property
    def index(self) -> Index:
        """All given objects: those of the cluster, and in a cluster that checked files meet those of the files."""
        from jobspec.kubernetes.index import index_of

        return self.around or self.once("index", lambda: index_of(self.objects, complete=self.complete))

    def once(self, name: str, find: Callable[[], T]) -> T:
        """What *find* gives, called once for each name: a cache of look-ups among the objects."""
        if name not in self._found:
            self._found[name] = find()
        found: T = self._found[name]
        return found

    def for_bases(self) -> Cluster:
        """The cluster that bases of overlays are checked in: they are never sent, so no webhook sees them, and they update nothing."""
        return self._changed(stored=None, webhooks=False, contracts=None)

    def updating(self, stored: StoredObjects) -> Cluster:
        """The same cluster, where manifests are updates of these objects."""
        return self._changed(stored=stored)

    def with_releases(self, releases: Mapping[str, str]) -> Cluster:
        """The same cluster with other releases of some components; JobSet's is the trainer's own."""
        dropped = ("jobspec", "jobset") if "trainer" in releases else ("jobspec",)
        kept = {each: release for each, release in self.target.items() if each not in dropped}
        return self._changed(target={**kept, **self.later, **releases})

    def with_contracts(self, contracts: Mapping[str, Contract]) -> Cluster:
        """The same cluster, where more is known of images."""
        return self._changed(contracts=contracts)

    def with_pods(self, pods: Mapping[GroupKind, Sequence[PodsSetting]]) -> Cluster:
        """The same cluster, where the pod templates of more kinds are known."""
        return self._changed(pods=pods)

    def templates_in(self, document: Document) -> Sequence[PodTemplate]:
        """The pod templates in a document of a kind that no operator's room knows."""
        if not may_have_templates(document):
            return ()
        from jobspec.kubernetes.structures import structure_of
        from jobspec.operators.templates import pod_templates
        from jobspec.world.alike_results import SameResults

        shape = structure_of(document, self.target, self.custom_kinds)
        known = self.once("templates", SameResults)
        found: tuple[object, Sequence[PodTemplate]] | None = known.of(document, id(shape))
        if found is None:
            found = shape, pod_templates(document, shape, self.target, self.pods.get(document.group_kind, ()))
            known.keep(document, found, id(shape))  # as long as the shape is kept, no other one has its identity
        return found[1]

    def with_objects(self, objects: Sequence[Document]) -> Cluster:
        """The same cluster with further objects in it."""
        from jobspec.kubernetes.index import data_of

        around = self.around and self.around.with_others(data_of(objects))
        return self._changed(objects=[*self.objects, *objects], around=around)

    def with_crds(self, files: Sequence[UnreadFile]) -> Cluster:
        """The same cluster with the kinds that CRDs among the checked files define; itself for the same files as before."""
        if not files:
            return self
        known: tuple[Sequence[UnreadFile], Cluster] | None = self._found.get("with_crds")
        if known is None or known[0] != files:
            from jobspec.kubernetes.custom_kinds import CustomKinds

            kinds_of_files = (self.custom_kinds or CustomKinds(())).with_files(files)
            self._found["with_crds"] = known = (files, self._changed(custom_kinds=kinds_of_files))
        return known[1]

    def with_index(self, index: Index) -> Cluster:
        """The same cluster, in which these objects are given besides its own."""
        return self._changed(around=index)

    def _changed(self, **changed: Any) -> Cluster:
        attributes = ("custom_kinds", "objects", "stored", "webhooks", "complete", "installed", "contracts", "pods", "around")
        target = changed.get("target", {**self.target, **self.later} if self.later else self.target)
        return Cluster(target, **{each: changed[each] if each in changed else getattr(self, each) for each in attributes})


def releases_of(clusters: Collection[Cluster], met: Container[str] = ()) -> dict[str, str]:
    """Return the releases of several clusters: for each component, those that differ.

    *met*: as in `Cluster.releases_met`.
    """
    releases = [{**each.target, **each.later} for each in clusters]
    named = {component for each in clusters for component in each.releases_met(met)}
    return {one: " and ".join(dict.fromkeys(each[one] for each in releases if one in each)) for one in CHOSEN if one in named}


def _documents(manifests: Sequence[Manifest], name: str) -> list[Document]:
    if not manifests:
        return []
    from jobspec.documents.manifest import documents_of

    return documents_of(manifests, name)


def _custom_kinds(crds: Sequence[Manifest], target: Target) -> CustomKinds:
    """The kinds that CRDs define. Raises JobspecError for CRDs that a server refuses."""
    documents = _documents(crds, "<crds>")
    from jobspec.kubernetes.custom_kinds import CustomKinds

    wrong = [each for document in documents for each in verdict(document, target).diagnostics if each.severity == "error"]
    if wrong:
        raise JobspecError(lines_of(wrong))
    return CustomKinds(documents)
