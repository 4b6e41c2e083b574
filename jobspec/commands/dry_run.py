"""`jobspec dry-run`: ask a real API server about files."""

from __future__ import annotations

from argparse import ArgumentParser

from jobspec.session.arguments import add_paths, declare
from jobspec.session.extras import missing_package
from jobspec.session.options import Options, input_options, repository_options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    declare(add_paths(parser, optional=True), [*input_options(), *repository_options()])
    parser.add_argument("--diff", action="store_true", help="print what an apply would change in the live objects")
    parser.add_argument("--pods", action="store_true", help="also dry-run the pods of accepted jobs, which quotas and policies check")
    server = parser.add_argument_group(
        "the server", "by default the kind cluster `jobspec`, created where it does not exist (needs Docker)"
    )
    other = server.add_mutually_exclusive_group()
    other.add_argument("--context", metavar="NAME", help="ask the cluster of this context of your kubeconfig; nothing is stored there")
    other.add_argument("--envtest", action="store_true", help="start etcd and kube-apiserver from KUBEBUILDER_ASSETS for this run")
    what = "store the CustomResourceDefinitions in this file or folder first, on kind and with --envtest; repeatable"
    server.add_argument("--crd", action="append", default=[], metavar="PATH", help=what)
    server.add_argument("--kubernetes", default="", metavar="RELEASE", help="the Kubernetes of the kind cluster, 1.34.0 for example")
    server.add_argument("--recreate", action="store_true", help="create the kind cluster again")
    server.add_argument("--delete", action="store_true", help="delete the kind cluster at the end; without a PATH, at once")


def run(options: Options) -> int:
    """Load what needs the packages of the extra `dry-run`, and ask."""
    try:
        from jobspec.session.server_questions import ask_about_files
    except ModuleNotFoundError as error:
        raise missing_package(error, "dry-run") from None
    return ask_about_files(options)
