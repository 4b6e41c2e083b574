"""What users bring to the cluster that manifests meet: CRDs, JSON Schemas, stored objects, contracts of images."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

from jobspec.apis import shipped
from jobspec.apis.kinds import CLUSTER, CUSTOM_RESOURCE_DEFINITION, MANIFEST_ENDINGS, UNKNOWN, CompleteKinds, named
from jobspec.apis.releases import CHOSEN, Target, nearest_known
from jobspec.apis.shipped import load
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.documents.decoding import decode
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.journey.reading import items_of
from jobspec.journey.steps import Source
from jobspec.kubernetes.custom_kinds import CRD, JSONSchema, UnreadFile, definitions_in
from jobspec.kubernetes.verdict import verdict
from jobspec.programs.command_lines import Contract
from jobspec.project.project import LoadedProject, Unreadable, only_document
from jobspec.session.finding import find
from jobspec.session.git import git, git_files
from jobspec.session.reading import content_of
from jobspec.world.world import Cluster, StoredObjects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.lint.ignores import ReportFilter
    from jobspec.session.trees import ProjectFiles


def find_crds(paths: Sequence[str], target: Target) -> tuple[list[Document | UnreadFile], dict[str, list[Diagnostic]]]:
    """The CRDs in files, and the errors by file; in folders, the files with CRDs are left to be read when a kind needs them.

    Raises JobspecError for a path without any CRD.
    """
    crds: list[Document | UnreadFile] = []
    wrong: dict[str, list[Diagnostic]] = {}
    for path in paths:
        texts = [(found.path, decode(content_of(found), found.path)) for found in find([path]) if not found.named]
        unread = [UnreadFile(file, text) for file, text in texts if isinstance(text, str) and CRD[1] in text]
        read_now, errors = ([], {}) if unread else read_crds([path], target)
        crds += [*unread, *read_now]
        wrong |= errors
    return crds, wrong


def read_crds(paths: Sequence[str], target: Target) -> tuple[list[Document], dict[str, list[Diagnostic]]]:
    """The CRDs in files and folders, and the errors by file. Raises JobspecError for a path without any CRD."""
    crds: list[Document] = []
    wrong: dict[str, list[Diagnostic]] = {}
    for path in paths:
        before = len(crds)
        for found in find([path]):
            text = decode(content_of(found), found.path)
            defining, errors = (
                definitions_in(found.path, text, lambda crd: verdict(crd, target).diagnostics) if isinstance(text, str) else ([], [text])
            )
            crds += defining
            if errors and (defining or found.named):
                wrong[found.path] = errors
        if len(crds) == before and not wrong:
            raise JobspecError(f"--crd {path}: no CustomResourceDefinition of {CRD[0]} in it")
    return crds, wrong


@dataclass(frozen=True, slots=True)
class PinnedCluster:
    """The content of a `Cluster` manifest, or the errors in the file."""

    found: dict[str, str] = field(default_factory=dict)
    """The release of each component that could be found out."""
    objects: Sequence[Document] = ()
    """The manifest itself, which has the shapes of nodes, and the objects that it lists."""
    complete: CompleteKinds = UNKNOWN
    """The kinds of which it lists all objects."""
    installed: Mapping[str, str | None] | None = None
    """What it has of Kubernetes and of operators, each with its release where that is known; None where the operators could not be read."""
    crds: Sequence[str] = ()
    """The paths of the CRDs beside the file."""
    wrong: Sequence[FileResult] = ()

    @property
    def releases(self) -> dict[str, str]:
        """The releases to judge by: the newest known one in place of one that came later."""
        return nearest_known({each: release for each, release in self.found.items() if each in CHOSEN})


def read_cluster(source: Source) -> PinnedCluster:
    """The cluster in a file. Raises JobspecError where it holds anything else."""
    document = only_document(source, CLUSTER, "a cluster's file holds one document of the kind Cluster of jobspec.dev/v1alpha1")
    if isinstance(document, FileResult):
        return PinnedCluster(wrong=[document])
    spec = document.data["spec"]
    releases = spec["releases"]
    found = {each: release for each, release in releases.items() if release}
    parts = [document.part(each, ("spec", "objects", number)) for number, each in enumerate(spec.get("objects") or ())]
    crds = [os.path.normpath(os.path.join(os.path.dirname(source.name), each)) for each in spec.get("crds") or ()]
    complete = CompleteKinds(map(named, spec.get("complete") or ()))
    installed = None if CUSTOM_RESOURCE_DEFINITION[1] in (spec.get("unread") or ()) else releases
    return PinnedCluster(found, [document, *parts], complete, installed, crds)


_LAYOUT = "/{{ .NormalizedKubernetesVersion }}-standalone{{ .StrictSuffix }}/{{ .ResourceKind }}{{ .KindSuffix }}.json"


class JSONSchemas:
    """The JSON Schemas at some locations, each read once. Raises JobspecError for a location on another machine."""

    def __init__(self, locations: Sequence[str]) -> None:
        self._templates = [_template(location) for location in locations]
        self._read = cache(lambda file: JSONSchema(file, _content(file), f"file://{os.path.abspath(file)}", _referred))

    def __call__(self, document: Document) -> JSONSchema | None:
        """The JSON Schema of a document's kind; None without one. Raises JobspecError for a file that holds none."""
        paths = (_filled(each, document) for each in self._templates)
        file = next((path for path in paths if os.path.isfile(path)), None)
        return self._read(file) if file else None


def _template(location: str) -> str:
    """A location as a template of paths."""
    scheme = urlsplit(location).scheme
    if location == "default" or scheme in ("http", "https"):
        raise JobspecError(f"--schema-location {location}: jobspec downloads nothing; give a local folder or a template of local paths")
    path = unquote(urlsplit(location).path) if scheme == "file" else location
    return path if path.endswith("json") else path.rstrip("/") + _LAYOUT


def _filled(template: str, document: Document) -> str:
    """The path for a document's kind; of the syntax of Go templates, only `{{ .Name }}` is supported."""
    import re

    group, _, version = document.api_version.rpartition("/")
    first = (group or version).partition(".")[0].lower()
    names = {
        "ResourceKind": document.kind.lower(),
        "ResourceAPIVersion": version,
        "Group": group or version,
        "KindSuffix": f"-{first}-{version.lower()}" if group else f"-{first}",
        "NormalizedKubernetesVersion": "master",
        "StrictSuffix": "-strict",
    }
    return re.sub(r"\{\{-?\s*\.(\w+)\s*-?\}\}", lambda found: names.get(found[1], found[0]), template)


def _referred(uri: str) -> Any:
    """The content of a file that a JSON Schema refers to."""
    if urlsplit(uri).scheme != "file":
        raise JobspecError("is not a local file: jobspec downloads nothing")
    return _content(unquote(urlsplit(uri).path))


def _content(file: str) -> Any:
    try:
        with open(file, encoding="utf-8") as opened:
            return json.load(opened)
    except (OSError, ValueError) as error:
        raise JobspecError(f"{file}: cannot be read as JSON: {error}") from None


def from_files(path: str) -> StoredObjects:
    """The stored objects in a file or folder."""
    return StoredObjects(documents_in(path, option="--from"))


def documents_in(path: str, *, option: str) -> list[Document]:
    """The documents of a file or folder that an *option* names.

    Raises JobspecError where a named file cannot be read; in a folder, it is skipped.
    """
    documents: list[Document] = []
    for found in find([path]):
        text = decode(content_of(found), found.path)
        inside, problems = ([], [text]) if isinstance(text, Diagnostic) else read(text, file=found.path)
        if problems and found.named:
            raise JobspecError(f"{option} {problems[0].mark}: {problems[0].message}")
        documents += () if problems else inside
    return list(_objects(documents))


def from_ref(ref: str, paths: Sequence[str]) -> StoredObjects:
    """The objects of files and folders as they were at a Git ref; a file that did not exist or cannot be read has none."""
    documents: list[Document] = []
    for path in paths:
        for name, raw in _at_ref(ref, path):
            try:
                inside, problems = read(raw.decode(), file=f"{ref}:{name}")
            except UnicodeDecodeError:
                continue
            documents += () if problems else inside
    return StoredObjects(_objects(documents))


def _objects(documents: Iterable[Document]) -> Iterator[Document]:
    return (each for document in documents for each in items_of(document))


def _at_ref(ref: str, path: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of each manifest of a file or folder at a Git ref."""
    if path == "-":
        raise JobspecError("--from-ref: standard input is not a file of a Git repository; use --from FILE")
    folder, name = (path, ".") if os.path.isdir(path) else (os.path.dirname(path) or ".", os.path.basename(path))
    why = f"--from-ref {ref} is not a ref of {path}"
    tree = git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{tree}}", why=why).strip()
    why = f"--from-ref cannot read {path}"
    yield from git_files(folder, tree.decode(), name, why=why, wanted=lambda file, _: name != "." or _is_manifest(file))


def _is_manifest(file: str) -> bool:
    return file.endswith(MANIFEST_ENDINGS) and not any(part.startswith(".") for part in file.split("/"))


TRAINER = "trainer"


def with_contracts(cluster: Cluster, settings: ReportFilter | None) -> Cluster:
    """The cluster with the contracts of images that settings declare. Raises JobspecError for files that hold none."""
    if not settings or not settings.contracts:
        return cluster
    try:
        return cluster.with_contracts({image: _contract(path, _content_of) for image, path in settings.contracts.items()})
    except OSError as error:
        raise JobspecError(f"{error.filename}: {error.strerror}") from None


def contracts_of(project: LoadedProject, files: ProjectFiles) -> tuple[dict[str, Contract], list[Diagnostic]]:
    """The contracts that a project declares, whose paths begin at its folder, and what is wrong with them."""
    found, wrong = {}, []
    for image, path in project.contracts.items():
        try:
            found[image] = _contract(str(path.value), lambda each: files.read(each).content)
        except Unreadable as error:
            wrong.append(Diagnostic("invalid-project", f"no contract at `{path.value}`: {error}", path.mark))
        except JobspecError as error:
            wrong.append(Diagnostic("invalid-project", str(error), path.mark))
    return found, wrong


def _contract(path: str, read: Callable[[str], bytes | str]) -> Contract:
    """The contract at a path; that of jobspec's own trainer for `trainer`, where no file has that name."""
    try:
        return Contract(json.loads(read(path)), path)
    except (Unreadable, FileNotFoundError):
        if path != TRAINER:
            raise
        return Contract(load(shipped.path("schemas", "trainer.json")), TRAINER)
    except ValueError as error:
        raise JobspecError(f"{path}: not valid JSON: {error}") from None


def _content_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
