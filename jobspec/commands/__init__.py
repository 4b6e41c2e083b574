"""The commands, one module each: its options and what it does, with values in and an exit code out.

A module is loaded when its command is asked for. `options`, where a module has it, lets plain command lines be read without argparse.
"""

#: Each command, in the order of a job's way: what it does, and the module of its command line, in this room or one below `jobspec`.
COMMANDS = {
    "init": ("create a repository with a job, two variants, hooks and a workflow", "init"),
    "import": ("turn existing manifests into variants of a project", "import_manifests"),
    "validate": ("check manifests offline as the API server and the operators' webhooks would", "validate"),
    "lint": ("validate manifests, and report what is accepted but slow, costly or fragile", "lint"),
    "render": ("apply overlays to jobs or render a project, and check the result", "render"),
    "diff": ("show what a change to a project does: fields, cluster, pods, GPUs and cost", "diff"),
    "report": ("write a page for the reviewer: variants, topology, findings, origins of values, and what changes", "report"),
    "blame": ("show which file and line each value of a rendered file comes from", "blame"),
    "expand": ("show the pods, Services and other objects that operators will create for jobs", "expand"),
    "queue": ("show whether Kueue ever admits jobs: the flavors that it tries, quotas, cohorts, topologies", "queue"),
    "run": ("run a job on this machine, one process for each pod", "run"),
    "migrate": ("convert PyTorchJobs to TrainJobs, or TrainJobs to another release, and report what changes", "migrate"),
    "upgrade": ("show what an upgrade of Kubernetes or of an operator changes for jobs", "upgrade"),
    "pin": ("record a cluster for offline checks: releases, quotas, runtimes, queues, nodes", "pin"),
    "dry-run": ("ask a real API server (kind, a context, or envtest) to dry-run manifests", "dry_run"),
    "krm": ("run as a KRM function in kustomize, kpt and Argo CD", "krm"),
    "list": ("list the variants of a project, the overlays with their parameters, and the known releases", "listing"),
    "explain": ("explain a rule, a field of a kind, an overlay, or which objects an admission policy matches", "explain"),
    "lsp": ("serve an editor: findings, fixes, completion and explanations while you type", "editor.lsp"),
    "mcp": ("serve a coding agent: check, lint, fix, expand, queue, explain, render, diff and migrate files of a folder", "editor.mcp"),
    "schema": ("print CRDs, and write JSON Schemas for editors, kubeconform and kustomize", "schema"),
    "completion": ("generate a shell completion script", "completion"),
}
