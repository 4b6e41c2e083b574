"""Read the file of a pinned cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jobspec.apis.kinds import CLUSTER, CUSTOM_RESOURCE_DEFINITION, UNKNOWN, CompleteKinds, named
from jobspec.apis.releases import CHOSEN, OPERATORS, nearest_known
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.journey.steps import Source
from jobspec.project.project import only_document

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class PinnedCluster:
    """The content of a `Cluster` manifest, or the errors in the file."""

    found: dict[str, str] = field(default_factory=dict)
    """The release of each component that could be found out."""
    objects: Sequence[Document] = ()
    """The manifest itself, which has the shapes of nodes, and the objects that it lists."""
    complete: CompleteKinds = UNKNOWN
    """The kinds of which it lists all objects."""
    installed: Mapping[str, str | None] | None = None
    """What it has of Kubernetes and of operators, each with its release where that is known; all operators where they could not be read."""
    crds: Sequence[str] = ()
    """The paths of the CRDs beside the file."""
    wrong: Sequence[FileResult] = ()

    @property
    def releases(self) -> dict[str, str]:
        """The releases to judge by: the newest known one in place of one that came later."""
        return nearest_known({each: release for each, release in self.found.items() if each in CHOSEN})


def read_cluster(source: Source) -> PinnedCluster:
    """The cluster in a file. Raises JobspecError where it holds anything else."""
    document = only_document(source, CLUSTER, "a cluster's file holds one document of the kind Cluster of jobspec.dev/v1alpha1")
    if isinstance(document, FileResult):
        return PinnedCluster(wrong=[document])
    spec = document.data["spec"]
    releases = spec["releases"]
    found = {each: release for each, release in releases.items() if release}
    parts = [document.part(each, ("spec", "objects", number)) for number, each in enumerate(spec.get("objects") or ())]
    crds = [os.path.normpath(os.path.join(os.path.dirname(source.name), each)) for each in spec.get("crds") or ()]
    complete = CompleteKinds(map(named, spec.get("complete") or ()))
    # a pin of a server names Kubernetes, one of files does not: there may be operators that no file shows
    has_all_operators = "kubernetes" in releases and CUSTOM_RESOURCE_DEFINITION[1] not in (spec.get("unread") or ())
    installed = releases if has_all_operators else {**dict.fromkeys(OPERATORS), **releases}
    return PinnedCluster(found, [document, *parts], complete, installed, crds)
