"""The volume claims of a JobSet, which it makes from templates from 0.11 on.

Follows `createPVCsIfNecessary` and `addVolumes`, sigs.k8s.io/jobset pkg/controllers, 0.11.1 to 0.12.0.
"""

from __future__ import annotations

from jobspec.apis.releases import Target, is_at_least
from jobspec.documents.marked_tree import MarkedTree, items, set_by, text, with_fields
from jobspec.operators.jobset import PREFIX
from jobspec.operators.made import operator_mark


def makes_claims(target: Target) -> bool:
    """Whether JobSet makes claims of templates."""
    return is_at_least(target["jobset"], "0.11.1")


def claims(jobset: MarkedTree) -> list[tuple[MarkedTree, MarkedTree]]:
    """Return the claim templates that have a name, each with its policy."""
    policies = items(jobset.get("spec", "volumeClaimPolicies"))
    return [(policy, template) for policy in policies for template in items(policy.get("templates")) if template.get("metadata", "name")]


def claim_name(template: MarkedTree, jobset: MarkedTree) -> str:
    """The name of the claim that is made of a template, given by its name."""
    return f"{template.value}-{text(jobset, 'metadata', 'name')}"


def claim_of_template(policy: MarkedTree, template: MarkedTree, jobset: MarkedTree, target: Target, owners: MarkedTree) -> MarkedTree:
    """The claim of a template; one that goes with the JobSet has it as its owner."""
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
    spec = template.get("spec") or MarkedTree({}, mark)
    return set_by(mark, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec})
