"""YAML text to documents and back, with Kubernetes' own YAML semantics."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "atomic_writes",
    "comments",
    "corrected",
    "decoding",
    "document",
    "fields",
    "kustomization_fields",
    "libyaml",
    "manifest",
    "markdown",
    "marked_tree",
    "node_marks",
    "reader",
    "routes",
    "scalars",
    "shared_parts",
    "streams",
    "text_edits",
    "wrapped",
    "writer",
)
