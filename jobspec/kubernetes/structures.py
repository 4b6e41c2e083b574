"""The structure of objects of any kind: by the CRDs of the cluster, by our own schemas, or by those of common projects."""

from __future__ import annotations

from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.apis.releases import Target
    from jobspec.documents.document import Document
    from jobspec.kubernetes.custom_kinds import CustomKinds
    from jobspec.schemas.shapes import Shape


def structure_of(document: Document, target: Target, custom_kinds: CustomKinds | None = None) -> Shape | None:
    """Return the structure of a document's kind, in the order in which the verdict looks for it.

    If there is none, or if a JSON Schema describes the kind, return None.
    """
    from jobspec.kubernetes import common_kinds
    from jobspec.kubernetes.verdict import verdict

    found = custom_kinds.find(document, target, lambda crd: verdict(crd, target).diagnostics) if custom_kinds else None
    if found is not None:
        return getattr(found, "shape", None)
    if shape := shapes.load(document.api_version, document.kind, target):
        return shape
    common = common_kinds.find(document, target)
    return common.shape if common else None
