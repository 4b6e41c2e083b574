"""Records: values with the attributes that their class names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, dataclass_transform

else:

    def dataclass_transform() -> Callable[[type], type]:
        """What type checkers alone know."""
        return lambda each: each


@dataclass_transform()
class Record:
    """A value with the attributes that its class names: a data class, without the milliseconds that a start takes to load these."""

    def __init__(self, *values: Any, **named: Any) -> None:
        if values:
            named.update(zip(self.__annotations__, values, strict=False))
        self.__dict__ = named

    def changed(self, **named: Any) -> Self:
        """The same with other values of some attributes."""
        return type(self)(**{**self.__dict__, **named})
