"""The command line of `jobspec init`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    from jobspec.gitops.scaffold import ENGINES, KINDS

    add = parser.add_argument
    add("folder", nargs="?", default=".", metavar="DIR", help="where to; the working folder by default, and none of its files is replaced")
    add("--kind", choices=KINDS, default=KINDS[0], help=f"the kind of the job; {KINDS[0]} by default")
    add("--name", default="mnist", help="the name of the job; `mnist` by default")
    add("--namespace", default="training", help="the namespace of the variants; `training` by default")
    add("--engine", choices=list(ENGINES), default="argocd", help="what syncs the tree; `argocd` by default")
    url = "https://git.example/ml/jobs.git"
    add("--repository", metavar="URL", default=url, help=f"the URL from which the engine fetches the repository; {url} by default")
    add("--checks", action="store_true", help="write the hooks and the workflow alone, into the root of a repository that has a project")


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import init

    if options.checks:
        return init.run_checks(options.folder)
    return init.run(
        options.folder,
        kind=options.kind,
        name=options.name,
        namespace=options.namespace,
        engine=options.engine,
        repository=options.repository,
    )
