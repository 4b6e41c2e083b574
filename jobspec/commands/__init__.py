"""The commands, one module each: its options and what it does, with values in and an exit code out.

A module is loaded when its command is asked for. `options`, where a module has it, lets plain command lines be read without argparse.
"""

#: Each command, in the order of a job's way: what it does, and the module of its command line.
COMMANDS = {
    "init": ("write a small repository that passes its own checks", "init"),
    "import": ("make existing manifests variants of the project here", "import_manifests"),
    "validate": ("predict an API server's verdict on manifests", "validate"),
    "lint": ("validate manifests, and tell what is accepted and bites", "lint"),
    "render": ("apply overlays to jobs, check the result and write it", "render"),
    "diff": ("tell what a change of a project does to fields, in the cluster, and to pods and cost", "diff"),
    "blame": ("tell where each value of a rendered file comes from", "blame"),
    "expand": ("print the pods and other objects that operators will make of jobs", "expand"),
    "run": ("run a job on this machine, one process for each pod", "run"),
    "migrate": ("make PyTorchJobs TrainJobs, or those of another release, and tell what is lost", "migrate"),
    "dry-run": ("ask a real API server for its verdict on manifests", "dry_run"),
    "krm": ("apply overlays and check in kustomize, kpt and Argo CD, as a KRM function", "krm"),
    "explain": ("explain a rule, or a field of a kind", "explain"),
    "schema": ("print CRDs, write schemas for editors and kustomize, check them", "schema"),
    "completion": ("print what has a shell complete commands, options and files", "completion"),
}
