"""The project file, `jobspec.yaml`: which variants of which jobs are rendered, and where to."""

from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, MinLen
from pydantic import Field

from jobspec.models.base import Int32, Model, Pattern, Resource
from jobspec.models.meta import ObjectMeta

Text = Annotated[str, MinLen(1)]


class Defaults(Model):
    """What all variants have, unless they say otherwise."""

    base: Text | None = Field(default=None, description="path of the base, from the project file's folder")
    namespace: Text | None = Field(default=None, description="namespace that is written into every object that has one")
    overlays: list[Any] | None = Field(
        default=None,
        description="overlays in order: a shipped name or a path, or a mapping of one of those to its parameters; applied first",
    )
    flags: dict[str, Any] | None = Field(
        default=None, description="flags of the training program; `null` removes, `true` is a bare flag, `false` removes one"
    )
    labels: dict[str, str] | None = Field(default=None, description="labels of the job")
    annotations: dict[str, str] | None = Field(default=None, description="annotations of the job")
    naming: Literal["hash", "fixed"] | None = Field(
        default=None,
        description="`hash`, the default: the job's name ends in a hash of its spec, so that a change is a new run; `fixed`: no hash",
    )
    history: Annotated[Int32 | None, Ge(0)] = Field(
        default=None, description="number of earlier runs of the job that stay in the tree beside the newest one; 0 by default"
    )
    resources: list[Any] | None = Field(default=None, description="companion manifests to add")


class Variant(Defaults):
    """A base, its overlays and what is this variant's own; with a matrix, one variant for each combination of its values."""

    name: Text = Field(description="name of the variant and its folder; `${name}` stands for a value of the matrix, here and below")
    job_name: Text | None = Field(
        default=None, description="name of the job; the variant's where it is left out, made a DNS label either way"
    )
    matrix: dict[str, list[Any]] | None = Field(default=None, description="values by name, each as it is spelt: `0.10` stays `0.10`")


class Checks(Model):
    """The settings of `validate` and `lint` for the repository, in place of options."""

    select: list[Text] | None = Field(default=None, description="rules or stages to report, and no others; all by default")
    ignore: list[Text] | None = Field(default=None, description="rules or stages not to report")
    exclude: list[Text] | None = Field(
        default=None, description="files that are left out of folders, as in a `.gitignore`; a named file is read"
    )
    fail_on: Literal["error", "warning", "info"] | None = Field(
        default=None, description="the severity from which on a run fails: `error` (the default), `warning` or `info`"
    )
    baseline: Text | None = Field(
        default=None, description="path of a baseline, which `--write-baseline` writes: known findings are not reported again"
    )
    contracts: dict[str, Text] | None = Field(
        default=None,
        description="for an image, without tag and digest, the path of the JSON Schema of its flags; `trainer` is that of jobspec's",
    )


class ArgoCD(Model):
    """What Argo CD is told: an `AppProject`, and an `Application` or an `ApplicationSet` for the rendered tree."""

    repo_url: Text = Field(alias="repoURL", description="URL of the Git repository that holds the rendered tree, as Argo CD reads it")
    revision: Text | None = Field(default=None, description="branch, tag or commit that is synced; `HEAD` by default")
    path: Text | None = Field(
        default=None, description="path of the rendered tree in that repository; where the project's output stands, by default"
    )
    name: Text | None = Field(default=None, description="name of the `Application` or `ApplicationSet`; that of the repository by default")
    project: Text | None = Field(
        default=None,
        description="name of the `AppProject`, which is limited to what is rendered; `name` by default; none is written for `default`",
    )
    namespace: Text | None = Field(default=None, description="namespace of Argo CD; `argocd` by default")
    server: Text | None = Field(default=None, description="URL of the cluster that is synced to; the one that Argo CD runs in by default")
    autosync: bool | None = Field(
        default=None, description="sync each new commit, and prune what is rendered no more; left out, somebody has to ask for it"
    )
    self_heal: bool | None = Field(
        default=None,
        description="with `autosync`, undo what is changed or deleted in the cluster, too: a job that somebody deletes starts again",
    )
    create_namespace: bool | None = Field(
        default=None, description="let Argo CD make the namespace of the objects where it is missing; by default where they have only one"
    )
    application_set: bool | None = Field(
        default=None, description="an `ApplicationSet` in place of the `Application`: an `Application` of its own for each variant's folder"
    )


# The engines of a project: the Argo CD or Flux that syncs the rendered tree, and the repository from which it does.
#: What Flux takes as a duration.
Duration = Annotated[str, Pattern(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$")]


class FluxReference(Model):
    """What is synced of a repository: of Git one of `branch`, `tag`, `semver`, `name`, `commit`; of OCI `tag`, `semver` or `digest`."""

    branch: Text | None = Field(default=None, description="branch of a Git repository")
    tag: Text | None = Field(default=None, description="tag")
    semver: Text | None = Field(default=None, description="range of versions, of which the newest tag counts, such as `>=1.0.0`")
    name: Text | None = Field(default=None, description="reference of a Git repository, such as `refs/pull/420/head`")
    commit: Text | None = Field(default=None, description="commit of a Git repository; with a branch, one on it")
    digest: Text | None = Field(default=None, description="digest of an OCI artifact, such as `sha256:...`")


class Flux(Model):
    """What Flux is told: a `GitRepository` or an `OCIRepository`, and a `Kustomization` for the rendered tree."""

    url: Text = Field(description="URL of the repository: `https://`, `ssh://` or `http://` of a Git repository, `oci://` of artifacts")
    ref: FluxReference | None = Field(
        default=None, description="what is synced of it; the branch `main`, or the tag `latest` of artifacts, by default"
    )
    path: Text | None = Field(
        default=None, description="path of the rendered tree in the repository; where the project's output stands, by default"
    )
    name: Text | None = Field(default=None, description="name of the objects; that of the repository by default")
    namespace: Text | None = Field(default=None, description="namespace of the objects; `flux-system` by default")
    interval: Duration | None = Field(default=None, description="how often the tree is fetched and applied; `10m` by default")
    secret: Text | None = Field(default=None, description="name of the Secret with the repository's credentials, in the same namespace")
    wait: bool | None = Field(
        default=None, description="call the tree ready only once every job has completed, and failed once one has; `true` by default"
    )
    timeout: Duration | None = Field(
        default=None,
        description="how long one reconciliation waits for that before it is tried again, new commits included; `5m` by default",
    )


class Engines(Model):
    """The engines that sync the rendered tree; their objects are written to a folder beside it."""

    output: Text | None = Field(
        default=None, description="folder of the engines' objects, from the project file's folder; `engines` by default"
    )
    argocd: ArgoCD | None = Field(default=None, description="write objects for Argo CD")
    flux: Flux | None = Field(default=None, description="write objects for Flux")


class ProjectSpec(Model):
    """What is rendered, where to, and for which releases."""

    target: dict[str, str] | None = Field(
        default=None, description='release of each operator and of `kubernetes`, as `trainer: "2.3"`; the newest by default'
    )
    output: Text | None = Field(
        default=None, description="folder of the rendered tree, from the project file's folder; `rendered` by default"
    )
    defaults: Defaults | None = Field(default=None, description="what all variants have, unless they say otherwise")
    variants: Annotated[list[Variant], MinLen(1)] = Field(description="the variants; their order does not matter")
    cluster: Text | None = Field(
        default=None, description="path of the cluster that the variants meet, which `jobspec pin` writes, from the project file's folder"
    )
    checks: Checks | None = Field(default=None, description="settings of `validate` and `lint` for the repository")
    engines: Engines | None = Field(default=None, description="what syncs the rendered tree: its objects are written beside it")


class Project(Model):
    """The variants of a repository, which `jobspec render` renders to a tree that GitOps engines sync as it stands."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field(default="jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Project"] = Field(default="Project", description="the kind")
    metadata: ObjectMeta | None = Field(default=None, description="of no use to jobspec")
    spec: ProjectSpec = Field(description="what the project renders")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Project", plural="projects", component="jobspec")


# A price list, by which `jobspec diff` tells what a job may cost.
Price = Annotated[float, Ge(0)]


class PodPrice(Model):
    """The price of whole pods, by where they run."""

    node_selector: Annotated[dict[str, str], MinLen(1)] = Field(description="holds for pods whose node selector has all of these labels")
    per_hour: Price = Field(description="price of one pod for an hour")


class PricesSpec(Model):
    """Prices for an hour; a pod that no entry of `pods` is for costs what its resources do."""

    currency: Annotated[str, MinLen(1)] = Field(description="currency of all prices, such as EUR")
    pods: list[PodPrice] | None = Field(default=None, description="prices of whole pods; the first that holds counts")
    resources: dict[str, Price] | None = Field(
        default=None,
        description="price of one unit for an hour, by resource: a GPU, a CPU, a GiB of `memory`; all but GPUs can be left out",
    )


class Prices(Model):
    """What pods cost, for `jobspec diff --prices`."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field(default="jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Prices"] = Field(default="Prices", description="the kind")
    metadata: ObjectMeta | None = Field(default=None, description="of no use to jobspec")
    spec: PricesSpec = Field(description="the prices")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Prices", plural="prices", component="jobspec")


# A cluster in a file, which `jobspec pin` writes: what manifests meet there.


class Taint(Model):
    """What keeps pods off a node, unless they tolerate it."""

    key: Text = Field(description="key of the taint")
    value: str | None = Field(default=None, description="value of the taint")
    effect: Text = Field(description="`NoSchedule`, `PreferNoSchedule` or `NoExecute`")


class Nodes(Model):
    """Nodes that are alike."""

    count: Annotated[Int32, Ge(1)] = Field(description="number of these nodes")
    labels: dict[str, str] | None = Field(default=None, description="labels that all of them have")
    taints: list[Taint] | None = Field(default=None, description="taints that all of them have")
    allocatable: dict[str, str] | None = Field(default=None, description="what pods can request of one of them, by resource")


class ClusterSpec(Model):
    """What a manifest meets in the cluster."""

    releases: dict[str, str | None] = Field(
        description='release of `kubernetes` and of each operator, as `trainer: "2.3.0"`; `null` where nobody could find it out'
    )
    complete: list[Text] | None = Field(
        default=None, description="kinds of which all objects are listed, as `ResourceQuota`: what is not listed does not exist"
    )
    crds: list[Text] | None = Field(default=None, description="paths of the cluster's further CRDs, from the folder of this file")
    objects: list[Any] | None = Field(default=None, description="manifests of the objects that decide on others, such as quotas")
    nodes: list[Nodes] | None = Field(default=None, description="shapes of the nodes, with their number")
    unread: dict[str, str] | None = Field(default=None, description="kinds that could not be read, and why")


class Cluster(Model):
    """A cluster as manifests meet it: releases, quotas, runtimes and so on; `jobspec pin` writes it."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field(default="jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Cluster"] = Field(default="Cluster", description="the kind")
    metadata: ObjectMeta | None = Field(default=None, description="its name is for people")
    spec: ClusterSpec = Field(description="what a manifest meets there")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Cluster", plural="clusters", component="jobspec")


# The project's own Overlay: a named, typed layer over training jobs.


Roles = Literal["master", "worker"]


class Parameter(Model):
    """A value that a user gives to an overlay with `--set OVERLAY.NAME=VALUE`."""

    type: Literal["string", "integer", "boolean", "quantity"] = Field(description="type of the value")
    description: str | None = Field(default=None, description="what the value means, with its unit")
    default: Any = Field(default=None, description="the value by default; without it the user has to set one")
    optional: bool | None = Field(default=None, description="may stay unset; whatever is set to it is then left out")
    enum: list[str] | None = Field(default=None, description="the values to choose from")
    minimum: int | None = Field(default=None, description="the least integer")
    maximum: int | None = Field(default=None, description="the greatest integer")


class Pods(Model):
    """A change to training pods, whatever the kind of job."""

    roles: list[Roles] | None = Field(default=None, description="pods of these roles; every training pod where left out")
    flags: dict[str, Any] | None = Field(
        default=None, description="flags of the training program; `null` removes, `true` is a bare flag, `false` removes one"
    )
    template: dict[str, Any] | None = Field(
        default=None, description="a partial pod template; lists merge by their merge keys, and `$remove: true` removes an item"
    )


class OverlaySpec(Model):
    """What the overlay changes, with its parameters and conflicts."""

    description: str | None = Field(default=None, description="one line for people")
    conflicts: list[str] | None = Field(default=None, description="names of overlays that cannot be applied together with this one")
    override: bool | None = Field(default=None, description="may set what an earlier overlay set differently")
    parameters: dict[str, Parameter] | None = Field(default=None, description="values that a user may give")
    pods: list[Pods] | None = Field(default=None, description="changes to training pods")
    job: dict[str, Any] | None = Field(default=None, description="partial manifests by kind, such as PyTorchJob")
    resources: list[Any] | None = Field(default=None, description="companion manifests to add")


class Overlay(Model):
    """A layer that turns a plain job into a variant of it."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field(default="jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Overlay"] = Field(default="Overlay", description="the kind")
    metadata: ObjectMeta = Field(description="`name` is the overlay's own")
    spec: OverlaySpec = Field(description="what the overlay does")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Overlay", plural="overlays", component="jobspec")
