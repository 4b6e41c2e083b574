"""References to other objects."""

from pydantic import Field

from jobspec.models.base import Model


class LocalObjectReference(Model):
    """An object in the same namespace, by name."""

    ATOMIC = True

    name: str = Field("", description="name of the object")


class TypedLocalObjectReference(Model):
    """An object of any kind in the same namespace."""

    ATOMIC = True

    api_group: str | None = Field(None, description="API group of the object; left out for the core group")
    kind: str = Field(description="kind of the object")
    name: str = Field(description="name of the object")


class TypedObjectReference(Model):
    """An object of any kind, possibly in another namespace."""

    api_group: str | None = Field(None, description="API group of the object; left out for the core group")
    kind: str = Field(description="kind of the object")
    name: str = Field(description="name of the object")
    namespace: str | None = Field(None, description="its namespace (alpha): another one has to allow it with a ReferenceGrant")
