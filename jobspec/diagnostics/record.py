"""Records: values with the attributes that their class names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self, dataclass_transform

else:

    def dataclass_transform(**_: bool) -> Callable[[type], type]:
        """Mark a class for type checkers; at run time, do nothing."""
        return lambda each: each


@dataclass_transform(frozen_default=True)
class Record:
    """A value with the attributes that its class names: a frozen data class, without the milliseconds that loading `dataclasses` takes.

    Attributes without a default are required, those after `_: KW_ONLY` are given by name. A default is one value that all records
    share, so its type should be one that cannot be changed: `Sequence`, `Mapping`. Classes of records have no subclasses.
    """

    def __init__(self, *values: Any, **named: Any) -> None:
        """Replace this method by one with the attributes as parameters when the first value of a class is made."""
        own = type(self)
        own.__init__ = made = _init_of(own)  # type: ignore[method-assign]  # of a class that has none of its own
        made(self, *values, **named)

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    def changed(self, **named: Any) -> Self:
        """Return the same record with other values of some attributes."""
        return type(self)(**{**self.__dict__, **named})


def _init_of(own: type) -> Callable[..., None]:
    """Write `__init__` for the annotated attributes of a class. To exec it is slow once, and makes every value as fast as by hand."""
    names = own.__annotations__
    parameters = ["*" if name == "_" else f"{name}=own.{name}" if hasattr(own, name) else name for name in names]
    lines = [f"self.{name} = {name}" for name in names if name != "_"]
    made: dict[str, Callable[..., None]] = {}
    exec(  # noqa: S102 (the names of attributes alone)
        f"def __init__(self, {', '.join(parameters)}):\n    {'; '.join(lines)}", {"own": own}, made
    )
    return made["__init__"]
