"""Environment variables of a container from whole ConfigMaps and Secrets."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import POD_DEFAULT, MapType, Model, Pointer


class ConfigMapEnvSource(Model):
    """All keys of a ConfigMap."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field("", description="name of the ConfigMap, in the pod's own namespace")
    optional: Pointer[bool] = Field(None, description="start the container even when the ConfigMap is missing")


class SecretEnvSource(Model):
    """All keys of a Secret."""

    FACTS = (MapType("atomic"),)

    name: Annotated[str, POD_DEFAULT] = Field("", description="name of the Secret, in the pod's own namespace")
    optional: Pointer[bool] = Field(None, description="start the container even when the Secret is missing")


class EnvFromSource(Model):
    """One variable for each key of a ConfigMap or a Secret; exactly one source."""

    prefix: str | None = Field(None, description="text to put before each key")
    config_map_ref: ConfigMapEnvSource | None = Field(None, description="the ConfigMap")
    secret_ref: SecretEnvSource | None = Field(None, description="the Secret")
