"""Environment variables of a container."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import POD_DEFAULT, GoPointer, MapType, Model, OneOf, Pointer, Quantity, Since


class ConfigMapKeySelector(Model):
    """One key of a ConfigMap."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field("", description="name of the ConfigMap, in the pod's own namespace")
    key: str = Field(description="the key to take")
    optional: Pointer[bool] = Field(None, description="start the container even when the ConfigMap or the key is missing")


class SecretKeySelector(Model):
    """One key of a Secret."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field("", description="name of the Secret, in the pod's own namespace")
    key: str = Field(description="the key to take")
    optional: Pointer[bool] = Field(None, description="start the container even when the Secret or the key is missing")


class ObjectFieldSelector(Model):
    """A field of the pod itself."""

    FACTS = (MapType("atomic"),)

    api_version: str | None = Field(None, description="API version that the path is written in, `v1` by default")
    field_path: str = Field(description="path of the field, such as `metadata.name`")


class FileKeySelector(Model):
    """A variable from a file that a container wrote into a volume."""

    FACTS = (MapType("atomic"),)

    volume_name: str = Field(description="the volume that holds the file")
    path: str = Field(description="path of the file inside the volume, relative and without `..`")
    key: str = Field(description="the variable to take from the file")
    optional: Annotated[bool, GoPointer()] = Field(False, description="start the container even when the file or the key is missing")


class ResourceFieldSelector(Model):
    """A resource limit or request of a container."""

    FACTS = (MapType("atomic"),)

    container_name: str | None = Field(None, description="container that has the resource; required in volumes")
    resource: str = Field(description="the resource, such as `limits.cpu`")
    divisor: Quantity | None = Field(None, description="the unit of the exposed number, 1 by default")


class EnvVarSource(Model):
    """Where the value of a variable comes from; exactly one source."""

    FACTS = (OneOf(),)

    field_ref: ObjectFieldSelector | None = Field(None, description="a field of the pod")
    resource_field_ref: ResourceFieldSelector | None = Field(None, description="a limit or request of a container")
    config_map_key_ref: ConfigMapKeySelector | None = Field(None, description="a key of a ConfigMap")
    secret_key_ref: SecretKeySelector | None = Field(None, description="a key of a Secret")
    file_key_ref: Annotated[FileKeySelector | None, Since("kubernetes", "0.34")] = Field(None, description="a key of a file in a volume")


class EnvVar(Model):
    """A variable in the environment of a container."""

    FACTS = (OneOf("value", "valueFrom"),)

    name: str = Field(description="name of the variable")
    value: str | None = Field(None, description="its text, in which `$(NAME)` stands for an earlier variable")
    value_from: EnvVarSource | None = Field(None, description="where to take the value from, instead of `value`")
