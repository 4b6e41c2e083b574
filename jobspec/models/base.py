"""The declaration language of the models: a pydantic base, and facts that stand next to a field.

A field is one line: its Python type, the facts about it, a default and a description::

    env: Annotated[list[EnvVar] | None, Keyed("name")] = Field(None, description="variables of the container")

Everything else (structural schema, JSON Schema, CRD) is derived from these lines by `jobspec.schemas`.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

T = TypeVar("T")


class Model(BaseModel):
    """A Kubernetes object or a part of one: strict, frozen, unknown fields refused, Kubernetes' names as aliases."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    #: The whole object is replaced by a server-side apply, never merged (`x-kubernetes-map-type: atomic`).
    ATOMIC: ClassVar[bool] = False


@dataclass(frozen=True)
class Format:
    """OpenAPI's format of a scalar: `int32`, `int64` or `date-time`."""

    name: Literal["int32", "int64", "date-time"]


@dataclass(frozen=True)
class Pattern:
    """A regular expression (RE2) that a string has to match somewhere."""

    regex: str


@dataclass(frozen=True)
class Quantities:
    """Marks the type that is an integer or a quantity's text."""


@dataclass(frozen=True, init=False)
class Keyed:
    """A list whose items are told apart by *keys*: the merge key of overlays and the CRD's list-map keys in one."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)


@dataclass(frozen=True, init=False)
class Merge:
    """A list that overlays merge by *keys* although the CRD does not declare them."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)


@dataclass(frozen=True)
class ListType:
    """How the server treats a list: `atomic` (one value) or `set` (no item twice)."""

    name: Literal["atomic", "set"]


@dataclass(frozen=True)
class MapType:
    """How the server treats a map of free keys: `atomic` (one value)."""

    name: Literal["atomic"]


@dataclass(frozen=True)
class Rule:
    """A CEL rule of the CRD (`x-kubernetes-validations`) with its message."""

    rule: str
    message: str


@dataclass(frozen=True)
class Since:
    """A fact that holds from a *release* of *component* on; before it, the field does not exist."""

    component: str
    release: str


@dataclass(frozen=True)
class Scale:
    """The scale subresource: where a client reads and writes the number of replicas."""

    replicas: str
    status_replicas: str
    selector: str


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    type: str
    path: str


@dataclass(frozen=True)
class Resource:
    """What the API server has to know about a kind besides its schema."""

    group: str
    version: str
    kind: str
    plural: str
    component: str
    """Whose releases decide about the schema: an operator, `kubernetes`, or `jobspec` itself."""
    status: bool = False
    scale: Scale | None = None
    columns: tuple[Column, ...] = ()


QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"

Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1), Format("int32")]
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1), Format("int64")]
Time = Annotated[str, Format("date-time")]
IntOrString = int | str
Quantity = Annotated[int | Annotated[str, Field(pattern=QUANTITY)], Quantities()]
AtomicList = Annotated[list[T], ListType("atomic")]
SetList = Annotated[list[T], ListType("set")]
AtomicDict = Annotated[dict[str, T], MapType("atomic")]
