"""The cluster that manifests meet: the releases in it, its custom kinds, the objects that are there, and whether its webhooks are."""

from __future__ import annotations

from jobspec.targets import choose

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobspec.documents.document import Document
    from jobspec.targets import Target
    from jobspec.validation.custom_kinds import CustomKinds


class StoredObjects:
    """The objects that updates are updates of, by what names them: API version, kind, namespace and name."""

    __slots__ = ("_by_name",)

    def __init__(self, documents: Iterable[Document] = ()) -> None:
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

    __slots__ = ("closed", "custom_kinds", "objects", "stored", "target", "webhooks")

    def __init__(
        self,
        target: Target | None = None,
        *,
        custom_kinds: CustomKinds | None = None,
        objects: Sequence[Document] = (),
        stored: StoredObjects | None = None,
        webhooks: bool = True,
        closed: bool = False,
    ) -> None:
        self.target: Mapping[str, str] = choose(()) if target is None else target
        """The release of each component; the newest of all by default."""
        self.custom_kinds = custom_kinds
        """The kinds that the user brings, by which objects are judged before our own schemas; None where there are none."""
        self.objects = objects
        """Accepted objects that manifests may refer to, besides those in their own file and those that the operators ship."""
        self.stored = stored
        """The objects that manifests are updates of; None where all manifests are new objects."""
        self.webhooks = webhooks
        """Whether the operators' webhooks are asked."""
        self.closed = closed
        """Whether an object that a manifest refers to and that is nowhere at hand does not exist."""

    def for_bases(self) -> Cluster:
        """The cluster that bases of overlays are checked in: they are never sent, so no webhook sees them, and they update nothing."""
        return Cluster(self.target, custom_kinds=self.custom_kinds, objects=self.objects, webhooks=False, closed=self.closed)
