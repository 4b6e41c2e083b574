"""Declarative configuration and offline validation of Kubernetes training jobs.

The public names are loaded when they are first asked for; `import jobspec` itself loads nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.api import Rendered as Rendered
    from jobspec.api import capture as capture
    from jobspec.api import check as check
    from jobspec.api import render as render
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.diagnostics.errors import JobspecError
    from jobspec.diagnostics.places import Mark
    from jobspec.diagnostics.results import DocumentResult, FileResult
    from jobspec.documents.document import Document
    from jobspec.documents.reader import read
    from jobspec.documents.writer import write as write
    from jobspec.world.world import Cluster as Cluster

__version__ = "0.1.0"

_HOMES = {
    "Cluster": "jobspec.world.world",
    "Diagnostic": "jobspec.diagnostics.diagnostic",
    "Document": "jobspec.documents.document",
    "DocumentResult": "jobspec.diagnostics.results",
    "FileResult": "jobspec.diagnostics.results",
    "JobspecError": "jobspec.diagnostics.errors",
    "Mark": "jobspec.diagnostics.places",
    "Rendered": "jobspec.api",
    "capture": "jobspec.api",
    "check": "jobspec.api",
    "read": "jobspec.documents.reader",
    "render": "jobspec.api",
    "write": "jobspec.documents.writer",
}

__all__ = [
    "Cluster",
    "Diagnostic",
    "Document",
    "DocumentResult",
    "FileResult",
    "JobspecError",
    "Mark",
    "Rendered",
    "capture",
    "check",
    "read",
    "render",
    "write",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
