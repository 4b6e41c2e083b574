"""PyYAML's C parser and emitter, without the start-up cost of what is pure Python in PyYAML.

`import yaml` loads a loader and a dumper of twenty modules, and compiles regular expressions, that the C extension does
not use: a third of a cold start. Where jobspec is the program (`documents.alone`), and no other code in the process can
want PyYAML, the extension is loaded with nothing but the tokens, events, nodes and errors that it refers to. Should some
code import `yaml` there all the same, it fails at once.
"""

from __future__ import annotations

import sys

from jobspec import documents
from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def _load() -> tuple[ModuleType, ModuleType, ModuleType]:
    """The modules `yaml._yaml`, `yaml.events` and `yaml.error`."""
    if documents.alone and "yaml" not in sys.modules:
        try:
            return _load_alone()
        except (ImportError, AttributeError):  # a release of PyYAML that is built in another way
            pass
    import yaml.error
    import yaml.events

    try:
        import yaml._yaml
    except ImportError:
        raise JobspecError("PyYAML was built without libyaml here; install one of its wheels, or libyaml before it") from None
    return yaml._yaml, yaml.events, yaml.error


def _load_alone() -> tuple[ModuleType, ModuleType, ModuleType]:
    """The same, of a package that has no more than the extension needs; it does not stay among the loaded modules."""
    package = type(sys)("yaml")
    found = next(filter(None, (finder.find_spec("yaml", None) for finder in sys.meta_path)))
    package.__path__ = list(found.submodule_search_locations or ())
    sys.modules["yaml"] = package
    try:
        import yaml.error
        import yaml.events
        import yaml.nodes
        import yaml.tokens

        for module, name in _ERRORS.items():
            base = _ReaderError if module == "reader" else yaml.error.MarkedYAMLError
            setattr(package, module, type("", (), {name: type(name, (base, yaml.error.YAMLError), {})}))
        import yaml._yaml

        loaded = yaml._yaml, yaml.events, yaml.error
    finally:
        for name in [name for name in sys.modules if name == "yaml" or name.startswith("yaml.")]:
            del sys.modules[name]
    sys.modules["yaml"] = None  # type: ignore[assignment]
    return loaded


_ERRORS = {
    "reader": "ReaderError",
    "scanner": "ScannerError",
    "parser": "ParserError",
    "composer": "ComposerError",
    "constructor": "ConstructorError",
    "emitter": "EmitterError",
    "serializer": "SerializerError",
    "representer": "RepresenterError",
}


class _ReaderError(Exception):
    """What the extension raises for a character that YAML does not allow, with PyYAML's arguments."""

    def __init__(self, name: object, position: int, character: object, encoding: str, reason: str) -> None:
        super().__init__(name, position, character, encoding, reason)
        self.position = position
        self.reason = reason


_extension, events, _error = _load()
CParser = _extension.CParser
CEmitter = _extension.CEmitter
YAMLError = _error.YAMLError
MarkedYAMLError = _error.MarkedYAMLError
