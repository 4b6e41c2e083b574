"""The volume claims of a JobSet, which it makes from templates from 0.11 on.

Follows `createPVCsIfNecessary` and `addVolumes`, sigs.k8s.io/jobset pkg/controllers, 0.11.1 to 0.12.0.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.edits import with_fields
from jobspec.operators.jobset.labels import PREFIX
from jobspec.operators.objects import operator_mark, set_by

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.targets import Target


def claims(jobset: MarkedTree) -> list[tuple[MarkedTree, MarkedTree]]:
    """The templates of claims that have a name, each with the policy that it stands in."""
    policies = items(jobset.get("spec", "volumeClaimPolicies"))
    return [(policy, template) for policy in policies for template in items(policy.get("templates")) if template.get("metadata", "name")]


def claim_name(template: MarkedTree, jobset: MarkedTree) -> str:
    """The name of the claim that is made of a template, given by its name."""
    return f"{template.value}-{text(jobset, 'metadata', 'name')}"


def made_claims(jobset: MarkedTree, target: Target, owners: MarkedTree) -> list[MarkedTree]:
    """The claims; those that go with the JobSet have it as their owner."""
    return [_claim(policy, template, jobset, target, owners) for policy, template in claims(jobset)]


def _claim(policy: MarkedTree, template: MarkedTree, jobset: MarkedTree, target: Target, owners: MarkedTree) -> MarkedTree:
    mark = operator_mark("jobset", target["jobset"])
    own = template.value["metadata"]
    name = own.value["name"]
    labels = with_fields(own.get("labels") or MarkedTree({}, mark), {f"{PREFIX}/jobset-name": jobset.value["metadata"].value["name"]})
    metadata = {
        "name": name.with_value(claim_name(name, jobset)),
        "namespace": jobset.value["metadata"].value["namespace"],
        "labels": labels,
        **({"annotations": annotations} if (annotations := own.get("annotations")) else {}),
        **({"ownerReferences": owners} if text(policy, "retentionPolicy", "whenDeleted") == "Delete" else {}),
    }
    return set_by(mark, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template.value["spec"]})
