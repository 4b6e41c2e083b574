"""The commands, one module each: its options and what it does, with values in and an exit code out.

A module is loaded when its command is asked for. `options`, where a module has it, lets plain command lines be read without argparse.
"""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = ()

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from typing import Protocol

    from jobspec.session.options import Options

    class Command(Protocol):
        """The module of a command."""

        def add_arguments(self, parser: ArgumentParser, /) -> None:
            """Declare its arguments and options."""

        def run(self, options: Options, /) -> int:
            """Run it, and return the exit code."""


#: Each command and what it does, in the order of a job's way.
COMMANDS = {
    "init": "create a project with a job, two variants, hooks and a workflow",
    "import": "turn existing manifests into variants of a project",
    "validate": "check manifests offline as the API server and the operators' webhooks would",
    "lint": "validate manifests, and report what is accepted but slow, costly or fragile",
    "preflight": "answer at once: is a job accepted, do its pods come, is it queued, what does it hold, what changes, what fixes it",
    "render": "apply overlays to jobs or render a project, and check the result",
    "diff": "show what a change does: to fields, in the cluster, to pods, GPUs and cost",
    "comment": "write a report as the one comment of a pull or merge request, and update it",
    "report": "write a page for the reviewer: variants, topology, findings, origins of values, and what changes",
    "blame": "show which file and line each value of a rendered file or a built object comes from",
    "expand": "show the pods, Services and other objects that operators will create for jobs",
    "queue": "show whether Kueue ever admits jobs: the flavors that it tries, quotas, cohorts, topologies",
    "run": "run a job on this machine, one process for each pod",
    "capture": "write the jobs that a Python program sends to Kubernetes as manifests, without a cluster",
    "migrate": "convert jobs to TrainJobs, MPIJobs to mpi-operator's, or TrainJobs to another release, and report what changes",
    "upgrade": "show what an upgrade of Kubernetes or of an operator changes for jobs",
    "pin": "record a cluster for offline checks: releases, quotas, runtimes, queues, nodes",
    "policy": "print rules as ValidatingAdmissionPolicies, for a cluster that holds them",
    "dry-run": "ask a real API server (kind, a context, or envtest) to dry-run manifests",
    "krm": "run as a KRM function in kustomize, kpt and Argo CD",
    "list": "list the variants of a project, the overlays with their parameters, and the known releases",
    "explain": "explain a rule, a field of a kind, an overlay, or which objects an admission policy matches",
    "lsp": "serve an editor: findings, fixes, completion and explanations while you type",
    "mcp": "serve a coding agent: preflight, check, lint, fix, expand, queue, explain, render, diff and migrate files of a folder",
    "schema": "print CRDs, and write JSON Schemas for editors, kubeconform and kustomize",
    "completion": "generate a shell completion script",
}


def module_of(command: str) -> "Command":  # noqa: C901 (a case for each command)
    """Load the module of a command."""
    match command:
        case "init":
            from jobspec.commands import init

            return init
        case "import":
            from jobspec.commands import import_manifests

            return import_manifests
        case "validate":
            from jobspec.commands import validate

            return validate
        case "lint":
            from jobspec.commands import lint

            return lint
        case "preflight":
            from jobspec.commands import preflight

            return preflight
        case "render":
            from jobspec.commands import render

            return render
        case "diff":
            from jobspec.commands import diff

            return diff
        case "comment":
            from jobspec.commands import comment

            return comment
        case "report":
            from jobspec.commands import report

            return report
        case "blame":
            from jobspec.commands import blame

            return blame
        case "expand":
            from jobspec.commands import expand

            return expand
        case "queue":
            from jobspec.commands import queue

            return queue
        case "run":
            from jobspec.commands import run

            return run
        case "capture":
            from jobspec.commands import capture

            return capture
        case "migrate":
            from jobspec.commands import migrate

            return migrate
        case "upgrade":
            from jobspec.commands import upgrade

            return upgrade
        case "pin":
            from jobspec.commands import pin

            return pin
        case "policy":
            from jobspec.commands import policy

            return policy
        case "dry-run":
            from jobspec.commands import dry_run

            return dry_run
        case "krm":
            from jobspec.commands import krm

            return krm
        case "list":
            from jobspec.commands import listing

            return listing
        case "explain":
            from jobspec.commands import explain

            return explain
        case "lsp":
            from jobspec.editor import lsp

            return lsp
        case "mcp":
            from jobspec.editor import mcp

            return mcp
        case "schema":
            from jobspec.commands import schema

            return schema
        case "completion":
            from jobspec.commands import completion

            return completion
    raise KeyError(command)
