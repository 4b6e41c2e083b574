"""`jobspec schema`: write what is derived from the models, for servers, editors and kustomize."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from jobspec import models
from jobspec.apis import shipped
from jobspec.apis.kinds import with_model
from jobspec.apis.releases import MODELLED, NEWEST, Target, choose, release_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.atomic_writes import Replacement, replace_files
from jobspec.documents.writer import write
from jobspec.kubernetes import common_kinds
from jobspec.kubernetes.problems import closest
from jobspec.models.base import Model
from jobspec.reports.text import lines_of
from jobspec.schemas import files as crds
from jobspec.schemas import json_schema
from jobspec.schemas.files import files
from jobspec.schemas.shapes import load_metadata
from jobspec.schemas.upstream import table
from jobspec.session.arguments import declare, formatter
from jobspec.session.crds import read_crds
from jobspec.session.inputs import KEPT_SCHEMAS, kept_schemas, load_run_context
from jobspec.session.kustomize_schema import repository_of, schema_document, schema_of, schema_text
from jobspec.session.options import Options, target_option
from jobspec.session.schema_files import (
    crds_of_operators,
    crds_of_projects,
    parse_openapi,
    parse_release_folder,
    read_openapi_documents,
    read_written,
    write_schema_files,
)
from jobspec.session.writing import write_whole


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION", prog="jobspec schema")

    def action(name: str, what: str) -> ArgumentParser:
        return actions.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", formatter_class=formatter)

    crd = action("crd", "print the CustomResourceDefinitions of kinds, as `kubectl apply` takes them")
    crd.add_argument("kinds", nargs="*", metavar="KIND", help="PyTorchJob, TrainJob and so on, in upper or lower case")
    crd.add_argument("--all", action="store_true", help="every kind of the operators")
    declare(crd, [target_option("the CRD of this release, not of the newest")])
    crd.add_argument(
        "-o", "--output", dest="form", choices=("yaml", "json"), default="yaml", help="json is compact: one line for each kind"
    )
    listed = action("fields", "print a line for each field of a kind: its path, type and limits, and the releases that have it")
    listed.add_argument("path", metavar="KIND[.PATH]", help="such as TrainJob, or TrainJob.spec.trainer")
    listed.add_argument("--api-version", metavar="GROUP/VERSION", default="", help="of several kinds or versions of this name, the one")
    declare(listed, [target_option("the facts of this release first, not of the newest")])
    kustomize = action("kustomize", "print an OpenAPI document by which kustomize merges the lists of custom kinds, such as containers")
    what = "a file or folder: only the kinds in it; by default all known kinds"
    kustomize.add_argument("paths", nargs="*", metavar="PATH", help=what)
    into = "write it beside the kustomization in this folder, and name it there; repeatable"
    kustomize.add_argument("--into", nargs="+", action="extend", default=[], metavar="OVERLAY", help=into)
    kustomize.add_argument("--base", metavar="FILE", help="add the operators' kinds to this document, such as that of a cluster")
    declare(kustomize, [target_option("the fields of this release, not of the newest")])
    action("export", "write all schemas").add_argument("folder", metavar="DIR", help="where to")
    catalog = action("catalog", "write the JSON Schemas of the operators' kinds as catalogues of schemas take them")
    catalog.add_argument("folder", metavar="DIR", help="where to, such as a clone of the catalogue")
    catalog.add_argument("--layout", choices=LAYOUTS, required=True, help="the catalogue")
    declare(catalog, [target_option("the schemas of this release, not of the newest")])
    add = action("add", "keep CRDs in .jobspec/schemas, by which every command judges the objects of this repository, as with --crd")
    add.add_argument("paths", nargs="+", metavar="PATH", help="a file or folder with CustomResourceDefinitions")
    check = action("check", "fail where a schema that was written differs from the models")
    check.add_argument("folder", nargs="?", metavar="DIR", help="where `schema export` wrote them; jobspec's own by default")
    kubernetes = action("kubernetes", "print the table of built-in kinds, `schemas/kubernetes.json`, from upstream's OpenAPI documents")
    kubernetes.add_argument(
        "release_folders", nargs="+", metavar="RELEASE=DIR", help="1.36=FOLDER, the folder api/openapi-spec of its source"
    )
    common = action("common", "write the schemas of kinds of common projects and operators from clones of their releases")
    common.add_argument("clones", metavar="CLONES", help="a folder with clones such as argoproj/argo-cd@3.5.1")
    common.add_argument("folder", metavar="DIR", help="where to")


def run(options: Options) -> int:
    """Run the action that its command line names; the exit code."""
    actions: dict[str, Callable[[Options], int]] = {"crd": crd, "fields": fields, "kustomize": kustomize, "add": add, "check": check}
    actions |= {"catalog": catalog, "export": export, "kubernetes": write_kubernetes_kinds, "common": write_common_kinds}
    return actions[options.action](options)


def fields(options: Options) -> int:
    """Print a line for each field of a kind."""
    from jobspec.schemas.explain import field_lines
    from jobspec.session.field_pages import place_of

    sys.stdout.writelines(f"{line}\n" for line in field_lines(*place_of(options.path, options.target, options.api_version)))
    return 0


#: The catalogues of schemas that jobspec writes for.
LAYOUTS = ("flux-schema", "datree", "schemastore")
#: Kind -> operator, of the operators' kinds that have a model; only of these jobspec writes a CRD.
_OPERATORS = {kind.name: kind.component for kind in with_model() if kind.component in MODELLED}


def crd(options: Options) -> int:
    """Print the CustomResourceDefinitions of kinds, or of all, at their releases."""
    target = choose(options.target)
    names = list(_OPERATORS) if options.all else [_kind(name) for name in options.kinds]
    if not names:
        raise JobspecError(f"schema crd: name a KIND, or --all: {', '.join(_OPERATORS)}")
    documents = [crds.crd(model, release) for model, release in _models(names, target)]
    if options.form == "json":
        sys.stdout.writelines(json.dumps(document, separators=(",", ":")) + "\n" for document in documents)
    else:
        sys.stdout.write(write(documents))
    return 0


def _kind(name: str) -> str:
    """The kind of a name in any case. Raises JobspecError where there is none."""
    by_lower = {kind.lower(): kind for kind in _OPERATORS}
    if name.lower() not in by_lower:
        raise JobspecError(f"no kind `{name}`: {closest(name, _OPERATORS) or 'the kinds are ' + ', '.join(_OPERATORS)}")
    return by_lower[name.lower()]


def _models(kinds: Iterable[str], target: Target) -> Iterator[tuple[type[Model], str]]:
    for kind in kinds:
        yield getattr(models, kind), release_of(_OPERATORS[kind], target)


def kustomize(options: Options) -> int:
    """Print an OpenAPI document with the merge keys of kinds, for `openapi: {path: ...}` of a kustomization, or write it beside some."""
    target = choose(options.target)
    if options.into:
        return _write_into(options, target)
    if options.base is None:
        sys.stdout.write(schema_text(options.paths, target, load_run_context(options).cluster.custom_kinds))
        return 0
    try:
        base = parse_openapi(Path(options.base).read_text(encoding="utf-8"), options.base)
    except OSError as error:
        raise JobspecError(f"{options.base}: {error.strerror}") from None
    document = json_schema.with_kinds(base, _models(_OPERATORS, target))
    sys.stdout.write(json.dumps(document, separators=(",", ":")) + "\n")
    return 0


def _write_into(options: Options, target: Target) -> int:
    """Write the schema beside kustomizations, and name it in them. Its kinds are those of the paths, or of the repository around.

    A schema of the user's own gets what it lacks.
    """
    changed: dict[str, Replacement] = {}
    for schema in list(map(schema_of, options.into)):
        around = options.paths or [repository_of(os.path.dirname(schema.kustomization) or os.curdir)]
        text = schema.contents(schema_document(around, target))[schema.path]
        write_whole(schema.path, text.decode())
        sys.stdout.write(f"{schema.path}\n")
        changed[schema.kustomization] = schema.entry
    replace_files(changed)
    sys.stdout.writelines(f"{path}\n" for path, each in changed.items() if each.before != each.after)
    return 0


def add(options: Options) -> int:
    """Keep the CRDs in files and folders in the folder of the repository; none where one of them is no CRD that a server takes."""
    found, wrong = read_crds(options.paths, choose([]))
    if wrong:
        sys.stdout.writelines(f"{line}\n" for problems in wrong.values() for each in problems for line in lines_of(each))
        return 1
    folder = next(iter(kept_schemas()), KEPT_SCHEMAS)
    os.makedirs(folder, exist_ok=True)
    for each in found:
        path = os.path.join(folder, f"{each.name}.yaml")
        write_whole(path, write([each.data]))
        sys.stdout.write(f"{path}\n")
    return 0


def catalog(options: Options) -> int:
    """Write the schemas of the operators' kinds in the layout of a catalogue."""
    from jobspec.schemas.catalog import catalog_files

    return write_schema_files(catalog_files(options.layout, choose(options.target)), options.folder)


def export(options: Options) -> int:
    """Write every schema that follows from the models into a folder."""
    return write_schema_files(files(), options.folder)


def check(options: Options) -> int:
    """Compare the schemas in a folder, or our own, with those that follow from the models; 1 where one is stale, missing or unused.

    Raises JobspecError where there is no such folder.
    """
    top, shown = options.folder or shipped.path("schemas"), (options.folder or "schemas").rstrip("/")
    if not os.path.isdir(top):
        raise JobspecError(f"{top}: no such folder; `jobspec schema export {top}` writes one")
    fresh = dict(files())
    stale = [name for name, text in fresh.items() if not (file := Path(top, name)).exists() or file.read_text(encoding="utf-8") != text]
    remedy = f"write it with `jobspec schema export {shown}`"
    sys.stdout.writelines(f"{shown}/{name} differs from the models; {remedy}\n" for name in stale)
    needless = [name for name in read_written(top) if name not in fresh]
    sys.stdout.writelines(f"{shown}/{name} is of an unknown kind or release; remove it\n" for name in needless)
    return 1 if stale or needless else 0


def write_kubernetes_kinds(options: Options) -> int:
    """Print the table `schemas/kubernetes.json` for `RELEASE=FOLDER` texts, oldest release first."""
    sys.stdout.write(
        table({release: read_openapi_documents(folder) for release, folder in map(parse_release_folder, options.release_folders)})
    )
    return 0


def write_common_kinds(options: Options) -> int:
    """Write the files of the kinds of all common projects and operators of jobs. Raises JobspecError for a release without a clone."""
    metadata = load_metadata(NEWEST)
    common = common_kinds.files(crds_of_projects(options.clones), metadata)
    operators = common_kinds.operator_files(crds_of_operators(options.clones), metadata)
    return write_schema_files((*common, *operators), options.folder)
