"""The project file, `jobspec.yaml`: which variants of which jobs are rendered, and where to."""

from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, MinLen
from pydantic import Field

from jobspec.models.base import Int32, Model, Resource
from jobspec.models.engines import Engines
from jobspec.models.meta import ObjectMeta

Text = Annotated[str, MinLen(1)]


class Defaults(Model):
    """What all variants have, unless they say otherwise."""

    base: Text | None = Field(None, description="path of the base, from the project file's folder")
    namespace: Text | None = Field(None, description="namespace that is written into every object that has one")
    overlays: list[Any] | None = Field(
        None, description="overlays in order: a shipped name or a path, or a mapping of one of those to its parameters; applied first"
    )
    flags: dict[str, Any] | None = Field(
        None, description="flags of the training program; `null` removes, `true` is a bare flag, `false` removes one"
    )
    labels: dict[str, str] | None = Field(None, description="labels of the job")
    annotations: dict[str, str] | None = Field(None, description="annotations of the job")
    naming: Literal["hash", "fixed"] | None = Field(
        None, description="`hash`, the default: the job's name ends in a hash of its spec, so that a change is a new run; `fixed`: no hash"
    )
    history: Annotated[Int32 | None, Ge(0)] = Field(
        None, description="number of earlier runs of the job that stay in the tree beside the newest one; 0 by default"
    )
    resources: list[Any] | None = Field(None, description="companion manifests to add")


class Variant(Defaults):
    """A base, its overlays and what is this variant's own; with a matrix, one variant for each combination of its values."""

    name: Text = Field(description="name of the variant and its folder; `${name}` stands for a value of the matrix, here and below")
    job_name: Text | None = Field(None, description="name of the job; the variant's where it is left out, made a DNS label either way")
    matrix: dict[str, list[Any]] | None = Field(None, description="values by name, each as it is spelt: `0.10` stays `0.10`")


class Checks(Model):
    """What `validate` and `lint` are told of the repository, in place of options."""

    select: list[Text] | None = Field(None, description="rules or stages to be told of, and no others; all by default")
    ignore: list[Text] | None = Field(None, description="rules or stages not to be told of")
    fail_on: Literal["error", "warning", "info"] | None = Field(
        None, description="what is enough to fail: `error`, the default, `warning` or `info`"
    )
    baseline: Text | None = Field(None, description="path of a baseline, which `--write-baseline` writes: what it has is not told again")
    contracts: dict[str, Text] | None = Field(
        None, description="for an image, without tag and digest, the path of the JSON Schema of its flags; `trainer` is that of jobspec's"
    )


class ProjectSpec(Model):
    """What is rendered, where to, and for which releases."""

    target: dict[str, str] | None = Field(
        None, description='release of each operator and of `kubernetes`, as `trainer: "2.3"`; the newest by default'
    )
    output: Text | None = Field(None, description="folder of the rendered tree, from the project file's folder; `rendered` by default")
    defaults: Defaults | None = Field(None, description="what all variants have, unless they say otherwise")
    variants: Annotated[list[Variant], MinLen(1)] = Field(description="the variants; their order does not matter")
    checks: Checks | None = Field(None, description="what `validate` and `lint` are told of the repository")
    engines: Engines | None = Field(None, description="what syncs the rendered tree: its objects are written beside it")


class Project(Model):
    """The variants of a repository, which `jobspec render` renders to a tree that GitOps engines sync as it stands."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field("jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Project"] = Field("Project", description="the kind")
    metadata: ObjectMeta | None = Field(None, description="of no use to jobspec")
    spec: ProjectSpec = Field(description="what the project renders")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Project", plural="projects", component="jobspec")
