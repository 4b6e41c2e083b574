"""Rules of lint and outcome as admission policies of a cluster: ValidatingAdmissionPolicies whose CEL says what a rule says."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "catalogue",
    "objects",
    "rule",
    "templates",
)
