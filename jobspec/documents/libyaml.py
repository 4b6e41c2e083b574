"""PyYAML's C parser and emitter, without the start-up cost of what is pure Python in PyYAML.

`import yaml` loads a loader and a dumper of twenty modules and compiles regular expressions, none of which the C extension uses: a
third of a cold start. Unless PyYAML is loaded already, the extension is loaded with only the events and errors that it refers
to: the classes of tokens and nodes are loaded where a text is asked for them. PyYAML is loaded as a whole as soon as other code uses
anything else of it.
"""

from __future__ import annotations

import sys
from _thread import RLock

from jobspec.diagnostics.errors import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any

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
_OTHERS = {"tokens": "Token", "nodes": "Node"}
"""The modules whose classes the extension gives back where it is asked for tokens or nodes, each with the end of their names."""


class _Later:
    """A module of the package that is not loaded yet: all names in it have one value."""

    def __init__(self, value: type | None) -> None:
        self._value = value

    def __getattr__(self, _: str) -> type | None:
        return self._value


class _Part(type(sys)):  # type: ignore[misc]  # the type of modules, without importing `types`
    """The package `yaml` while no more of it is loaded than the extension needs."""

    def __getattr__(self, name: str) -> Any:
        _complete(self)
        try:
            return vars(self)[name]
        except KeyError:
            raise AttributeError(f"module 'yaml' has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        """Importing another submodule ends here, too. Tokens and nodes alone, which other submodules import, are given to the extension."""
        super().__setattr__(name, value)
        if name not in _OTHERS:
            _complete(self)
            return
        for each in [each for each in vars(value) if each in vars(self._yaml) and each.endswith(_OTHERS[name])]:
            setattr(self._yaml, each, getattr(value, each))


def _complete(package: Any) -> None:
    """Load the rest of the package, and let the extension raise its errors."""
    with _lock:
        if "_is_complete" in vars(package):  # or is about to be, in this thread
            return
        vars(package)["_is_complete"] = True
        package.__spec__.loader.exec_module(package)
        for module, name in _ERRORS.items():
            setattr(package._yaml, name, getattr(sys.modules[f"yaml.{module}"], name))
        package.__class__ = type(sys)


_lock = RLock()


class _ReaderError(Exception):
    """The error of the extension for a character that YAML does not allow.

    Its arguments are PyYAML's.
    """

    def __init__(self, name: object, position: int, character: object, encoding: str, reason: str) -> None:
        super().__init__(name, position, character, encoding, reason)
        self.position = position
        self.reason = reason


def _load() -> tuple[ModuleType, ModuleType, ModuleType]:
    """The modules `yaml._yaml`, `yaml.events` and `yaml.error`."""
    if "yaml" not in sys.modules:
        before = set(sys.modules)
        try:
            return _load_part()
        except (ImportError, AttributeError):  # a release of PyYAML that is built in another way
            for name in sys.modules.keys() - before:
                del sys.modules[name]
    import yaml.error
    import yaml.events

    try:
        import yaml._yaml
    except ImportError:
        raise JobspecError("PyYAML was built without libyaml here; install one of its wheels, or libyaml before it") from None
    return yaml._yaml, yaml.events, yaml.error


def _load_part() -> tuple[ModuleType, ModuleType, ModuleType]:
    """The same, in a package that has no more than the extension needs."""
    spec = next(filter(None, (finder.find_spec("yaml", None) for finder in sys.meta_path)))
    package = type(sys)("yaml")
    package.__spec__, package.__file__ = spec, spec.origin
    package.__path__ = list(spec.submodule_search_locations or ())
    sys.modules["yaml"] = package
    import yaml.error
    import yaml.events

    wrong_character = type("ReaderError", (_ReaderError, yaml.error.YAMLError), {})
    for module in (*_ERRORS, *_OTHERS):
        error = wrong_character if module == "reader" else yaml.error.MarkedYAMLError
        setattr(package, module, _Later(error if module in _ERRORS else None))
    import yaml._yaml

    for module in (*_ERRORS, *_OTHERS):
        delattr(package, module)
    package.__class__ = _Part
    return yaml._yaml, yaml.events, yaml.error


_extension, events, _error = _load()
CParser = _extension.CParser
CEmitter = _extension.CEmitter
YAMLError = _error.YAMLError
MarkedYAMLError = _error.MarkedYAMLError

AliasEvent = events.AliasEvent
DocumentStartEvent = events.DocumentStartEvent
MappingEndEvent = events.MappingEndEvent
MappingStartEvent = events.MappingStartEvent
ScalarEvent = events.ScalarEvent
SequenceEndEvent = events.SequenceEndEvent
SequenceStartEvent = events.SequenceStartEvent
StreamEndEvent = events.StreamEndEvent


def tokens_of(text: str) -> Iterator[Any]:
    """Yield the tokens of a text."""
    import yaml.tokens  # noqa: F401 (gives the extension their classes)

    parser = CParser(text)
    while parser.check_token():
        yield parser.get_token()
