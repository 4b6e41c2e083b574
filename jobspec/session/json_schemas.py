"""Find JSON Schemas of kinds in folders and by templates of paths, as kubeconform does."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

from jobspec.diagnostics.errors import JobspecError
from jobspec.documents.document import Document
from jobspec.kubernetes.json_schema_kinds import JSONSchema

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


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
