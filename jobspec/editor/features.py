"""What an editor offers besides findings: completion, hovers, fixes, definitions and references, lenses, inlay hints."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from lsprotocol import types as lsp
from pygls import uris

from jobspec import api
from jobspec.apis import kinds
from jobspec.diagnostics.diagnostic import Diagnostic, lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.explanations import DECODING
from jobspec.diagnostics.places import Key, Mark, Marks, Path, spell, value_at
from jobspec.diagnostics.wording import as_text, counted
from jobspec.documents.decoding import decode, is_json
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.documents.reader import read
from jobspec.editor.places import EditorText, Outline, flow_at_end
from jobspec.editor.workspace import Snapshot, Workspace, text_of
from jobspec.journey import rendering
from jobspec.kubernetes.structural import filled
from jobspec.lint.documents import Documents
from jobspec.lint.linted import LintedJob, linted_job
from jobspec.lint.linting import spelt
from jobspec.operators.kueue.versions import RELEASE
from jobspec.operators.kueue.world import World, world_of
from jobspec.operators.trainer import runtimes
from jobspec.operators.training_operator import REPLICA_TYPES
from jobspec.operators.workloads import QUEUE, is_workload, may_take_overlays
from jobspec.overlays.load import OverlayFile, shipped, shipped_file
from jobspec.project.blame import Blame
from jobspec.project.rendering import documents_of
from jobspec.project.tree import as_rendered
from jobspec.project.variants import PlannedVariant
from jobspec.reports.blame import field_lines
from jobspec.reports.diff import text_report as changes_report
from jobspec.reports.expansion import table
from jobspec.reports.queue import Asked, TextOptions, text_report, verdict_text, why_bypassed
from jobspec.schemas import shapes
from jobspec.session.comparing import compared
from jobspec.session.overlay_pages import described
from jobspec.session.queues import asked_of, jobs_of, world_for
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.schemas.structure import Structure

_LOCAL_QUEUE = (kinds.QUEUE_GROUP, "LocalQueue")
#: The end of a path whose value is the name of an object, and the kinds of that.
REFERENCES: tuple[tuple[tuple[str, ...], tuple[kinds.GroupKind, ...]], ...] = (
    (("runtimeRef", "name"), kinds.RUNTIMES),
    (("persistentVolumeClaim", "claimName"), (kinds.PERSISTENT_VOLUME_CLAIM,)),
    (("configMap", "name"), (kinds.CONFIG_MAP,)),
    (("configMapRef", "name"), (kinds.CONFIG_MAP,)),
    (("configMapKeyRef", "name"), (kinds.CONFIG_MAP,)),
    (("secret", "secretName"), (kinds.SECRET,)),
    (("secretRef", "name"), (kinds.SECRET,)),
    (("secretKeyRef", "name"), (kinds.SECRET,)),
    (("serviceAccountName",), (kinds.SERVICE_ACCOUNT,)),
    (("priorityClassName",), (kinds.PRIORITY_CLASS,)),
    (("labels", QUEUE), (_LOCAL_QUEUE,)),
    (("queue",), (_LOCAL_QUEUE,)),
    (("clusterQueue",), ((kinds.QUEUE_GROUP, "ClusterQueue"),)),
)


class ClientView:
    """A workspace at one moment as one client sees it: its files by URI, and places as it counts them."""

    def __init__(self, files: Workspace, encoding: str) -> None:
        self.files = files
        self.encoding = encoding
        self.texts = files.texts
        self.snapshot = files.snapshot or Snapshot(Cluster(), (), {})

    def text(self, name: str) -> EditorText:
        """The text of a file by its name in diagnostics."""
        return EditorText(text_of(self.files.place(name), self.texts), self.encoding)

    def uri(self, name: str) -> str:
        """The URI of a file."""
        return str(uris.from_fs_path(self.files.place(name)))

    def name(self, uri: str) -> str:
        """The name of a file in diagnostics; empty where the URI is of no file."""
        path = uris.to_fs_path(uri) if uri.startswith("file:") else ""
        return self.files.name(path) if path else ""

    def range(self, mark: Mark, text: EditorText | None = None) -> lsp.Range:
        """The range of a mark; the first line of a file for one of the file as a whole."""
        text = text or self.text(mark.file)
        if not mark.line:
            return lsp.Range(lsp.Position(0, 0), lsp.Position(0, text.units(0)))
        start, end = text.position(mark.line, mark.column), text.position(mark.end_line, mark.end_column)
        return lsp.Range(lsp.Position(*start), lsp.Position(*end))

    def location(self, mark: Mark) -> lsp.Location:
        """The place of a mark."""
        return lsp.Location(self.uri(mark.file), self.range(mark))

    def documents(self, name: str) -> list[Document]:
        """The documents of a file that can be read as it is now."""
        text = decode(self.text(name).text.encode(errors="surrogatepass"), name)
        return read(text, file=name)[0] if isinstance(text, str) else []

    def all_documents(self) -> list[Document]:
        """All documents of the workspace, as they were last checked."""
        return [each for file in self.snapshot.checked for each in file.documents]

    def valid_documents(self) -> list[Document]:
        """Those of them in files that a server accepts."""
        return [each for file in self.snapshot.checked if file.result.valid for each in file.documents]

    def at(self, params: lsp.HoverParams | lsp.DefinitionParams | lsp.ReferenceParams) -> tuple[str, Document, Path, Mark] | None:
        """The file of a request, and the document, the path and the place of the key or value at its position; None between them."""
        name, position = self.name(params.text_document.uri), params.position
        if not name:
            return None
        line = position.line + 1
        column = self.text(name).column(position.line, position.character) + 1
        for document in self.documents(name):
            for path, mark in _spans(document.marks):
                if (mark.line, mark.column) <= (line, column) <= (mark.end_line, mark.end_column) and mark.file == name:
                    return name, document, path, mark
        return None

    def jobs(self, name: str) -> list[LintedJob]:
        """The jobs of a file with their pods; without the jobs that cannot be expanded."""
        cluster = self.snapshot.cluster
        found = [each for each in self.documents(name) if is_workload(each)]
        if not found:
            return []
        others = [each for each in self.all_documents() if each.file != name]
        documents = Documents([*found, *others, *cluster.lookups], cluster)
        made = []
        for job in found:
            try:
                made.append(linted_job(job, documents))
            except Exception:  # noqa: S112 (a half-written job cannot be expanded)
                continue
        return [each for each in made if each]

    def variants(self, name: str) -> list[tuple[Any, PlannedVariant]]:
        """The variants that are made of a file, each with its project."""
        plans = self.snapshot.plans.values()
        return [(plan, each) for plan in plans for each in plan.variants if name in _files_of(each) or name == plan.files.project.path]


def _spans(marks: Marks, path: Path = ()) -> Iterator[tuple[Path, Mark]]:
    """The places of all keys and scalars, the innermost first."""
    children = marks.children
    for step, child in children.items() if isinstance(children, dict) else enumerate(children or ()):
        yield from _spans(child, (*path, step))
    if marks.children is None:
        yield path, marks.mark
    if marks.key:
        yield path, marks.key


def _files_of(variant: PlannedVariant) -> list[str]:
    return [os.path.normpath(each) for each in (variant.base.file, *(one.tree.mark.file for one in variant.overlays))]


# Explanations.


def hover(view: ClientView, params: lsp.HoverParams) -> lsp.Hover | None:
    """What `explain` says of the field, or of the overlay that is named; of a file in a project, where the variants' values come from."""
    found = view.at(params)
    if not found:
        return None
    name, document, path, mark = found
    value = value_at(document.data, path)
    parts = [_overlay_text(view, name, document, path, value) or _field_text(view, document, path), *_blame(view, name, document, path)]
    said = "\n\n".join(filter(None, parts))
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, said), view.range(mark)) if said else None


def load_field_pages() -> None:
    """Load the models of all kinds, which the hover text of a field needs."""
    import jobspec.session.field_pages  # noqa: F401 (the first hover finds it loaded)


def _field_text(view: ClientView, document: Document, path: Path) -> str:
    from jobspec.schemas import explain
    from jobspec.session.field_pages import place_of

    try:
        root, _, _ = place_of(document.kind, [], document.api_version)
        release = root.release_in(view.snapshot.cluster.target)
        page = explain.page(root, steps_of(root.structure(release), path), release)
    except JobspecError:
        return ""
    facts = [f"- {heading}: {'; '.join(lines)}" for heading, lines in page.facts.items()]
    return "\n\n".join(filter(None, [f"**{page.title}** `{page.type}`", page.note, *page.meaning, "\n".join(facts)]))


def steps_of(structure: Any, path: Path) -> list[str]:
    """A path as `explain` takes it: the keys of maps and the numbers of items are `Key`s."""
    steps: list[str] = []
    for step in path:
        if step in structure.get("fields", {}):
            steps.append(str(step))
            structure = structure["fields"][step]
        else:
            steps.append(Key(str(step)))
            structure = structure.get("items") or structure.get("values") or {}
    return steps


def _blame(view: ClientView, name: str, document: Document, path: Path) -> list[str]:
    """Where the values of a field come from in the variants of a base, variants with the same answer together."""
    answers: dict[str, list[str]] = {}
    for plan, variant in view.variants(name)[:_MOST] if may_take_overlays(document) else ():
        cluster = plan.met_by(variant)
        checked, made = documents_of(variant, cluster)
        files = [(file, each) for file, each in made.items() if variant.base.is_job(each)] if checked.result.valid else []
        for _, job in files:
            content = as_rendered(rendering.text_of([job], cluster.target)).decode()
            blame = Blame(variant, plan.project, cluster, job, content)
            field = spell(spelt(path))
            said = "\n".join(line for each in blame.at(field) if each.field == field for line in field_lines([each], colour=False))
            answers.setdefault(said, []).append(variant.name)
    return [f"In {', '.join(names)}:\n```text\n{said}\n```" for said, names in answers.items() if said]


_MOST = 12  # variants to look at while somebody waits


def _overlay_text(view: ClientView, name: str, document: Document, path: Path, value: Any) -> str:
    """What an overlay that is named in a project does, and its parameters; of a parameter what that is."""
    is_parameter = "overlays" in path[-4:-3]
    file = _overlay_at(view, name, document, path[:-1], None) if is_parameter else _overlay_at(view, name, document, path, value)
    if not file:
        return ""
    about = described(file)
    asked = [each for each in about["parameters"] if not is_parameter or each == path[-1]]
    parameters = [f"- `{each}` ({said['type']}): {said.get('description', '')}" for each in asked for said in [about["parameters"][each]]]
    return "\n\n".join(filter(None, [f"overlay **{about['name']}**: {about['description']}", "\n".join(parameters)]))


def _overlay_at(view: ClientView, name: str, document: Document, path: Path, value: Any) -> OverlayFile | None:
    if document.group_kind != kinds.PROJECT or "overlays" not in path or len(path) - path.index("overlays") not in (2, 3):
        return None
    named = path[-1] if isinstance(path[-1], str) else value
    return overlay_named(view, name, named) if isinstance(named, str) else None


def overlay_named(view: ClientView, name: str, named: str) -> OverlayFile | None:
    """The overlay that a project calls so: a shipped one, or a file of its own; None where there is none."""
    if named in shipped():
        return shipped_file(named)
    path = _beside(name, named)
    content = view.text(path).text.encode(errors="surrogatepass")
    documents = read(content.decode(errors="replace"), file=path)[0] if content else []
    return OverlayFile(path, content) if documents and documents[0].group_kind == kinds.OVERLAY else None


# Completion.


def completion(view: ClientView, params: lsp.CompletionParams) -> lsp.CompletionList:
    """The fields that can be written at a position, or the values of the field there."""
    name = view.name(params.text_document.uri)
    outline = Outline(view.text(name).lines)
    line = params.position.line
    before = view.text(name).line(line)[: view.text(name).column(line, params.position.character)]
    match = _WRITTEN.match(before)
    if not name or not match:
        return lsp.CompletionList(is_incomplete=False, items=[])
    key, word = match["key"], match["value"]
    path, siblings = outline.around(line, len(match["lead"]))
    place: Path = path if key is None else (*path, key)
    values, fields = (partial(offer, view, name, outline, line) for offer in (_offers, _completed_fields))
    if flow := flow_at_end(word):
        inner, word, keys = flow
        place = (*place, *inner)
        offered = [*values(place)] if keys is None else [(label, said, f"{label}: ") for label, said, _ in fields(place, keys)]
    elif key is not None:
        offered = [*values(place)]
    else:
        offered = [*fields(path, siblings), *(values(path) if path and isinstance(path[-1], int) else ())]
    start = view.text(name).units(line, len(before) - len(word.lstrip("\"'")))
    place_of_word = lsp.Range(lsp.Position(line, start), params.position)
    found = {offer[0]: offer for offer in offered}
    return lsp.CompletionList(
        is_incomplete=False,
        items=[
            lsp.CompletionItem(
                label,
                kind=lsp.CompletionItemKind.Property if new.endswith(":") or ": " in new or ":\n" in new else lsp.CompletionItemKind.Value,
                detail=detail,
                sort_text=f"{number:04}",
                text_edit=lsp.TextEdit(place_of_word, new.replace("\n", "\n" + " " * len(match["lead"]))),
                insert_text_mode=lsp.InsertTextMode.AsIs,  # lines after the first are indented already
            )
            for number, (label, detail, new) in enumerate(found.values())
        ],
    )


_WRITTEN = re.compile(r"(?P<lead>\s*(?:- +)*)(?:(?P<key>[^\s:#\[{][^:]*|\"[^\"]*\"):\s+)?(?P<value>[^#]*)$")
#: An item of a completion: its label, its description, and the text to insert.
Offer = tuple[str, str, str]


def _completed_fields(view: ClientView, name: str, outline: Outline, line: int, path: Path, siblings: Sequence[str]) -> Iterator[Offer]:
    """The fields of the mapping at a path, the required ones first, without those that are there."""
    from jobspec.schemas.explain import type_of

    if "overlays" in path and outline.top(line, "kind") == "Project" and len(path) - path.index("overlays") == 3:
        overlay = overlay_named(view, name, str(path[-1]))
        for parameter, about in described(overlay)["parameters"].items() if overlay else ():
            if parameter not in siblings:
                yield parameter, f"{about['type']}: {about.get('description', '')}", f"{parameter}: "
    if path[-1:] == ("flags",):
        yield from ((flag, said, f"{flag}: ") for flag, said in _flags(view) if flag not in siblings)
    structure = _structure(view, outline, line, path)
    required = structure.get("required", ())
    for field, inner in sorted(structure.get("fields", {}).items(), key=lambda each: each[0] not in required):
        if field not in siblings:
            said = f"{type_of(inner)}{', required' if field in required else ''}: {inner.get('description', '')}"
            yield field, said, f"{field}:{_opening(inner)}"
    if not path and not structure:
        yield from ((each, "", f"{each}: ") for each in ("apiVersion", "kind", "metadata", "spec") if each not in siblings)
    if path[-1:] == ("pytorchReplicaSpecs",):
        yield from ((each, "ReplicaSpec", f"{each}:\n  ") for each in REPLICA_TYPES if each not in siblings)
    if path[-1:] == ("labels",):
        yield QUEUE, "the queue of Kueue", f"{QUEUE}: "


def _opening(structure: Structure) -> str:
    if structure["type"] == "array":
        return "\n  - "
    return "\n  " if structure["type"] == "object" else " "


def _structure(view: ClientView, outline: Outline, line: int, path: Path) -> Structure:
    """What the schema of the kind that a line is in says of a path; nothing where it has none."""
    from jobspec.session.field_pages import place_of

    api_version = outline.top(line, "apiVersion")
    try:
        root, _, _ = place_of(outline.top(line, "kind"), [], api_version)
    except JobspecError:
        return {}
    if root.api_version.rpartition("/")[0] != api_version.rpartition("/")[0]:
        return {}
    structure = root.structure(root.release_in(view.snapshot.cluster.target))
    for step in path:
        inner = structure.get("fields", {}).get(step) if not isinstance(step, int) else structure.get("items")
        structure = inner or structure.get("values") or {}
    return structure


def _offers(view: ClientView, name: str, outline: Outline, line: int, path: Path) -> Iterator[Offer]:
    """The values that fit at a path: names of what is in the workspace, and those that the schema lists."""
    target = view.snapshot.cluster.target
    if path == ("kind",):
        known = (*kinds.with_schema(), *kinds.built_in())
        version = outline.top(line, "apiVersion")
        yield from ((each.name, "", each.name) for each in known if not version or version in each.api_versions)
    if path == ("apiVersion",):
        kind = outline.top(line, "kind")
        found = [each for each in (*kinds.with_schema(), *kinds.built_in()) if not kind or each.name == kind]
        yield from ((version, "", version) for each in found for version in each.api_versions)
    if outline.top(line, "kind") == "Project":
        yield from _of_project(view, name, path)
    for kinds_of in _referred_kinds(path):
        named = [each for each in view.all_documents() if each.group_kind == kinds_of and each.name]
        yield from ((each.name, f"{each.kind} in {each.file}", each.name) for each in named)
        if kinds_of == kinds.CLUSTER_TRAINING_RUNTIME:
            yield from ((each, f"ships with trainer {target['trainer']}", each) for each in runtimes.shipped(target))
    if path[-1:] == ("name",) and "volumeMounts" in path:
        around = _volumes_for(path)
        volumes = [value for at, value in outline.values(line) if at[:-2] == around and at[-1] == "name"]
        lines = range(*outline.document(line))
        here = [value_at(each.data, around) for each in view.documents(name) if each.marks.mark.line - 1 in lines]
        volumes += [
            str(each["name"]) for of_pod in here if isinstance(of_pod, list) for each in of_pod if isinstance(each, dict) and "name" in each
        ]
        yield from ((each, "volume", each) for each in volumes)
    if path[-2:-1] in (("args",), ("command",)):
        yield from ((flag, said, flag) for flag, said in _flags(view))
    structure = _structure(view, outline, line, path)
    yield from ((str(each), "", str(each)) for each in structure.get("enum", ()))
    yield from ((each, "", each) for each in ("true", "false") if structure.get("type") == "boolean")
    said = structure.get("description") or ""
    listed = re.findall(r"`([A-Z]\w+)`", said)  # where Go code knows the values, the description lists them
    yield from ((each, "", each) for each in (listed if said.startswith("`") or len(listed) > 1 else ()))


def _of_project(view: ClientView, name: str, path: Path) -> Iterator[Offer]:
    """The overlays and bases that a project can name."""
    folder = os.path.dirname(name)
    if path[-2:-1] == ("overlays",):
        yield from ((each, described(shipped_file(each))["description"], each) for each in shipped())
        for each in view.all_documents():
            if each.group_kind == kinds.OVERLAY and each.file:
                file = os.path.relpath(each.file, folder or os.curdir)
                yield file, str(value_at(each.data, ("spec", "description")) or "an overlay of this repository"), file
    if path[-1:] == ("base",):
        files = dict.fromkeys(each.file for each in view.all_documents() if may_take_overlays(each))
        yield from ((each, "", each) for each in (os.path.relpath(file, folder or os.curdir) for file in files))


def _flags(view: ClientView) -> Iterator[tuple[str, str]]:
    """The flags of all contracts that settings or projects declare."""
    for cluster in (view.snapshot.cluster, *(each.cluster for each in view.snapshot.plans.values())):
        for contract in cluster.contracts.values():
            for flag, about in contract.flags.items():
                yield flag, str(about.get("description") or about.get("type") or "")


# Definitions and references.


def _referred_kinds(path: Path) -> Sequence[kinds.GroupKind]:
    return next((found for end, found in REFERENCES if path[-len(end) :] == end), ())


def definition(view: ClientView, params: lsp.DefinitionParams) -> list[lsp.Location]:
    """Where the object, volume, overlay or base that is named at a position is written."""
    found = view.at(params)
    if not found:
        return []
    name, document, path, _ = found
    value = value_at(document.data, path)
    if overlay := _overlay_at(view, name, document, path, value):
        return [view.location(Mark(overlay.file, 1, 1))]
    if document.group_kind == kinds.PROJECT and path[-1:] == ("base",) and isinstance(value, str):
        return [view.location(Mark(_beside(name, value), 1, 1))]
    if path[-1:] == ("name",) and "volumeMounts" in path:
        return [view.location(mark) for mark in _volumes(document, path, value)]
    referred = _referred_kinds(path)
    named = [each for each in view.all_documents() if each.group_kind in referred and each.name == value]
    near = [each for each in named if each.namespace in ("", document.namespace)] or named
    return [view.location(each.marks.nearest(("metadata", "name")).place()) for each in near]


def _volumes(document: Document, path: Path, value: Any) -> Iterator[Mark]:
    around = _volumes_for(path)
    volumes = value_at(document.data, around)
    for number, each in enumerate(volumes if isinstance(volumes, list) else ()):
        if isinstance(each, dict) and each.get("name") == value:
            yield document.marks.nearest((*around, number, "name")).place()


def _volumes_for(mount: Path) -> Path:
    """The path of the volumes of a pod, from the path of a mount in any of its containers."""
    return (*mount[: mount.index("volumeMounts") - 2], "volumes")


def references(view: ClientView, params: lsp.ReferenceParams) -> list[lsp.Location]:
    """Where the object, base or overlay at a position is named."""
    found = view.at(params)
    if not found:
        return []
    name, document, path, _ = found
    value = value_at(document.data, path)
    referred = [document.group_kind] if path == ("metadata", "name") else list(_referred_kinds(path))
    named = [(each, at) for each in view.all_documents() for at in _paths_of(each.data, value) if set(_referred_kinds(at)) & set(referred)]
    marks = [each.marks.nearest(at).place() for each, at in named]
    if path == ("metadata", "name"):
        marks += _in_projects(view, name)
    elif document.group_kind == kinds.PROJECT and isinstance(other := path[-1] if "overlays" in path[-3:-2] else value, str):
        marks += _in_projects(view, other if other in shipped() else _beside(name, other))
    if "volumes" in path or "volumeMounts" in path:
        pod = path[: path.index("volumes")] if "volumes" in path else _volumes_for(path)[:-1]
        mounts = [at for at in _paths_of(document.data, value) if at[: len(pod)] == pod and "volumeMounts" in at]
        marks += [document.marks.nearest(at).place() for at in mounts]
    return [view.location(each) for each in dict.fromkeys(marks)]


def _beside(name: str, other: str) -> str:
    """The name of a file by its path from the folder of another one."""
    return os.path.normpath(os.path.join(os.path.dirname(name), other))


def _paths_of(value: Any, wanted: Any, path: Path = (), *, keys: bool = False) -> Iterator[Path]:
    """The paths of a value, wherever it stands, with *keys* of mappings, too."""
    if isinstance(value, dict | list):
        for step, each in value.items() if isinstance(value, dict) else enumerate(value):
            if keys and step == wanted:
                yield (*path, step)
            yield from _paths_of(each, wanted, (*path, step), keys=keys)
    elif value == wanted:
        yield path


def _in_projects(view: ClientView, name: str) -> Iterator[Mark]:
    """Where projects name a file, or a shipped overlay."""
    for path in view.snapshot.plans:
        here = name if name in shipped() else os.path.relpath(name, os.path.dirname(path) or os.curdir)
        for document in view.documents(path):
            for at in (*_paths_of(document.data, here, keys=True), *_paths_of(document.data, f"./{here}", keys=True)):
                yield document.marks.nearest(at).place()


def symbols(view: ClientView, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    """The documents of a file, and of each what people look for: its fields, roles, containers, volumes and variants."""
    name = view.name(params.text_document.uri)
    text = view.text(name)
    found = view.documents(name) if name else []
    lines = [each.marks.mark.line for each in found]
    made = []
    for number, each in enumerate(found):
        end = lines[number + 1] - 2 if number + 1 < len(lines) else len(text.lines) - 1
        whole = lsp.Range(lsp.Position(max(lines[number] - 1, 0), 0), lsp.Position(max(end, lines[number] - 1), 0))
        title = f"{each.kind or 'document'} {each.name}".rstrip()
        start = lsp.Range(whole.start, whole.start)
        inside = _symbols_inside(view, text, each.data, each.marks, _DEEP)
        made.append(lsp.DocumentSymbol(title, lsp.SymbolKind.Class, whole, start, children=inside))
    return made


_DEEP = 7


def _symbols_inside(view: ClientView, text: EditorText, value: Any, marks: Marks, depth: int) -> list[lsp.DocumentSymbol]:
    children = marks.children
    if not depth or not children:
        return []
    made = []
    for step, child in children.items() if isinstance(children, dict) else enumerate(children):
        inner = value_at(value, (step,))
        if isinstance(step, int) and not isinstance(inner, dict):
            continue
        inside = _symbols_inside(view, text, inner, child, depth - 1)
        title = str((isinstance(step, int) and inner.get("name")) or step)
        start = view.range(child.place(), text)
        end = max((each.range.end for each in inside), key=lambda one: (one.line, one.character), default=view.range(child.mark, text).end)
        kind = lsp.SymbolKind.Object if inside else lsp.SymbolKind.Property
        detail = str(inner)[:60] if not inside and isinstance(inner, str | int | float) else None
        whole = lsp.Range(start.start, max(end, start.end, key=lambda one: (one.line, one.character)))
        made.append(lsp.DocumentSymbol(title, kind, whole, start, children=inside, detail=detail))
    return made


# Lenses and inlay hints: what jobs become, and what others fill in.


def lenses(view: ClientView, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
    """Over each job its pods and GPUs, and what Kueue does with it; over what a project renders, the objects and what has changed."""
    name = view.name(params.text_document.uri)
    if not name:
        return []
    found = []
    for each in view.jobs(name):
        title = f"{counted(sum(role.count for role in each.roles), 'pod')}, {counted(each.gpus, 'GPU')}"
        found.append((each.given.marks.mark.line, lsp.Command(title, command=EXPANDED, arguments=[name])))
    first = min((line for line, _ in found), default=1)
    projects = {plan.files.project.path: len(plan.variants) for plan, _ in view.variants(name)}
    for path, number in projects.items():
        found.append((first, lsp.Command(f"rendered ({counted(number, 'variant')})", command=RENDERED, arguments=[path])))
        found.append((first, lsp.Command("diff against HEAD", command=DIFFERING, arguments=[path])))
    world = _queues(view)
    for path, number in projects.items() if world else ():
        found.append((first, lsp.Command(f"queue ({counted(number, 'variant')})", command=QUEUED, arguments=[path])))
    release = view.snapshot.cluster.target.get("kueue", RELEASE)
    for asked in _asked(view, name, world) if world and not projects else ():
        answer = asked.answer
        assert world
        title = f"queue {answer.workload.queue}: {verdict_text(answer)}" if answer else why_bypassed(asked.job, world, release)
        found.append((asked.job.marks.mark.line, lsp.Command(title, command=QUEUED, arguments=[name])))
    return [lsp.CodeLens(lsp.Range(lsp.Position(line - 1, 0), lsp.Position(line - 1, 0)), command) for line, command in found]


EXPANDED, RENDERED, DIFFERING, QUEUED = COMMANDS = ("jobspec.expanded", "jobspec.rendered", "jobspec.diff", "jobspec.queue")


def _queues(view: ClientView) -> World | None:
    """The queues in the valid files of the workspace, besides which the cluster may have others; None where there are none."""
    world = world_for((), view.valid_documents(), Cluster(), closed=False)
    return world if world.queues or any(world.of_kind("LocalQueue")) else None


def _asked(view: ClientView, name: str, world: World) -> list[Asked]:
    """What becomes in its queue of each job in a valid file, or of each variant of a project."""
    documents = view.valid_documents()
    plan = view.snapshot.plans.get(name)
    jobs = jobs_of(plan) if plan else [(each, documents) for each in documents if each.file == name]
    return asked_of(jobs, view.snapshot.cluster.target, world)


def inlay_hints(view: ClientView, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    """Values that no file has: the defaults of the API, and what the operator adds to the training container."""
    name = view.name(params.text_document.uri)
    text = view.text(name)
    found: dict[int, list[str]] = {}
    for job in view.jobs(name) if name else ():
        shape = shapes.load(job.given.api_version, job.given.kind, view.snapshot.cluster.target)
        if shape:
            for path, said in _defaults(job.given.data, filled(job.given.data, shape, prune=False), ()):
                found.setdefault(job.given.marks.nearest(path).place().line, []).append(said)
        for role in job.training:
            container = role.training_container()
            at = container.get("name") if container else None
            mark = at.mark if at and at.mark.file == name and at.mark.line else job.given.marks.nearest(("spec",)).place()
            found.setdefault(mark.line, []).extend(_of_operator(container) if container else ())
    lines = range(params.range.start.line, params.range.end.line + 1)
    hints = [(line - 1, ", ".join(dict.fromkeys(said))) for line, said in sorted(found.items()) if line - 1 in lines and said]
    return [lsp.InlayHint(lsp.Position(at, text.units(at)), said, tooltip=said, padding_left=True) for at, said in hints]


def _defaults(before: Any, after: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """What was filled in, each with the path of what it is in."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in after.items():
            if name in before:
                yield from _defaults(before[name], value, (*path, name))
            elif not isinstance(value, dict | list):
                yield path, f"{name}: {as_text(value)}"
    elif isinstance(before, list) and isinstance(after, list):
        for at, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _defaults(one, other, (*path, at))


def _of_operator(container: MarkedTree) -> Iterator[str]:
    """The variables and ports of a container that no file says."""
    variables = [text(each, "name") for each in items(container.get("env")) if not each.mark.line]
    ports = [
        text(each, "containerPort") or str(each.data().get("containerPort")) for each in items(container.get("ports")) if not each.mark.line
    ]
    if variables:
        yield f"env: {', '.join(variables)}"
    if ports:
        yield f"port: {', '.join(ports)}"


# Fixes.


def actions(view: ClientView, params: lsp.CodeActionParams, found: Sequence[Diagnostic]) -> list[lsp.CodeAction]:
    """The fixes of what is *found* in the lines of a range, one or all of the file, and comments that ignore it."""
    name, uri = view.name(params.text_document.uri), params.text_document.uri
    text = view.text(name)
    lines = range(params.range.start.line, params.range.end.line + 1)
    here = [each for each in found if each.mark.file == name and max(each.mark.line - 1, 0) in lines]
    made = []
    for each in here:
        if each.changes and not each.mark.layer:
            title = f"Fix: {each.hint or each.message}"
            data = {"uri": uri, "one": [*map(_key_of_diagnostic, (each, *each.related))]}
            made.append(lsp.CodeAction(title, kind=lsp.CodeActionKind.QuickFix, is_preferred=each.has_safe_fix, data=data))
    if any(each.has_safe_fix and not each.mark.layer for each in found):
        title = "Fix all that has one safe fix in this file"
        made.append(lsp.CodeAction(title, kind=lsp.CodeActionKind.SourceFixAll, data={"uri": uri}))
    for each in here:
        if each.rule not in DECODING and (edit := ignoring(text.text, each)):
            at, new = edit
            place = lsp.Range(lsp.Position(at, text.units(at)), lsp.Position(at, text.units(at)))
            change = lsp.WorkspaceEdit(changes={uri: [lsp.TextEdit(place, new)]})
            made.append(lsp.CodeAction(f"Ignore `{each.rule}` here, with a reason", kind=lsp.CodeActionKind.QuickFix, edit=change))
    only = [getattr(each, "value", each) for each in params.context.only or ()]
    return [each for each in made if not only or any(str(getattr(each.kind, "value", each.kind)).startswith(one) for one in only)]


def _key_of_diagnostic(each: Diagnostic) -> list[Any]:
    return [each.rule, each.document, each.field, each.mark.line, each.mark.column]


def resolved(view: ClientView, action: lsp.CodeAction) -> lsp.CodeAction:
    """A fix with its edits: the same that `--fix` writes of it."""
    about: Any = action.data or {}
    name, one = view.name(about["uri"]), about.get("one")

    def is_wanted(each: Diagnostic) -> bool:
        return each.has_safe_fix if one is None else _key_of_diagnostic(each) in [list(known) for known in one]

    before, after = view.files.fixed(name, is_wanted)
    edits = [] if after == before else [edit_of(EditorText(before, view.encoding), after)]
    change = lsp.WorkspaceEdit(changes={about["uri"]: edits})
    return lsp.CodeAction(action.title, kind=action.kind, is_preferred=action.is_preferred, edit=change, data=action.data)


def edit_of(before: EditorText, after: str) -> lsp.TextEdit:
    """What changes between two texts, as one edit of whole lines."""
    old, new = before.lines, after.split("\n")
    start = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), min(len(old), len(new)))
    same = zip(reversed(old[start:]), reversed(new[start:]), strict=False)
    end = next((at for at, (one, other) in enumerate(same) if one != other), min(len(old), len(new)) - start)
    last_old, last_new = len(old) - end, len(new) - end
    changed = "\n".join(new[start:last_new])
    if end:
        place = lsp.Range(lsp.Position(start, 0), lsp.Position(last_old, 0))
        return lsp.TextEdit(place, f"{changed}\n" if last_new > start else "")
    last = lsp.Position(len(old) - 1, before.units(len(old) - 1))
    begin, lead = (lsp.Position(start, 0), "") if start < len(old) else (last, "\n")
    return lsp.TextEdit(lsp.Range(begin, last), f"{lead}{changed}")


def ignoring(before: str, found: Diagnostic) -> tuple[int, str] | None:
    """The line, from 0, and what is written behind it, for a comment that ignores a finding; None where a comment cannot stand there."""
    at = max(found.mark.line - 1, 0)
    lines = before.split("\n")
    if is_json(before) or at >= len(lines) or "#" in lines[at]:
        return None
    new = f"  # jobspec: ignore[{found.rule}] say why"
    lines[at] = lines[at].rstrip("\r") + new
    one, other = read(before, file="")[0], read("\n".join(lines), file="")[0]
    return (at, new) if [each.data for each in one] == [each.data for each in other] and one else None


def rendered_text(view: ClientView, command: str, name: str) -> tuple[str, str]:
    """What a command of a lens shows: the name of a file to be, and its text. Raises JobspecError."""
    if command == RENDERED:
        tree = api.rendered_tree(name, view.files.options)
        if not tree.valid:
            raise JobspecError(lines_of(each for each in tree.diagnostics if each.severity == "error"))
        return "rendered.yaml", "".join(f"# {path}\n---\n{content}" for path, content in tree.files.items())
    if command == DIFFERING:
        return "diff.txt", changes_report(compared(view.files.options.changed(ref="HEAD", project=name)), colour=False, width=120)
    if command == QUEUED:
        world = _queues(view) or world_of(())
        how = TextOptions(120, view.snapshot.cluster.target.get("kueue", RELEASE), colour=False)
        return "queue.txt", text_report(_asked(view, name, world), world, how)
    return "pods.txt", table([each.expanded for each in view.jobs(name)], width=120, colour=False)
