"""References to other objects."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import POD_DEFAULT, MapType, Model, Pointer, Unset


class LocalObjectReference(Model):
    """An object in the same namespace, by name."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field("", description="name of the object")


class TypedLocalObjectReference(Model):
    """An object of any kind in the same namespace."""

    FACTS = (MapType("atomic"),)

    api_group: Annotated[Pointer[str], Unset("null")] = Field(None, description="API group of the object; left out for the core group")
    kind: str = Field(description="kind of the object")
    name: str = Field(description="name of the object")


class TypedObjectReference(Model):
    """An object of any kind, possibly in another namespace."""

    api_group: Annotated[Pointer[str], Unset("null")] = Field(None, description="API group of the object; left out for the core group")
    kind: str = Field(description="kind of the object")
    name: str = Field(description="name of the object")
    namespace: Pointer[str] = Field(None, description="its namespace (alpha): another one has to allow it with a ReferenceGrant")
