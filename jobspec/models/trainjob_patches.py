"""Changes of a TrainJob to its runtime: `runtimePatches`, from release 2.2 on.

The overrides of earlier releases use the same patches of containers, pods and pod templates.
"""

from typing import Annotated

from annotated_types import Ge, MaxLen, MinLen
from pydantic import Field

from jobspec import cel_rules
from jobspec.models.base import AtomicList, Int64, Keyed, Model, Pointer, Since, Time, Validation
from jobspec.models.meta import EmbeddedMeta
from jobspec.models.pod.affinity import Affinity
from jobspec.models.pod.container import VolumeMount
from jobspec.models.pod.env import EnvVar
from jobspec.models.pod.reference import LocalObjectReference
from jobspec.models.pod.scheduling import PodSchedulingGate, Toleration
from jobspec.models.pod.security import PodSecurityContext, SecurityContext
from jobspec.models.pod.volume import Volume

IMMUTABLE = Validation(cel_rules.UNCHANGED.text, "field is immutable")

Name = Annotated[str, MinLen(1), MaxLen(253)]
#: A name whose length the first releases did not limit.
OldName = Annotated[str, Since("trainer", "2.1", MinLen(1)), Since("trainer", "2.2", MaxLen(253))]
EnvVars = Annotated[list[EnvVar], Keyed("name"), Since("trainer", "2.2", MaxLen(128))]


class ContainerPatch(Model):
    """Additions to a container that the runtime has; its image, command and resources are not among them."""

    name: OldName = Field(description="name of the container in the runtime, such as `node`; a new one cannot be added")
    env: EnvVars | None = Field(None, description="variables; refused for `node` and the initializers, which have an `env` of their own")
    volume_mounts: Annotated[list[VolumeMount] | None, Keyed("name"), Since("trainer", "2.2", MaxLen(128))] = Field(
        None, description="mounts; `name` is the key, not `mountPath`: a second mount of one volume needs another entry around it"
    )
    security_context: Annotated[SecurityContext | None, Since("trainer", "2.2")] = Field(
        None, description="user, privileges and confinement; merged field by field"
    )


ContainerPatches = Annotated[list[ContainerPatch], Keyed("name"), Since("trainer", "2.2", MaxLen(64), IMMUTABLE)]


class PodSpecPatch(Model):
    """The fields of pods that a job can change; all others, such as `priorityClassName`, only a runtime can set."""

    service_account_name: Annotated[str | None, Since("trainer", "2.2", MaxLen(253), IMMUTABLE)] = Field(
        None, description="ServiceAccount that the pods act as, the runtime's by default"
    )
    node_selector: dict[str, str] | None = Field(None, description="labels that the nodes have; merged with the runtime's by key")
    affinity: Annotated[Affinity | None, Since("trainer", "2.1")] = Field(
        None, description="nodes and neighbours that the pods require or like; a list in it replaces the runtime's"
    )
    tolerations: Annotated[AtomicList[Toleration] | None, Since("trainer", "2.2", MaxLen(128))] = Field(
        None, description="taints that do not keep the pods away; the list replaces the runtime's, so repeat those for GPUs"
    )
    scheduling_gates: Annotated[list[PodSchedulingGate] | None, Keyed("name"), Since("trainer", "2.2", MaxLen(16))] = Field(
        None, description="gates that hold the pods back"
    )
    image_pull_secrets: Annotated[
        list[LocalObjectReference] | None, Since("trainer", "2.1"), Keyed("name"), Since("trainer", "2.2", MaxLen(64), IMMUTABLE)
    ] = Field(None, description="Secrets to pull images with, besides the runtime's")
    security_context: Annotated[PodSecurityContext | None, Since("trainer", "2.2"), IMMUTABLE] = Field(
        None, description="users, groups and confinement of all containers; merged field by field"
    )
    termination_grace_period_seconds: Annotated[Pointer[Int64], Since("trainer", "2.3"), Ge(0), IMMUTABLE] = Field(
        None, description="seconds from the stop signal to the kill, 30 by default: the time for a last checkpoint"
    )
    init_containers: ContainerPatches | None = Field(None, description="additions to init containers that the runtime has")
    containers: ContainerPatches | None = Field(None, description="additions to containers that the runtime has")
    volumes: Annotated[list[Volume] | None, Keyed("name"), Since("trainer", "2.2", MaxLen(128), IMMUTABLE)] = Field(
        None, description="volumes to mount; never a name of the runtime's with another source: both sources would stay"
    )


class PodTemplatePatch(Model):
    """Changes to the pods of one replicated job."""

    metadata: EmbeddedMeta | None = Field(None, description="labels and annotations to add to the pods; nothing else of it counts")
    spec: PodSpecPatch | None = Field(None, description="changes to what the pods are and where they run")


class JobSpecPatch(Model):
    """Changes to the specification of one replicated job: only to its pods."""

    template: PodTemplatePatch | None = Field(None, description="changes to the pods")


class JobTemplatePatch(Model):
    """Changes to the Jobs of one replicated job."""

    metadata: EmbeddedMeta | None = Field(None, description="labels and annotations to add to the Jobs; nothing else of it counts")
    spec: JobSpecPatch | None = Field(None, description="changes to the pods of the Jobs")


class ReplicatedJobPatch(Model):
    """Changes to one replicated job of the runtime."""

    name: Name = Field(description="name of the replicated job in the runtime: usually `node` for the training; an unknown one is refused")
    template: JobTemplatePatch | None = Field(None, description="changes to its Jobs and pods")


class JobSetSpecPatch(Model):
    """Changes to what the JobSet runs."""

    replicated_jobs: Annotated[list[ReplicatedJobPatch] | None, Keyed("name"), MaxLen(100)] = Field(
        None, description="changes to the runtime's replicated jobs, by name"
    )


class JobSetTemplatePatch(Model):
    """Changes to the JobSet that the runtime makes."""

    metadata: EmbeddedMeta | None = Field(
        None, description="labels and annotations to add to the JobSet, such as Volcano's queue; nothing else of it counts"
    )
    spec: JobSetSpecPatch | None = Field(None, description="changes to what it runs")


class TrainingRuntimeSpecPatch(Model):
    """Changes to the specification of the runtime."""

    template: JobSetTemplatePatch | None = Field(None, description="changes to the JobSet")


class RuntimePatch(Model):
    """The changes of one manager; those later in the list override earlier ones."""

    manager: Annotated[Name, IMMUTABLE] = Field(description="who wants them, as `example.com/name`; without a domain and `/` it is refused")
    time: Time | None = Field(None, description="when the entry last changed; set by the operator")
    training_runtime_spec: TrainingRuntimeSpecPatch | None = Field(
        None, description="the changes; on update only while the job is suspended and no pod of it is active"
    )
