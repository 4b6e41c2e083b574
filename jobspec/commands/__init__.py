"""The commands, one module each: its options and what it does, with values in and an exit code out.

A module is loaded when its command is asked for. `options`, where a module has it, lets plain command lines be read without argparse.
"""

#: Each command, in the order of a job's way: what it does, and the module of its command line, below `jobspec`.
COMMANDS = {
    "init": ("create a repository with a job, two variants, hooks and a workflow", "commands.init"),
    "import": ("turn existing manifests into variants of a project", "commands.import_manifests"),
    "validate": ("check manifests offline as the API server and the operators' webhooks would", "commands.validate"),
    "lint": ("validate manifests, and report what is accepted but slow, costly or fragile", "commands.lint"),
    "render": ("apply overlays to jobs or render a project, and check the result", "commands.render"),
    "diff": ("show what a change to a project does: fields, cluster, pods, GPUs and cost", "commands.diff"),
    "report": ("write a page for the reviewer: variants, topology, findings, origins of values, and what changes", "commands.report"),
    "blame": ("show which file and line each value of a rendered file comes from", "commands.blame"),
    "expand": ("show the pods, Services and other objects that operators will create for jobs", "commands.expand"),
    "queue": ("show whether Kueue ever admits jobs: the flavors that it tries, quotas, cohorts, topologies", "commands.queue"),
    "run": ("run a job on this machine, one process for each pod", "commands.run"),
    "migrate": ("convert PyTorchJobs to TrainJobs, or TrainJobs to another release, and report what changes", "commands.migrate"),
    "upgrade": ("show what an upgrade of Kubernetes or of an operator changes for jobs", "commands.upgrade"),
    "pin": ("record a cluster for offline checks: releases, quotas, runtimes, queues, nodes", "commands.pin"),
    "dry-run": ("ask a real API server (kind, a context, or envtest) to dry-run manifests", "commands.dry_run"),
    "krm": ("run as a KRM function in kustomize, kpt and Argo CD", "commands.krm"),
    "list": ("list the variants of a project, the overlays with their parameters, and the known releases", "commands.listing"),
    "explain": ("explain a rule, a field of a kind, an overlay, or which objects an admission policy matches", "commands.explain"),
    "lsp": ("serve an editor: findings, fixes, completion and explanations while you type", "editor.lsp"),
    "mcp": ("serve a coding agent: check, lint, fix, expand, queue, explain, render, diff and migrate files of a folder", "editor.mcp"),
    "schema": ("print CRDs, and write JSON Schemas for editors, kubeconform and kustomize", "commands.schema"),
    "completion": ("generate a shell completion script", "commands.completion"),
}
