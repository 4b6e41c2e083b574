"""The declaration language of the models: a pydantic base, and facts that stand next to a field.

A field is one line: its Python type, the facts about it, whether it can be left out, and a description::

    name: str = Field(description="name, unique in the pod")
    env: Annotated[list[EnvVar] | None, Keyed("name")] = optional_field("variables of the container")

Limits are those of annotated_types (`Ge`, `MinLen`, `MaxLen`), which pydantic enforces. A fact that does not hold in all releases is
inside `Since` or `Until`, where pydantic does not see it: a model accepts what any release accepts::

    command: Annotated[list[str] | None, Since("trainer", "2.2", MaxLen(128))] = optional_field("program to start")

Everything else (structural schema, JSON Schema, CRD) is derived from these lines by `jobspec.schemas`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

T = TypeVar("T")


class Model(BaseModel):
    """A Kubernetes object or a part of one, strict and frozen, without unknown fields.

    The aliases of fields are Kubernetes' names.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    #: Facts about all objects of the model.
    FACTS: ClassVar[tuple[object, ...]] = ()

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """What is set: a pod has some hundred fields, and few of them are."""
        yield from ((name, value) for name, value in super().__repr_args__() if value is not None)

    def model_post_init(self, _: Any, /) -> None:
        """What the model itself says, its version and kind, counts as set, so that no dump leaves it out."""
        if hasattr(type(self), "RESOURCE"):
            self.model_fields_set.update(("api_version", "kind"))


def optional_field(description: str) -> Any:
    """Declare an optional field. Its default is None.

    Type checkers see the default, as they would not in a call of `Field` without `default`.
    """
    return Field(default=None, description=description)


def constant(what: str, value: str) -> Any:
    """Declare a field with one value, its default. *what* it is: `kind of the object`."""
    return Field(default=value, description=f"{what}: `{value}`")


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
    """A quantity: an integer or text."""


@dataclass(frozen=True, init=False)
class Merge:
    """A list that overlays merge by *keys*, although it is no list map in the CRD."""

    keys: tuple[str, ...]

    def __init__(self, *keys: str) -> None:
        object.__setattr__(self, "keys", keys)


class Keyed(Merge):
    """A list map with *keys* in the CRD; overlays merge it by the same keys."""


@dataclass(frozen=True, init=False)
class OneOf:
    """An object that can have only one of *fields*, by their names in YAML.

    If no fields are given, the object can have only one field beside `name`.
    """

    fields: tuple[str, ...]

    def __init__(self, *fields: str) -> None:
        object.__setattr__(self, "fields", fields)


@dataclass(frozen=True)
class ListType:
    """How the server treats a list: `atomic` (one value) or `set` (no item twice)."""

    name: Literal["atomic", "set"]


@dataclass(frozen=True)
class MapType:
    """The way in which a server-side apply treats an object or a map of free keys.

    `atomic`: replaced whole; `granular`: merged, as by default.
    """

    name: Literal["atomic", "granular"]


@dataclass(frozen=True)
class Validation:
    """A CEL rule of the CRD (`x-kubernetes-validations`) with its message."""

    rule: str
    message: str


@dataclass(frozen=True)
class Choices:
    """The choices of an enumeration, if some releases lack choices of the annotation."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class Type:
    """The type in some releases, if that is narrower than the annotation."""

    annotation: Any


@dataclass(frozen=True)
class Nested:
    """A value of the model that contains it.

    Schemas do not go on inside it; checks of CRDs do that themselves.
    """


@dataclass(frozen=True)
class Required:
    """The field is required."""


@dataclass(frozen=True)
class Defaulted:
    """The CRD has the default of the field.

    In other releases, only the operator and pydantic assume the default.
    """


@dataclass(frozen=True, init=False)
class _InReleases:
    """*facts* that hold in some releases of *component* only."""

    component: str
    release: str
    facts: tuple[object, ...]
    use: str

    def __init__(self, component: str, release: str, *facts: object, use: str = "") -> None:
        for name, value in (("component", component), ("release", release), ("facts", facts), ("use", use)):
            object.__setattr__(self, name, value)


class Since(_InReleases):
    """*facts* hold from a *release* of *component* on.

    Without facts, the field exists from then on.
    """


class Until(_InReleases):
    """*facts* hold before a *release* of *component*.

    Without facts, the field was removed then, and *use* replaces it.
    """


@dataclass(frozen=True, init=False)
class InCustomKinds:
    """*facts* hold in kinds that a CRD defines, and not in kinds of the API server itself."""

    facts: tuple[object, ...]

    def __init__(self, *facts: object) -> None:
        object.__setattr__(self, "facts", facts)


@dataclass(frozen=True)
class Unset:
    """The value that Go marshals for an absent field, if it does not follow from `required`.

    `zero` for a struct that is no pointer, `null` for a pointer without `omitempty`, `nothing` for a required field that is a pointer.
    """

    written: Literal["zero", "null", "nothing"]


@dataclass(frozen=True)
class GoPointer:
    """A string, number, boolean or quantity that is a pointer in Go.

    Its zero is another value than none. No other type needs this fact.
    """


@dataclass(frozen=True)
class Scale:
    """The scale subresource: where a client reads and writes the number of replicas."""

    replicas: str
    status_replicas: str
    selector: str

    @property
    def paths(self) -> dict[str, str]:
        """Return the paths under their names in a CRD."""
        return {"specReplicasPath": self.replicas, "statusReplicasPath": self.status_replicas, "labelSelectorPath": self.selector}


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    type: str
    path: str
    description: str = ""
    priority: int = 0
    """Above 0, it is shown with `--output wide` only."""


@dataclass(frozen=True)
class Resource:
    """A kind as the API server registers it: versions, names, scope, subresources and columns."""

    group: str
    version: str
    kind: str
    plural: str
    component: str
    """The component whose releases have the schema: an operator, `kubernetes`, or `jobspec` itself."""
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    status: bool = False
    scale: Scale | None = None
    columns: tuple[Column | Since | Until, ...] = ()
    short_names: tuple[str, ...] = ()
    selectable: tuple[str | Since | Until, ...] = ()
    """Paths by which clients can select objects, as in `kubectl get --field-selector`, besides name and namespace."""
    older: tuple[str, ...] = ()
    """Versions that are served besides `version`. Facts of some versions only are `Since` or `Until` of their stem: `("v1beta", "2")`."""
    older_warning: str = ""
    """What the server says to whoever uses an older version, which is deprecated; nothing where it is not."""

    @property
    def versions(self) -> tuple[str, ...]:
        """Return all versions, oldest first."""
        return (*self.older, self.version)

    @property
    def api_version(self) -> str:
        """Group and newest version as manifests write them."""
        return self.api_version_of(self.version)

    def api_version_of(self, version: str) -> str:
        """Group and version as manifests write them."""
        return f"{self.group}/{version}".lstrip("/")


QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"

Int32 = Annotated[int, Ge(-(2**31)), Le(2**31 - 1), Format("int32")]
Int64 = Annotated[int, Ge(-(2**63)), Le(2**63 - 1), Format("int64")]
Time = Annotated[str, Format("date-time")]
Bytes = Annotated[str, Format("byte")]
IntOrString = int | str
Quantity = Annotated[int | Annotated[str, Field(pattern=QUANTITY)], Quantities()]
Pointer = Annotated[T | None, GoPointer()]
AtomicList = Annotated[list[T], ListType("atomic")]
SetList = Annotated[list[T], ListType("set")]
AtomicDict = Annotated[dict[str, T], MapType("atomic")]

# Since 0.31, Kubernetes' Go types declare list types and most defaults of a pod.
PodList = Annotated[list[T], Since("kubernetes", "0.31", ListType("atomic"))]
POD_DEFAULT = Since("kubernetes", "0.31", Defaulted())


def pod_keys(*keys: str) -> Since:
    """Return the list-map keys of a list in a pod; overlays merge by them in all releases."""
    return Since("kubernetes", "0.31", Keyed(*keys))
