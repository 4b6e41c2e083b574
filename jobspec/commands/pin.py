"""`jobspec pin`: record a cluster for offline checks, and report later what has changed there."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence

from jobspec.apis.kinds import CUSTOM_RESOURCE_DEFINITION, PROJECT_FILE
from jobspec.apis.releases import choose
from jobspec.diagnostics.diagnostic import lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Data
from jobspec.documents.decoding import decode
from jobspec.documents.reader import read
from jobspec.documents.writer import write
from jobspec.go.values import mapping, structs
from jobspec.journey.steps import Source
from jobspec.kubernetes.verdict import verdict
from jobspec.project.tree import differences
from jobspec.session.arguments import declare
from jobspec.session.delivery import deliver
from jobspec.session.extras import missing_package
from jobspec.session.finding import find
from jobspec.session.found import Found
from jobspec.session.options import Option, Options
from jobspec.session.processes import spread_if_many
from jobspec.session.reading import content_of, reader
from jobspec.session.writing import write_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.server.pin import Pinned

_HEADER = "# Written by `jobspec pin`; no content of a Secret or ConfigMap, and no workload, is in it.\n"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    options = [
        Option("--context", metavar="NAME", what="read the cluster of this context of your kubeconfig"),
        Option(
            "--from-files",
            metavar="PATH",
            repeatable=True,
            what="read objects of these files in place of a server: what `kubectl get -o yaml` or `-o json` wrote; repeatable",
        ),
        Option(
            "--output",
            "-o",
            dest="output_file",
            metavar="FILE",
            what="write to this file, and CRDs into a folder beside it; else to standard output",
        ),
        Option(
            "--check",
            dest="check_file",
            metavar="FILE",
            what="write nothing, print what has changed since this file was written, exit with 1",
        ),
    ]
    what = "with --check: manifests, to report what the changes mean for them; by default the project here, jobspec.yaml"
    parser.add_argument("paths", nargs="*", metavar="PATH", help=what)
    declare(parser, options)


def run(options: Options) -> int:
    """Read a cluster, and write it down or compare it with what was written down; 1 where that differs."""
    if (options.context is None) == (not options.from_files):
        raise JobspecError(
            "name the cluster: --context NAME reads a server with your kubeconfig, "
            "--from-files FILE reads what `kubectl get -o yaml` wrote, without a server"
        )
    path = options.check_file if options.check_file is not None else options.output_file
    name = os.path.splitext(os.path.basename(path or ""))[0] or options.context or "cluster"
    pinned = _read_cluster(options.context, name) if options.context is not None else _read_files(options.from_files, name)
    if options.check_file is not None and os.path.isfile(options.check_file):
        _keep_usage(pinned.data["spec"].get("objects", ()), content_of(Found(options.check_file, named=True)))
    files = _files(pinned, path or "")
    for kind, why in pinned.data["spec"].get("unread", {}).items():
        sys.stderr.write(f"jobspec: {kind} could not be read: {why}\n")
    if options.check_file is not None:
        before = {name: content_of(Found(name, named=True)) for name in files if os.path.isfile(name)}
        if path not in before:
            raise JobspecError(f"--check {path}: there is no such file; `jobspec pin ... -o {path}` writes it")
        lines = list(differences(before, files))
        sys.stdout.writelines(lines)
        if lines and (options.paths or os.path.isfile(PROJECT_FILE)):
            _report_effect(options, path, files[path].decode())
        return 1 if lines else 0
    if path is None:
        sys.stdout.write(files[""].decode())
        return 0
    for name, content in files.items():
        os.makedirs(os.path.dirname(name) or os.curdir, exist_ok=True)
        write_whole(name, content.decode())
        sys.stdout.write(f"{name}\n")
    return 0


def _keep_usage(objects: Iterable[Data], before: bytes) -> None:
    """Leave the status of objects as it was written down: what is used changes by the hour, and is no drift."""
    written, _ = read(before.decode(errors="replace"), file="")
    known = {_key_of_object(each): each["status"] for one in written for each in structs(one.data, "spec", "objects") if "status" in each}
    for each in objects:
        if "status" in each:
            each["status"] = known.get(_key_of_object(each), each["status"])


def _key_of_object(each: Data) -> tuple[object, ...]:
    metadata = mapping(each, "metadata")
    return str(each.get("apiVersion")).partition("/")[0], each.get("kind"), metadata.get("namespace"), metadata.get("name")


def _report_effect(options: Options, path: str, now: str) -> None:
    """What the change of a cluster means for manifests, or for the project here."""
    from jobspec.migrate.upgrade import changes
    from jobspec.session.upgrading import judge, with_changes

    paths = options.paths or [PROJECT_FILE]
    sources = Source(path, content_of(Found(path, named=True))), Source(path, now)
    old, new = (judge(Options(pinned=each), paths, {}) for each in sources)
    found = changes(old.side, new.side, spread_if_many)
    results = old.wrong or new.wrong or with_changes(new.results, found)
    deliver(results, new.side.cluster.releases, Options(), sys.stdout, read=reader(new.read))


def _read_files(paths: Sequence[str], name: str) -> Pinned:
    """Pin the objects in files. Raises JobspecError if a file cannot be read, or if there is no object."""
    from jobspec.server.pin import pinned_from_objects

    found = find(paths, build=False)
    texts = [decode(content_of(each), each.path) for each in found]
    if wrong := [each for each in texts if not isinstance(each, str)]:
        raise JobspecError("\n".join(f"{each.mark}: {each.message}" for each in wrong))
    documents = [each for text, at in zip(texts, found, strict=True) for each in read(str(text), file=at.path)[0]]
    objects = [item for each in documents for item in _items(each)]
    if not objects:
        raise JobspecError(f"{', '.join(paths)}: no object with `apiVersion`, `kind` and `metadata.name`")
    if broken := [problem for each in objects for problem in _malformed(each)]:
        raise JobspecError(lines_of(broken))
    return pinned_from_objects([each.data for each in objects], name, f"{name}-crds")


def _items(document: Document) -> Iterator[Document]:
    """Yield the objects of a document: the items of a list, or the document itself."""
    data = document.data
    inside = [document]
    if isinstance(data, dict) and document.kind.endswith("List") and isinstance(items := data.get("items"), list):
        inside = [document.part(each, ("items", number)) for number, each in enumerate(items)]
    yield from (each for each in inside if each.kind and each.api_version and each.name)


def _malformed(document: Document) -> list[Diagnostic]:
    """Return what no server stores: values of a wrong type, and CRDs without a required field."""
    rules = ("wrong-type", "missing-field") if document.group_kind == CUSTOM_RESOURCE_DEFINITION else ("wrong-type",)
    found = verdict(document, choose(()), skip_unknown=True).diagnostics
    return [each for each in found if each.severity == "error" and each.rule in rules]


def _read_cluster(context: str, name: str) -> Pinned:
    try:
        from jobspec.server.client import of_context
        from jobspec.server.pin import pinned
    except ModuleNotFoundError as error:
        raise missing_package(error, "pin") from None
    client = of_context(context, os.environ.get("KUBECONFIG") or None)
    try:
        return pinned(client, name, f"{name}-crds")
    finally:
        client.close()


def _files(pinned: Pinned, path: str) -> dict[str, bytes]:
    """The file of the cluster and those of its CRDs, by their paths."""
    folder = os.path.dirname(path)
    files = {path: f"{_HEADER}{write([pinned.data])}".encode()}
    for place, definition in zip(pinned.data["spec"].get("crds", ()), pinned.crds.values(), strict=True):
        files[os.path.join(folder, place)] = write([definition]).encode()
    return files
