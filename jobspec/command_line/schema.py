"""The command line of `jobspec schema`."""

from __future__ import annotations

from jobspec.arguments import declare, formatter
from jobspec.command_line.shared import target_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser

    from jobspec.arguments import Options


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", prog="jobspec schema")

    def action(name: str, what: str) -> ArgumentParser:
        return actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", formatter_class=formatter)

    crd = action("crd", "print the CustomResourceDefinitions of kinds, as `kubectl apply` takes them")
    crd.add_argument("kinds", nargs="*", metavar="KIND", help="PyTorchJob, TrainJob and so on, in upper or lower case")
    crd.add_argument("--all", action="store_true", help="every kind of the operators")
    declare(crd, [target_option("the CRD of this release, not of the newest; repeatable")])
    crd.add_argument("-o", "--output", choices=("yaml", "json"), default="yaml", help="json is compact: one line for each kind")
    kustomize = action("kustomize", "print an OpenAPI document by which kustomize merges the lists of these kinds as overlays do")
    kustomize.add_argument("--base", metavar="FILE", help="the document to add them to, instead of the one of the cluster at hand")
    declare(kustomize, [target_option("the fields of this release, not of the newest; repeatable")])
    action("export", "write all schemas").add_argument("folder", metavar="DIR", help="where to")
    check = action("check", "fail where a schema that was written differs from the models")
    check.add_argument("folder", nargs="?", metavar="DIR", help="where `schema export` wrote them; jobspec's own, if nothing is said")
    kubernetes = action("kubernetes", "print the table of built-in kinds, `schemas/kubernetes.json`, from upstream's OpenAPI documents")
    kubernetes.add_argument("releases", nargs="+", metavar="RELEASE=DIR", help="1.36=FOLDER, the folder api/openapi-spec of its source")


def run(options: Options) -> int:
    """Run the command with what its command line says; the exit code."""
    from jobspec.commands import schema

    if options.action == "crd":
        return schema.crd(options.kinds, everything=options.all, targets=options.target, output=options.output)
    if options.action == "kustomize":
        return schema.kustomize(options.base, targets=options.target)
    if options.action == "kubernetes":
        from jobspec.commands import kubernetes_kinds

        return kubernetes_kinds.run(options.releases)
    return schema.check(options.folder) if options.action == "check" else schema.export(options.folder)
