"""Files of secretGenerators that SOPS has encrypted, in a folder whose engine decrypts nothing.

Follows `Decryptor.DecryptSources`, github.com/fluxcd/kustomize-controller internal/decryptor, 1.9, and the stores of sops, 3.9.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Path
from jobspec.repository.in_build import Undecrypted
from jobspec.repository.layers import Layer, entries_of
from jobspec.repository.roles import joined
from jobspec.repository.source_files import SourceFiles

_VALUE = "ENC[AES256_GCM,"
_METADATA = re.compile(r'^sops:|^sops_mac=|^\[sops\]|"sops":', re.MULTILINE)


def encrypted_inputs(layer: Layer, undecrypted: Undecrypted, shown: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Yield a warning at each file of a secretGenerator that SOPS has encrypted.

    *undecrypted*: why the engine decrypts nothing. *shown*: the path that users know of a real one.
    """
    path = layer.references.path
    document = next(iter(layer.files.documents(shown.get(path) or os.path.relpath(path))), None)
    for field, name in _files_of_generators(layer) if document else ():
        if document and _is_encrypted(joined(layer.folder, name), layer.files):
            message = f"`{name}` is encrypted by SOPS, and {undecrypted.generated}"
            yield document.problem("encrypted-manifest", message, field, hint=undecrypted.hint, severity="warning")


def _files_of_generators(layer: Layer) -> Iterator[tuple[Path, str]]:
    """Yield the path of each entry of a secretGenerator that names a file, and the name of the file."""
    for number, each in enumerate(entries_of(layer.data, "secretGenerator")):
        for field in ("files", "envs"):
            listed = each.get(field)
            for at, name in enumerate(listed if isinstance(listed, list) else ()):
                yield ("secretGenerator", number, field, at), str(name).rpartition("=")[2]
        if each.get("env"):
            yield ("secretGenerator", number, "env"), str(each["env"])


def _is_encrypted(path: str, files: SourceFiles) -> bool:
    try:
        text = files.text(path)
    except OSError:
        return False
    return _VALUE in text and _METADATA.search(text) is not None
