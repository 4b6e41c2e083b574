"""YAML text to documents and back, with Kubernetes' own YAML semantics."""

#: Whether jobspec is the program of this process, so that nobody else's code runs in it; set by `jobspec.cli`.
alone = False
