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
    """A frozen value with the attributes that its class names.

    It is a data class without the milliseconds that loading `dataclasses` takes.

    Attributes without a default are required, those after `_: KW_ONLY` are given by name. A default is one value that all records
    share, so its type should be one that cannot be changed: `Sequence`, `Mapping`. A subclass has no attributes of its own.
    """

    def __init_subclass__(cls) -> None:
        if "__init__" not in cls.__dict__ and "__annotations__" in cls.__dict__:
            cls.__init__ = _init_of(cls)  # type: ignore[method-assign]  # of a class that has none of its own

    def __eq__(self, other: object) -> bool:
        return self.__dict__ == other.__dict__ if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"

    def changed(self, **named: Any) -> Self:
        """Return the same record with other values of some attributes."""
        made = object.__new__(type(self))
        made.__dict__ = {**self.__dict__, **named}
        if len(made.__dict__) > len(self.__dict__):
            raise TypeError(f"changed() got an unexpected keyword argument {min(named.keys() - self.__dict__.keys())!r}")
        return made


def _keep_arguments(self: Record) -> None:
    self.__dict__ = {**locals()}
    del self.__dict__["self"]


def _init_of(own: type) -> Callable[..., None]:
    """Return `__init__` for the annotated attributes of a class: the code above, with the attributes as further parameters.

    To compile such a function from a text, as `dataclasses` does, takes twenty times as long: for the records of a start, 4 percent of it.
    """
    names = list(own.__annotations__)
    at = names.index("_") if "_" in names else len(names)
    positional, named = names[:at], names[at + 1 :]
    variables, given = ("self", *positional, *named), vars(own)
    code = _keep_arguments.__code__.replace(
        co_varnames=variables,
        co_nlocals=len(variables),
        co_argcount=1 + len(positional),
        co_kwonlyargcount=len(named),
        co_qualname=f"{own.__name__}.__init__",
    )
    function: Any = type(_keep_arguments)  # `types.FunctionType`, without the time that loading `types` takes
    made: Callable[..., None] = function(code, {}, "__init__", tuple([given[name] for name in positional if name in given]))
    if named:
        made.__kwdefaults__ = {name: given[name] for name in named if name in given}
    return made
