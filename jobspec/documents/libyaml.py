"""PyYAML's C parser and emitter, imported without compiling the regular expressions of their Python twins.

`import yaml` compiles four expressions that only the pure Python reader, resolver and constructor use; on a cold start
that is half of what it costs. Here they are compiled when first used, which for jobspec is never.
"""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _LatePattern:
    """A regular expression that is compiled when first used."""

    def __init__(self, pattern: Any, flags: Any = 0) -> None:
        self._arguments = pattern, flags

    def __getattr__(self, name: str) -> Any:
        self.__dict__.update(_pattern=re.compile(*self._arguments))
        return getattr(self._pattern, name)


def _import_yaml() -> None:
    if "yaml" in sys.modules:
        return
    compile_now = re.compile
    re.compile = _LatePattern  # type: ignore[assignment]
    try:
        import yaml  # noqa: F401 (its modules are imported below)
    finally:
        re.compile = compile_now


_import_yaml()

from yaml import events as events  # noqa: E402
from yaml._yaml import CEmitter as CEmitter  # noqa: E402
from yaml._yaml import CParser as CParser  # noqa: E402
from yaml.error import MarkedYAMLError as MarkedYAMLError  # noqa: E402
from yaml.error import YAMLError as YAMLError  # noqa: E402
