"""The ConfigMaps and Secrets in files, from which containers take variables."""

from __future__ import annotations

from base64 import b64decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jobspec.documents.document import Document

_REFERENCES = (("configMapRef", "ConfigMap"), ("secretRef", "Secret"))
_KEYS = (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret"))


class ObjectValues:
    """Values by the kind and the name of their object."""

    __slots__ = ("_values",)

    def __init__(self, documents: Iterable[Document]) -> None:
        wanted = [each for each in documents if each.api_version == "v1" and each.kind in ("ConfigMap", "Secret")]
        self._values = {(each.kind, each.name): _values(each.data) for each in wanted}

    def value(self, source: dict[str, Any]) -> str | None:
        """The value that a `valueFrom` names; None where no file has it."""
        for field, kind in _KEYS:
            if reference := source.get(field):
                return self._values.get((kind, reference.get("name", "")), {}).get(reference.get("key", ""))
        return None

    def whole(self, source: dict[str, Any]) -> dict[str, str] | None:
        """All values of what an `envFrom` names; None where no file has it."""
        for field, kind in _REFERENCES:
            if reference := source.get(field):
                return self._values.get((kind, reference.get("name", "")))
        return None

    @staticmethod
    def name_of(source: dict[str, Any]) -> str:
        """What an `envFrom` names, in words."""
        for field, kind in _REFERENCES:
            if reference := source.get(field):
                return f"those of the {kind} {reference.get('name', '')}"
        return "those of an unknown source"


def _values(data: dict[str, Any]) -> dict[str, str]:
    encoded = data.get("data") if data["kind"] == "Secret" else None
    plain = data.get("stringData") if data["kind"] == "Secret" else data.get("data")
    decoded = {name: b64decode(value).decode(errors="replace") for name, value in (encoded or {}).items()}
    return decoded | {name: str(value) for name, value in (plain or {}).items()}
