"""Report what kustomize passes over in a kustomization.

That is an entry that changes nothing, a name or label that resources do not follow, and a key that a patch sets twice.

The warnings are kept by the content of the files that the kustomization, and each one that is built of it, reads.
"""

from __future__ import annotations

from functools import cache

from jobspec.repository.idle_entries import idle_entries, may_have_idle_entries
from jobspec.repository.layers import closure, layers_using
from jobspec.repository.unfollowed_names import may_have_unfollowed_names, unfollowed_names
from jobspec.repository.written_patches import has_patches, keys_set_twice
from jobspec.session.cache import digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.repository.layers import Layer
    from jobspec.session.kept_facts import KeptFacts


def kustomization_notes(
    layers: Mapping[str, Layer], shown: Mapping[str, str], facts: KeptFacts | None
) -> Iterator[tuple[str, Sequence[Diagnostic]]]:
    """Yield the path and the warnings of each kustomization that has some.

    *layers*: all kustomizations of the repository by their folders. *shown*: the path that users know of a real one. *facts*: what an
    earlier run has found out; None if there is no such run.
    """
    using = layers_using(layers)

    @cache
    def read_by(folder: str) -> bytes | None:
        return _read_by(layers[folder], shown, facts.digests) if facts else None

    for layer in layers.values():
        path = shown.get(layer.references.path)
        if not path or not (may_have_idle_entries(layer) or may_have_unfollowed_names(layer) or has_patches(layer.data)):
            continue
        around = {folder for top in (layer, *using.get(layer.folder, ())) for folder in closure(top, layers)}
        read = [read_by(folder) for folder in (layer.folder, *sorted(around))]
        key = None if None in read else digest_of(read)
        found: list[Diagnostic] | None = facts.known("notes", key, list) if facts and key else None
        if found is None:
            found = _notes_on(layer, layers, using, shown)
            if facts and key:
                facts.learned("notes", key, found)
        if found:
            yield path, found


def _notes_on(
    layer: Layer, layers: Mapping[str, Layer], using: Mapping[str, Sequence[Layer]], shown: Mapping[str, str]
) -> list[Diagnostic]:
    document = next(iter(layer.files.documents(shown[layer.references.path])), None)
    if not document:
        return []
    idle = idle_entries(layer, layers, using, document, shown) if may_have_idle_entries(layer) else ()
    unfollowed = unfollowed_names(layer, layers, using, document) if may_have_unfollowed_names(layer) else ()
    return [*idle, *unfollowed, *keys_set_twice(document, shown[layer.references.path], layer.files)]


def _read_by(layer: Layer, shown: Mapping[str, str], digests: Mapping[str, bytes]) -> bytes | None:
    """Return a digest of what a kustomization reads. If a file has no digest, return None."""
    refers = layer.references
    files = [(path, digests.get(path)) for path in (refers.path, *refers.files)]
    if any(digest is None for _, digest in files):
        return None
    said = (shown.get(refers.path), files, refers.folders, refers.missing, refers.obstacles, refers.unknown_fields)
    return digest_of(said)
