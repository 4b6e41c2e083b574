"""Metadata of objects and of embedded templates, and the selection of objects by label."""

from typing import Annotated, Any, Literal

from annotated_types import Ge, MaxLen, MinLen
from pydantic import Field

from jobspec.models.base import AtomicList, Int64, Keyed, MapType, Model, Pattern, PodList, Pointer, SetList, Time, optional_field


class OwnerReference(Model):
    """An object that this one belongs to and disappears with."""

    FACTS = (MapType("atomic"),)

    api_version: str = Field(description="API version of the owner, such as `kubeflow.org/v1`")
    kind: str = Field(description="kind of the owner")
    name: str = Field(description="name of the owner, in the same namespace or cluster-scoped")
    uid: str = Field(description="UID of the owner; garbage collection believes it, not the name")
    controller: Pointer[bool] = optional_field("the owner manages this object; at most one owner may say so")
    block_owner_deletion: Pointer[bool] = optional_field("foreground deletion of the owner waits until this object is gone")


class ManagedFieldsEntry(Model):
    """The fields that one manager set, kept by the server for server-side apply."""

    manager: str | None = optional_field("who set the fields, such as `kubectl` or a controller's name")
    operation: str | None = optional_field("how they were set: `Apply` or `Update`")
    api_version: str | None = optional_field("API version of the object that the field names belong to")
    time: Time | None = optional_field("when the manager last added or changed one of them")
    fields_type: str | None = optional_field("format of the field set; `FieldsV1` is the only one")
    fields_v1: Any = optional_field("the field set, nested keys such as `f:spec` and `k:{...}`")
    subresource: str | None = optional_field("subresource that was written, such as `status`; empty for the object itself")


class ObjectMeta(Model):
    """Metadata of an object; the server sets the fields from `creationTimestamp` on."""

    name: str | None = optional_field("name, unique for the kind in its namespace; it cannot change")
    generate_name: str | None = optional_field("prefix to which the server adds five characters when there is no `name`")
    namespace: str | None = optional_field("namespace of the object; the client's current one by default")
    labels: dict[str, str] | None = optional_field("keys and values to select the object by; a value has at most 63 characters")
    annotations: dict[str, str] | None = optional_field("keys and free text for tools and people, 256 KiB in all")
    finalizers: SetList[str] | None = optional_field("tasks before the end: a deleted object stays until this is empty")
    owner_references: Annotated[list[OwnerReference] | None, Keyed("uid")] = optional_field("owners; it goes once all are gone")
    creation_timestamp: Time | None = optional_field("when the server stored the object first; set by the server")
    deletion_timestamp: Time | None = optional_field("when it goes away, once deletion was asked for; set by the server")
    deletion_grace_period_seconds: Pointer[Int64] = optional_field("seconds it gets to end after the deletion; set by the server")
    generation: Int64 | None = optional_field("number of the desired state, counted by the server")
    resource_version: str | None = optional_field("version of the stored object; an update that carries an old one is refused")
    self_link: str | None = optional_field("deprecated: the server does not fill it in any more")
    uid: str | None = optional_field("identity of this very object, never reused; set by the server")
    managed_fields: AtomicList[ManagedFieldsEntry] | None = optional_field("who set which fields; kept by the server")


class EmbeddedMeta(Model):
    """The metadata that a template inside of another object may carry."""

    name: str | None = optional_field("ignored: objects made from the template get names of their own")
    namespace: str | None = optional_field("ignored: objects are made in the namespace of the object around the template")
    labels: dict[str, str] | None = optional_field("labels of what is made from the template")
    annotations: dict[str, str] | None = optional_field("annotations of what is made from the template")
    finalizers: list[str] | None = optional_field("finalizers of what is made from the template")


class LabelSelectorRequirement(Model):
    """A condition on one label."""

    key: str = Field(description="key of the label")
    operator: str = Field(description="`In`, `NotIn`, `Exists` or `DoesNotExist`")
    values: PodList[str] | None = optional_field("the values for `In` and `NotIn`; none for the other operators")


class LabelSelector(Model):
    """Objects that meet all conditions on labels; the empty selector selects all objects."""

    FACTS = (MapType("atomic"),)

    match_labels: dict[str, str] | None = optional_field("labels that the object has, with just these values")
    match_expressions: PodList[LabelSelectorRequirement] | None = optional_field("further conditions on labels")


#: A word in CamelCase, with or without a domain: `Complete`, `example.com/Ready`.
QUALIFIED_NAME = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
_CONDITION_REASON = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


class Condition(Model):
    """A state that an object is or was in."""

    type: Annotated[str, MaxLen(316), Pattern(QUALIFIED_NAME)] = Field(description="the state, a word such as `Complete`")
    status: Literal["True", "False", "Unknown"] = Field(description="whether the object is in it: `True`, `False` or `Unknown`")
    reason: Annotated[str, MinLen(1), MaxLen(1024), Pattern(_CONDITION_REASON)] = Field(description="why, as a word in CamelCase")
    message: Annotated[str, MaxLen(32768)] = Field(description="why, as a sentence; it may be empty")
    last_transition_time: Time = Field(description="when `status` last changed")
    observed_generation: Annotated[Int64, Ge(0)] | None = optional_field("`metadata.generation` that the condition was set for")
