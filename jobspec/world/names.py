"""The names by which webhooks and the server's plugins look up an object."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.documents.document import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.apis.kinds import Name


def names_of(document: Document) -> list[Name]:
    """Return the names by which webhooks and plugins look up an object.

    The namespace is empty for kinds without one, and `*` if a runtime may be in any.

    What plugins take all of, such as the LimitRanges of a namespace, is looked up by an empty name, too, and so is Kueue's configuration.
    """
    kind = document.group_kind
    if kind in kinds.GENERATING_KINDS:
        from jobspec.kubernetes.generated import generated_by

        made = [(each, each["metadata"]) for each in generated_by(document.data)]
        return [(("", each["kind"]), metadata["namespace"] or "", metadata["name"]) for each, metadata in made]
    namespace = "" if kinds.is_cluster_scoped(document.api_version, document.kind) else document.namespace
    if kind == kinds.TRAINING_RUNTIME and document.has_open_namespace:
        namespace = "*"
    every = [(kind, namespace, "")] if kind in (kinds.LIMIT_RANGE, kinds.RESOURCE_QUOTA, kinds.PRIORITY_CLASS) else []
    if kinds.configures_queues(kind, document.data):
        every = [(kinds.QUEUE_CONFIGURATION, "", "")]
    return [(kind, namespace, document.name), *every]
