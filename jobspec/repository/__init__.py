"""The role of each file of a repository, its builds, and the origins of built values."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "at_sources",
    "build_failures",
    "builds",
    "chart_values",
    "encrypted_inputs",
    "engines",
    "helm",
    "helm_numbers",
    "idle_entries",
    "ignored_differences",
    "in_build",
    "kustomizations",
    "layers",
    "origins",
    "other_numbers",
    "placeholders",
    "recreation",
    "replica_counts",
    "roles",
    "source_files",
    "stand_ins",
    "substitution",
    "unfilled_values",
    "unfollowed_names",
)
