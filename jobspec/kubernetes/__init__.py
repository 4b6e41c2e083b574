"""Checks that predict an API server's verdict; they run on compiled shapes and never load pydantic."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "admission.classes",
    "admission.mutating",
    "admission.objects",
    "admission.policies",
    "admission.quotas",
    "admission.review",
    "applying",
    "builtin",
    "common_kinds",
    "custom_kinds",
    "generated",
    "index",
    "metadata",
    "pods.amounts",
    "pods.defaults",
    "pods.pod",
    "pods.resources",
    "policy_kinds",
    "problems",
    "strategic_merge",
    "structural",
    "verdict",
    "workloads.jobs",
    "workloads.selectors",
)
