"""The rendered tree: a folder for each variant, and the kustomizations and the inventory that belong to them."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic
from jobspec.documents.writer import write
from jobspec.gitops import inventory
from jobspec.trees import HEADER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from jobspec.gitops.rendering import RenderedObject, RenderedVariant

    #: Files by their path below the output folder, with `/` between the parts.
    Files = Mapping[str, bytes]

KUSTOMIZATION = "kustomization.yaml"


class Tree:
    """The files of all variants, and the objects that two variants make differently."""

    __slots__ = ("diagnostics", "files")

    def __init__(self, files: Files, diagnostics: Sequence[Diagnostic]) -> None:
        self.files = files
        """The files of the variants' folders; `complete` adds the others."""
        self.diagnostics = diagnostics


def tree_of(variants: Iterable[RenderedVariant]) -> Tree:
    """The folders of variants; a companion that several of them share stands in the folder of the first one by name."""
    files: dict[str, bytes] = {}
    problems: list[Diagnostic] = []
    owners: dict[tuple[str, ...], tuple[str, RenderedObject]] = {}
    for variant in sorted(variants, key=lambda each: each.name):
        own = []
        for each in variant.objects:
            owner, first = owners.setdefault(each.identity, (variant.name, each))
            if first is each:
                own.append(each)
            elif each.is_job or first.text != each.text:
                problems.append(_same_object(each, variant.name, owner, first))
        files |= {f"{variant.name}/{each.file}": _bytes(each.text) for each in own}
        files[f"{variant.name}/{KUSTOMIZATION}"] = _kustomization(each.file for each in own)
    return Tree(files, problems)


def _same_object(each: RenderedObject, variant: str, owner: str, first: RenderedObject) -> Diagnostic:
    _, kind, _, name = each.identity
    message = f"the variants `{owner}` and `{variant}` would be one object, {kind} `{name}`; first in {first.place}"
    return Diagnostic("duplicate-resource", message, each.place, hint="give one of them another name or namespace")


def complete(files: Files, kept: Files, kept_hashes: Mapping[str, str]) -> dict[str, bytes]:
    """The whole tree: the variants' *files*, those that are *kept* as they are, the kustomization at the top and the inventory."""
    tree = {**kept, **files}
    tree[KUSTOMIZATION] = _kustomization({path.partition("/")[0] for path in tree if "/" in path})
    hashes = {path: kept_hashes[path] if path in kept else inventory.digest_of(content) for path, content in tree.items()}
    return {**tree, inventory.NAME: _bytes(inventory.text_of(hashes))}


def folders_only(files: Files, variants: Collection[str]) -> dict[str, bytes]:
    """The files in the folders of these variants."""
    return {path: content for path, content in files.items() if path.partition("/")[0] in variants}


def differences(before: Files, after: Files, folder: str) -> Iterator[str]:
    """The lines of a unified diff between two states of a folder."""
    from difflib import unified_diff

    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old != new:
            name_before = "/dev/null" if old is None else f"a/{folder}/{path}"
            name_after = "/dev/null" if new is None else f"b/{folder}/{path}"
            yield from map(_ended, unified_diff(_lines(old), _lines(new), name_before, name_after))


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode(errors="backslashreplace").splitlines(keepends=True)


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _kustomization(resources: Iterable[str]) -> bytes:
    data = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": sorted(resources)}
    return _bytes(write([data]))


def _bytes(text: str) -> bytes:
    return f"{HEADER}\n{text}".encode()
