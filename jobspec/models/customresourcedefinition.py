"""CustomResourceDefinition (`apiextensions.k8s.io/v1`): a custom kind of a cluster."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from jobspec.models.base import AtomicList, Bytes, Int32, Int64, Keyed, Model, Nested, Resource, Time, constant, optional_field
from jobspec.models.meta import ObjectMeta


class ExternalDocumentation(Model):
    """Where more is written."""

    description: str | None = optional_field("what is written there")
    url: str | None = optional_field("where it is")


class ValidationRule(Model):
    """A rule in CEL on the value, as `self`."""

    rule: str = Field(description="an expression that has to be true; with `oldSelf` in it, it holds on updates")
    message: str | None = optional_field("what to say when it is not, in one line; needed where the rule has several")
    message_expression: str | None = optional_field("an expression for the text to say, before `message`")
    reason: str | None = optional_field("`FieldValueInvalid`, `FieldValueForbidden`, `FieldValueRequired` or `FieldValueDuplicate`")
    field_path: str | None = optional_field("what the rule is about, such as `.spec.replicas`, below the value")
    optional_old_self: bool | None = optional_field("`oldSelf` is an optional, so that the rule holds on a create, too")


class JSONSchemaProps(Model):
    """A structural schema: keywords of OpenAPI 3.0, and Kubernetes' extensions."""

    id: str | None = optional_field("not supported")
    schema_: str | None = Field(default=None, alias="$schema", description="not supported")
    ref: str | None = Field(default=None, alias="$ref", description="not supported")
    description: str | None = optional_field("what the value means; `kubectl explain` shows it")
    type: str | None = optional_field("`object`, `array`, `string`, `integer`, `number` or `boolean`")
    format: str | None = optional_field(
        "form of a text or size of a number, such as `date-time` or `int32`; unknown ones count for nothing"
    )
    title: str | None = optional_field("a short name for the value")
    default: Any = optional_field("the value if the field is absent")
    maximum: float | None = optional_field("the largest number")
    exclusive_maximum: bool | None = optional_field("the number has to be smaller than `maximum`")
    minimum: float | None = optional_field("the smallest number")
    exclusive_minimum: bool | None = optional_field("the number has to be larger than `minimum`")
    max_length: Int64 | None = optional_field("the maximum length of a string")
    min_length: Int64 | None = optional_field("the minimum length of a string")
    pattern: str | None = optional_field("a regular expression (RE2) that a text has to match somewhere")
    max_items: Int64 | None = optional_field("the maximum number of items")
    min_items: Int64 | None = optional_field("the minimum number of items")
    unique_items: bool | None = optional_field("cannot be true; `x-kubernetes-list-type: set` does it")
    multiple_of: float | None = optional_field("the number has to be a multiple of this")
    enum: AtomicList[Any] | None = optional_field("the allowed values")
    max_properties: Int64 | None = optional_field("the maximum number of fields")
    min_properties: Int64 | None = optional_field("the minimum number of fields")
    required: AtomicList[str] | None = optional_field("the required fields")
    items: Annotated["JSONSchemaProps | list[JSONSchemaProps]", Nested()] | None = optional_field("the schema of each item")
    all_of: Annotated[list["JSONSchemaProps"], Nested()] | None = optional_field("schemas that all have to match")
    one_of: Annotated[list["JSONSchemaProps"], Nested()] | None = optional_field("schemas, of which exactly one has to match")
    any_of: Annotated[list["JSONSchemaProps"], Nested()] | None = optional_field("schemas, of which at least one has to match")
    not_: Annotated["JSONSchemaProps", Nested()] | None = Field(default=None, alias="not", description="a schema that must not match")
    properties: Annotated[dict[str, "JSONSchemaProps"], Nested()] | None = optional_field("the schemas of an object's fields")
    additional_properties: Annotated["JSONSchemaProps | bool", Nested()] | None = optional_field("the schema of a map's values")
    pattern_properties: Annotated[dict[str, "JSONSchemaProps"], Nested()] | None = optional_field("not supported")
    dependencies: Annotated[dict[str, "JSONSchemaProps | list[str]"], Nested()] | None = optional_field("not supported")
    additional_items: Annotated["JSONSchemaProps | bool", Nested()] | None = optional_field("not supported")
    definitions: Annotated[dict[str, "JSONSchemaProps"], Nested()] | None = optional_field("not supported")
    external_docs: ExternalDocumentation | None = optional_field("where more is written")
    example: Any = optional_field("an example of a value")
    nullable: bool | None = optional_field("null is allowed; otherwise it is dropped")
    preserve_unknown_fields: bool | None = Field(
        default=None,
        alias="x-kubernetes-preserve-unknown-fields",
        description="fields that the schema does not name are kept; true or left out",
    )
    embedded_resource: bool | None = Field(
        default=None, alias="x-kubernetes-embedded-resource", description="the value is an object with `apiVersion`, `kind` and `metadata`"
    )
    int_or_string: bool | None = Field(default=None, alias="x-kubernetes-int-or-string", description="the value is an integer or a text")
    list_map_keys: AtomicList[str] | None = Field(
        default=None, alias="x-kubernetes-list-map-keys", description="the fields that identify items of a list of type `map`"
    )
    list_type: str | None = Field(default=None, alias="x-kubernetes-list-type", description="`atomic`, `set` or `map`")
    map_type: str | None = Field(default=None, alias="x-kubernetes-map-type", description="`granular` or `atomic`")
    validations: Annotated[list[ValidationRule] | None, Keyed("rule")] = Field(
        default=None, alias="x-kubernetes-validations", description="rules in CEL on the value"
    )


class CustomResourceValidation(Model):
    """The schema of a version."""

    open_api_v3_schema: JSONSchemaProps | None = Field(default=None, alias="openAPIV3Schema", description="the schema of the objects")


class CustomResourceSubresourceStatus(Model):
    """The status subresource has no settings."""


class CustomResourceSubresourceScale(Model):
    """Where a client reads and writes the number of replicas."""

    spec_replicas_path: str = Field(description="path of the desired number, below `.spec`")
    status_replicas_path: str = Field(description="path of the number that there is, below `.status`")
    label_selector_path: str | None = optional_field("path of the selector's text, below `.spec` or `.status`")


class CustomResourceSubresources(Model):
    """Parts of an object that have an address of their own."""

    status: CustomResourceSubresourceStatus | None = optional_field("only its own address writes `status`")
    scale: CustomResourceSubresourceScale | None = optional_field("`kubectl scale` and autoscalers work on the kind")


class CustomResourceColumnDefinition(Model):
    """A column of `kubectl get`."""

    name: str = Field(description="the header of the column")
    type: str = Field(description="`integer`, `number`, `string`, `boolean` or `date`")
    format: str | None = optional_field("form of the values, such as `date-time`")
    description: str | None = optional_field("what the column shows")
    priority: Int32 | None = optional_field("above 0, the column is shown in wide output only")
    json_path: str = Field(description="path of the value, such as `.spec.replicas`")


class SelectableField(Model):
    """A field that objects can be selected by."""

    json_path: str = Field(description="path of a text, integer or boolean, such as `.spec.color`")


class CustomResourceDefinitionVersion(Model):
    """A version of the kind."""

    name: str = Field(description="the version, such as `v1` or `v1alpha1`")
    served: bool = Field(description="clients can use the version")
    storage: bool = Field(description="objects are stored in this version; exactly one is")
    deprecated: bool | None = optional_field("a client that uses the version is warned")
    deprecation_warning: str | None = optional_field("the warning, in place of the usual one")
    schema_: CustomResourceValidation | None = Field(default=None, alias="schema", description="the schema of the objects")
    subresources: CustomResourceSubresources | None = optional_field("parts of an object that have an address of their own")
    additional_printer_columns: AtomicList[CustomResourceColumnDefinition] | None = optional_field("columns of `kubectl get`")
    selectable_fields: AtomicList[SelectableField] | None = optional_field("fields that objects can be selected by, 8 at most")


class CustomResourceDefinitionNames(Model):
    """What the kind is called."""

    plural: str = Field(description="name in URLs, in lower case")
    singular: str | None = optional_field("name on the command line; the kind in lower case where it is left out")
    short_names: AtomicList[str] | None = optional_field("short names on the command line")
    kind: str = Field(description="name in manifests, in CamelCase")
    list_kind: str | None = optional_field("name of a list of objects; the kind and `List` where it is left out")
    categories: AtomicList[str] | None = optional_field("groups of kinds, such as `all`, that `kubectl get` knows")


class ServiceReference(Model):
    """A Service of the cluster."""

    namespace: str = Field(description="its namespace")
    name: str = Field(description="its name")
    path: str | None = optional_field("path of the URL")
    port: Int32 | None = optional_field("its port; 443 where it is left out")


class WebhookClientConfig(Model):
    """How the server reaches a webhook."""

    url: str | None = optional_field("address of the webhook, for one that is no Service; https")
    service: ServiceReference | None = optional_field("the Service that the webhook is")
    ca_bundle: Bytes | None = optional_field("certificates to trust, PEM in base64")


class WebhookConversion(Model):
    """A webhook that makes objects of one version of another."""

    client_config: WebhookClientConfig | None = optional_field("how the server reaches it")
    conversion_review_versions: AtomicList[str] = Field(description="versions of ConversionReview that it takes, the best first")


class CustomResourceConversion(Model):
    """How objects of one version become objects of another."""

    strategy: str = Field(description="`None`, which changes `apiVersion` alone, or `Webhook`")
    webhook: WebhookConversion | None = optional_field("the webhook that does it")


class CustomResourceDefinitionSpec(Model):
    """The kind and its versions."""

    group: str = Field(description="the API group, a domain such as `example.com`")
    names: CustomResourceDefinitionNames = Field(description="what the kind is called")
    scope: str = Field(description="`Namespaced` or `Cluster`")
    versions: AtomicList[CustomResourceDefinitionVersion] = Field(description="the versions of the kind")
    conversion: CustomResourceConversion | None = optional_field("how objects of one version become objects of another")
    preserve_unknown_fields: bool | None = optional_field("cannot be true; the schema says what is kept")


class CustomResourceDefinitionCondition(Model):
    """A state that the definition is in."""

    type: str = Field(description="the state, such as `Established` or `NamesAccepted`")
    status: str = Field(description="`True`, `False` or `Unknown`")
    last_transition_time: Time | None = optional_field("when `status` last changed")
    reason: str | None = optional_field("why, as a word")
    message: str | None = optional_field("why, as a sentence")
    observed_generation: Int64 | None = optional_field("`metadata.generation` that the state was set for")


class CustomResourceDefinitionStatus(Model):
    """The status of the definition; written by the control plane."""

    conditions: Annotated[list[CustomResourceDefinitionCondition] | None, Keyed("type")] = optional_field("states of the definition")
    accepted_names: CustomResourceDefinitionNames | None = optional_field("the names that are in use")
    stored_versions: AtomicList[str] | None = optional_field("versions in which objects may be stored")
    observed_generation: Int64 | None = optional_field("`metadata.generation` that the status was set for")


class CustomResourceDefinition(Model):
    """A kind that a cluster gets besides its own."""

    RESOURCE: ClassVar[Resource] = Resource(
        group="apiextensions.k8s.io",
        version="v1",
        kind="CustomResourceDefinition",
        plural="customresourcedefinitions",
        component="kubernetes",
        scope="Cluster",
        status=True,
    )

    api_version: Literal["apiextensions.k8s.io/v1"] = constant("version of the API", "apiextensions.k8s.io/v1")
    kind: Literal["CustomResourceDefinition"] = constant("kind of the object", "CustomResourceDefinition")
    metadata: ObjectMeta | None = optional_field("the name has to be that of the plural and the group: `jobs.example.com`")
    spec: CustomResourceDefinitionSpec = Field(description="the kind and its versions")
    status: CustomResourceDefinitionStatus | None = optional_field("status of the definition; written by the control plane")
