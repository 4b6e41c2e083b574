"""YAML text to documents and back, with Kubernetes' own YAML semantics."""
