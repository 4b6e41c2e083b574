"""The rendered tree: a folder for each variant, one for what they share, and the kustomizations and the inventory that belong to them."""

from __future__ import annotations

from io import StringIO

from jobspec.diagnostics import Diagnostic
from jobspec.documents.writer import write
from jobspec.gitops import inventory
from jobspec.gitops.rendering import identity_of
from jobspec.trees import HEADER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from jobspec.gitops.rendering import Identity, RenderedObject, RenderedVariant

    #: Files by their path below the output folder, with `/` between the parts.
    Files = Mapping[str, bytes]

KUSTOMIZATION = "kustomization.yaml"
SHARED = "_shared"
"""The folder of objects that several variants have; no variant can have this name."""


class Placed:
    """The file of an object in the tree."""

    __slots__ = ("content", "identity", "variants")

    def __init__(self, content: bytes, identity: Identity, variants: Sequence[str]) -> None:
        self.content = content
        self.identity = identity
        self.variants = variants
        """The names of the variants that have the object."""


_NAMESPACES = ("namespace-",)
_RUNTIMES = ("clustertrainingruntime-", "trainingruntime-")
_JOBS = ("pytorchjob-", "trainjob-")


class Tree:
    """The files of variants' objects by path, and the objects that two variants make differently."""

    __slots__ = ("diagnostics", "placed")

    def __init__(self, placed: Mapping[str, Placed], diagnostics: Sequence[Diagnostic] = ()) -> None:
        self.placed = placed
        self.diagnostics = diagnostics

    def only(self, variants: Collection[str]) -> Tree:
        """The files of these variants' objects, shared ones too."""
        return Tree({path: each for path, each in self.placed.items() if any(name in variants for name in each.variants)})


def tree_of(variants: Iterable[RenderedVariant]) -> Tree:
    """The tree of variants; an object that several of them have stands in a folder of its own, so that it belongs to none of them."""
    first: dict[Identity, tuple[str, RenderedObject]] = {}
    users: dict[Identity, list[str]] = {}
    problems: list[Diagnostic] = []
    for variant in sorted(variants, key=lambda each: each.name):
        for each in variant.objects:
            owner, known = first.setdefault(each.identity, (variant.name, each))
            users.setdefault(each.identity, []).append(variant.name)
            if known is not each and (each.is_job or known.text != each.text):
                problems.append(_same_object(each, variant.name, owner, known))
    placed: dict[str, Placed] = {}
    for identity, (owner, each) in first.items():
        path = f"{owner}/{each.file}" if len(users[identity]) == 1 else shared_path(identity)
        if path in placed:
            problems.append(_same_file(each, path))
        placed[path] = Placed(as_rendered(each.text), identity, users[identity])
    return Tree(placed, problems)


def shared_path(identity: Identity) -> str:
    """The path of a shared object, which depends on nothing but what it is."""
    _, kind, namespace, name = identity
    return "/".join(part for part in (SHARED, namespace, f"{kind.lower()}-{name}.yaml") if part)


def _same_object(each: RenderedObject, variant: str, owner: str, first: RenderedObject) -> Diagnostic:
    _, kind, _, name = each.identity
    message = f"the variants `{owner}` and `{variant}` would be one object, {kind} `{name}`; first in {first.place}"
    return Diagnostic("duplicate-resource", message, each.place, hint="give one of them another name or namespace")


def _same_file(each: RenderedObject, path: str) -> Diagnostic:
    message = f"two objects of different groups would both be the file `{path}`"
    return Diagnostic("duplicate-resource", message, each.place, hint="give one of them another name")


def with_inventory(files: Files, hashes: Mapping[str, str] | None = None) -> dict[str, bytes]:
    """The files of a tree and their inventory; *hashes* are those of files that are not as they were written."""
    known = hashes or {}
    found = {path: known[path] if path in known else inventory.digest_of(content) for path, content in files.items()}
    return {**files, inventory.NAME: as_rendered(inventory.text_of(found))}


def complete(tree: Tree, kept: Files, kept_hashes: Mapping[str, str]) -> dict[str, bytes]:
    """The whole tree: the objects' files, those that are *kept* as they are, the kustomizations and the inventory."""
    moved = set(_moved(kept, tree))
    changed = {_folder(path) for path in [*tree.placed, *moved]}
    stay = {path: content for path, content in kept.items() if path not in moved and not _is_kustomization_in(changed, path)}
    files = stay | {path: each.content for path, each in tree.placed.items()}
    folders = _by_folder(files)
    written = {f"{folder}/{KUSTOMIZATION}": kustomization(names) for folder, names in folders.items() if KUSTOMIZATION not in names}
    files |= {**written, KUSTOMIZATION: kustomization(folders, in_order=_need_order(files))}
    return with_inventory(files, {path: kept_hashes[path] for path, content in files.items() if content is stay.get(path)})


def _moved(kept: Files, tree: Tree) -> Iterator[str]:
    """The paths of kept files whose object stands elsewhere in the tree, since it became shared or is shared no more."""
    now = {each.identity: path for path, each in tree.placed.items()}
    names = {f"{kind.lower()}-{part}{name}.yaml" for _, kind, namespace, name in now for part in ("", f"{namespace}-")}
    for path, content in kept.items():
        if path.rpartition("/")[2] in names and now.get(_identity_in(content), path) != path:
            yield path


def _identity_in(content: bytes) -> Identity:
    """The object in a file; nothing where it is no longer one."""
    from jobspec.documents.reader import read

    documents, _ = read(content.decode(errors="replace"), file="")
    return identity_of(documents[0]) if documents else ("", "", "", "")


def _is_kustomization_in(folders: Collection[str], path: str) -> bool:
    return path.endswith(f"/{KUSTOMIZATION}") and _folder(path) in folders


def _folder(path: str) -> str:
    """The folder at the top of the tree that a file stands in."""
    return path.partition("/")[0]


def _by_folder(files: Files) -> dict[str, list[str]]:
    """The files in each folder at the top, by their paths from there."""
    found: dict[str, list[str]] = {}
    for path in files:
        folder, _, name = path.partition("/")
        found.setdefault(folder, []).append(name)
    return found


def differences(before: Files, after: Files, folder: str = "") -> Iterator[str]:
    """The lines of a unified diff between two states of a folder."""
    from difflib import unified_diff

    around = f"{folder}/" if folder else ""
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            name_before = "/dev/null" if old is None else _name_in_diff(f"a/{around}{path}")
            name_after = "/dev/null" if new is None else _name_in_diff(f"b/{around}{path}")
            yield from map(_ended, unified_diff(_lines(old), _lines(new), name_before, name_after))


def _name_in_diff(path: str) -> str:
    """A tab ends a name with a blank in it, as in the diffs of git."""
    return f"{path}\t" if " " in path else path


def _lines(content: bytes | None) -> list[str]:
    """Lines end with a line feed alone: what else may end one in YAML does not for programs that apply diffs."""
    return list(StringIO((content or b"").decode(errors="backslashreplace")))


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def kustomization(resources: Collection[str], *, in_order: bool = False) -> bytes:
    """The content of a `kustomization.yaml` with these resources.

    With a runtime among them, or *in_order*, they are applied in the order in which they stand there.
    """
    data = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": sorted(resources, key=_turn)}
    order = {"sortOptions": {"order": "fifo"}} if in_order or _need_order(resources) else {}
    return as_rendered(write([{**data, **order}]))


def _need_order(paths: Iterable[str]) -> bool:
    """Whether files have to be applied in order: kustomize's own puts a TrainJob before its runtime, without which a webhook refuses it."""
    return any(_name(path).startswith(_RUNTIMES) for path in paths)


def _turn(path: str) -> tuple[int, str]:
    """Namespaces come first, and what variants share; jobs last, and each group by name."""
    is_early = path == SHARED or _name(path).startswith(_NAMESPACES)
    return (0 if is_early else 2 if _name(path).startswith(_JOBS) else 1), path


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def as_rendered(text: str) -> bytes:
    """The content of a file that says in its first line that it is rendered."""
    return f"{HEADER}\n{text}".encode()
