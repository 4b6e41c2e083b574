"""The cluster that manifests meet: the releases in it, its custom kinds, the objects that are there, and whether its webhooks are."""

from __future__ import annotations

from jobspec.diagnostics import JobspecError
from jobspec.targets import OPERATORS, Target, complete, is_later, reported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.documents.manifest import Manifest
    from jobspec.kubernetes.custom_kinds import CustomKinds
    from jobspec.programs.command_lines import Contract


class StoredObjects:
    """The objects as they are stored before an update, by what names them: API version, kind, namespace and name."""

    __slots__ = ("_by_name",)

    def __init__(self, documents: Iterable[Document]) -> None:
        self._by_name: dict[tuple[str, str, str], list[Document]] = {}
        for document in documents:
            if document.name:
                self._by_name.setdefault((document.api_version, document.kind, document.name), []).append(document)

    def of(self, document: Document) -> Document | None:
        """The object that the document is a new state of, None for a new object.

        Where only one of both says a namespace, the other means the same, unless there are several of the name.
        """
        named = self._by_name.get((document.api_version, document.kind, document.name), [])
        exact = [each for each in named if each.namespace == document.namespace]
        loose = [each for each in named if not each.namespace or not document.namespace]
        return exact[-1] if exact else loose[0] if len(loose) == 1 else None


class Cluster:
    """What a manifest meets when it is sent."""

    __slots__ = ("closed", "contracts", "custom_kinds", "later", "objects", "stored", "target", "webhooks")

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
        contracts: Mapping[str, Contract] | None = None,
    ) -> None:
        """Raises JobspecError for an unknown release, and for *crds*, *objects* and *stored* that cannot be read."""
        wished = target or {}
        brings_crds = custom_kinds is not None or bool(crds)
        self.later = {each: wished[each] for each in OPERATORS if brings_crds and each in wished and is_later(each, wished[each])}
        """Releases that came after all known ones, by operator: their kinds are judged by *crds* alone, by the newest known webhooks."""
        self.target: Target = complete({each: release for each, release in wished.items() if each not in self.later})
        """The release of each component, as in `{"trainer": "2.2"}`; the newest where nothing is said."""
        self.custom_kinds = custom_kinds or (_custom_kinds(crds, self.target) if crds else None)
        """The kinds that *crds* define, by which objects are judged before our own schemas; None where there are none."""
        self.objects = _documents(objects, "<objects>")
        """Accepted objects that manifests may refer to, besides those in their own file and those that the operators ship."""
        self.stored = stored if stored is None or isinstance(stored, StoredObjects) else StoredObjects(_documents(stored, "<stored>"))
        """The objects that manifests update; None where all manifests are new objects."""
        self.webhooks = webhooks
        """Whether the operators' webhooks are asked."""
        self.closed = closed
        """Whether an object that a manifest refers to and that is nowhere at hand does not exist."""
        self.contracts: Mapping[str, Contract] = contracts or {}
        """Of images, by their names without tag and digest: the flags that their programs take."""

    @property
    def releases(self) -> dict[str, str]:
        """The releases that a report names."""
        return reported(self.target) | self.later

    def for_bases(self) -> Cluster:
        """The cluster that bases of overlays are checked in: they are never sent, so no webhook sees them, and they update nothing."""
        return Cluster(self._wished, custom_kinds=self.custom_kinds, objects=self.objects, webhooks=False, closed=self.closed)

    def updating(self, stored: StoredObjects) -> Cluster:
        """The same cluster, where manifests are updates of these objects."""
        return self._changed(stored=stored)

    def with_contracts(self, contracts: Mapping[str, Contract]) -> Cluster:
        """The same cluster, where more is known of images."""
        return self._changed(contracts=contracts)

    def with_objects(self, objects: Sequence[Document]) -> Cluster:
        """The same cluster with further objects in it."""
        return self._changed(objects=[*self.objects, *objects])

    def _changed(self, **changes: Any) -> Cluster:
        same = ("custom_kinds", "objects", "stored", "webhooks", "closed", "contracts")
        return Cluster(self._wished, **{**{name: getattr(self, name) for name in same}, **changes})

    @property
    def _wished(self) -> Target:
        return {**self.target, **self.later} if self.later else self.target


def _documents(manifests: Sequence[Manifest], name: str) -> list[Document]:
    if not manifests:
        return []
    from jobspec.documents.manifest import documents_of

    return documents_of(manifests, name)


def _custom_kinds(crds: Sequence[Manifest], target: Target) -> CustomKinds:
    documents = _documents(crds, "<crds>")
    from jobspec.kubernetes.custom_kinds import CustomKinds
    from jobspec.kubernetes.verdict import verdict

    wrong = [each for document in documents for each in verdict(document, target).diagnostics if each.severity == "error"]
    if wrong:
        raise JobspecError("\n".join(f"{each.mark}: {each.message}" for each in wrong))
    return CustomKinds(documents)
