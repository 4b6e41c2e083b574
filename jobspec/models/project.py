"""The project file, `jobspec.yaml`: which variants of which jobs are rendered, and where to."""

from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, MinLen
from pydantic import Field

from jobspec.models.base import Int32, Model, Pattern, Resource, optional_field
from jobspec.models.meta import ObjectMeta

Text = Annotated[str, MinLen(1)]


class Defaults(Model):
    """What all variants have, unless they say otherwise."""

    base: Text | None = optional_field("path of the base, from the project file's folder")
    namespace: Text | None = optional_field("namespace that is written into every object that has one")
    overlays: list[Any] | None = optional_field(
        "overlays in order: a shipped name or a path, or a mapping of one of those to its parameters; applied first"
    )
    flags: dict[str, Any] | None = optional_field(
        "flags of the training program; `null` removes, `true` is a bare flag, `false` removes one"
    )
    labels: dict[str, str] | None = optional_field("labels of the job")
    queue: Text | None = optional_field("Kueue's LocalQueue of the job, as its label `kueue.x-k8s.io/queue-name`; Kueue suspends it")
    annotations: dict[str, str] | None = optional_field("annotations of the job")
    naming: Literal["hash", "fixed"] | None = optional_field(
        "`hash`: the job's name ends in a hash of its spec: a change is a new run; `fixed`: no hash, by default for kinds that go on"
    )
    history: Annotated[Int32 | None, Ge(0)] = optional_field(
        "number of earlier runs of the job that stay in the tree beside the newest one; 0 by default"
    )
    resources: list[Any] | None = optional_field("companion manifests to add")


class Variant(Defaults):
    """A base, its overlays and what is this variant's own; with a matrix, one variant for each combination of its values."""

    name: Text = Field(description="name of the variant and its folder; `${name}` stands for a value of the matrix, here and below")
    job_name: Text | None = optional_field("name of the job; the variant's where it is left out, made a DNS label either way")
    cluster: Text | None = optional_field("path of the cluster that it meets, in place of the project's")
    matrix: dict[str, list[Any]] | None = optional_field("values by name, each as it is spelt: `0.10` stays `0.10`")


class PodsOfKind(Model):
    """Where objects of a kind have a pod template, and how many pods they make of it."""

    path: Text = Field(description="fields on the way to the template: `spec.workers[].template`; `*` stands for each key of a map")
    count: Annotated[int, Ge(0)] | Text | None = optional_field("the number of pods, or the path of the field with it; 1 by default")


class Checks(Model):
    """The settings of `validate` and `lint` for the repository, in place of options."""

    select: list[Text] | None = optional_field("rules or stages to report, and no others; all by default")
    ignore: list[Text] | None = optional_field("rules or stages not to report")
    exclude: list[Text] | None = optional_field("files that are left out of folders, as in a `.gitignore`; a named file is read")
    fail_on: Literal["error", "warning", "info"] | None = optional_field(
        "the severity from which on a run fails: `error` (the default), `warning` or `info`"
    )
    baseline: Text | None = optional_field("path of a baseline, which `--write-baseline` writes: known findings are not reported again")
    contracts: dict[str, Text] | None = optional_field(
        "for an image, without tag and digest, the path of the JSON Schema of its flags; `trainer` is that of jobspec's"
    )
    pods: dict[str, list[PodsOfKind]] | None = optional_field(
        "for a kind with its group, such as `AIJob.example.com`, where its objects have pod templates; without it, a CRD or the form shows"
    )


class ArgoCD(Model):
    """What Argo CD syncs by: an `AppProject`, and an `Application` or an `ApplicationSet` for the rendered tree."""

    repo_url: Text = Field(alias="repoURL", description="URL of the Git repository that holds the rendered tree, as Argo CD reads it")
    revision: Text | None = optional_field("branch, tag or commit that is synced; `HEAD` by default")
    path: Text | None = optional_field(
        "path of the rendered tree in that repository, or of the project with `plugin`; their path in this repository by default"
    )
    name: Text | None = optional_field("name of the `Application` or `ApplicationSet`; that of the repository by default")
    project: Text | None = optional_field(
        "name of the `AppProject`, which is limited to what is rendered; `name` by default; none is written for `default`"
    )
    namespace: Text | None = optional_field("namespace of Argo CD; `argocd` by default")
    server: Text | None = optional_field("URL of the cluster that is synced to; the one that Argo CD runs in by default")
    autosync: bool | None = optional_field("sync each new commit, and prune what is rendered no more; left out, somebody has to ask for it")
    self_heal: bool | None = optional_field(
        "with `autosync`, undo what is changed or deleted in the cluster, too: a job that somebody deletes starts again"
    )
    create_namespace: bool | None = optional_field(
        "let Argo CD make the namespace of the objects where it is missing; by default where they have only one"
    )
    application_set: bool | None = optional_field(
        "an `ApplicationSet` in place of the `Application`: an `Application` of its own for each variant's folder"
    )
    plugin: bool | None = optional_field(
        "let Argo CD render the project by a config management plugin, whose sidecar is written; no tree has to be committed"
    )
    plugin_image: Text | None = optional_field("image of the plugin's sidecar, in which `jobspec` is on the `PATH`")


# The engines of a project: the Argo CD or Flux that syncs the rendered tree, and the repository from which it does.
#: What Flux takes as a duration.
Duration = Annotated[str, Pattern(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$")]


class FluxReference(Model):
    """What is synced of a repository: of Git one of `branch`, `tag`, `semver`, `name`, `commit`; of OCI `tag`, `semver` or `digest`."""

    branch: Text | None = optional_field("branch of a Git repository")
    tag: Text | None = optional_field("tag")
    semver: Text | None = optional_field("range of versions, of which the newest tag counts, such as `>=1.0.0`")
    name: Text | None = optional_field("reference of a Git repository, such as `refs/pull/420/head`")
    commit: Text | None = optional_field("commit of a Git repository; with a branch, one on it")
    digest: Text | None = optional_field("digest of an OCI artifact, such as `sha256:...`")


class Flux(Model):
    """What Flux syncs by: a `GitRepository` or an `OCIRepository`, and a `Kustomization` for the rendered tree."""

    url: Text = Field(description="URL of the repository: `https://`, `ssh://` or `http://` of a Git repository, `oci://` of artifacts")
    ref: FluxReference | None = optional_field("what is synced of it; the branch `main`, or the tag `latest` of artifacts, by default")
    path: Text | None = optional_field("path of the rendered tree in the repository; that of the project's output by default")
    name: Text | None = optional_field("name of the objects; that of the repository by default")
    namespace: Text | None = optional_field("namespace of the objects; `flux-system` by default")
    interval: Duration | None = optional_field("how often the tree is fetched and applied; `10m` by default")
    secret: Text | None = optional_field("name of the Secret with the repository's credentials, in the same namespace")
    wait: bool | None = optional_field(
        "`true`: ready once every job has completed, with nothing applied until then; `false`: no health; by default, ready while jobs run"
    )
    timeout: Duration | None = optional_field("how long one reconciliation waits for health, new commits included; `5m` by default")
    create_namespace: bool | None = optional_field("write the namespaces of the rendered objects beside the engine's; `true` by default")


class Engines(Model):
    """The engines that sync the rendered tree; their objects are written to a folder beside it."""

    output: Text | None = optional_field("folder of the engines' objects, from the project file's folder; `engines` by default")
    argocd: ArgoCD | None = optional_field("write objects for Argo CD")
    flux: Flux | None = optional_field("write objects for Flux")


class ProjectSpec(Model):
    """Variants, the folder that they are rendered to, and the releases that they are for."""

    target: dict[str, str] | None = optional_field(
        'release of each operator and of `kubernetes`, as `trainer: "2.3"`; the newest by default'
    )
    output: Text | None = optional_field("folder of the rendered tree, from the project file's folder; `rendered` by default")
    defaults: Defaults | None = optional_field("what all variants have, unless they say otherwise")
    variants: Annotated[list[Variant], MinLen(1)] = Field(description="the variants; their order does not matter")
    cluster: Text | None = optional_field(
        "path of the cluster that the variants meet, which `jobspec pin` writes, from the project file's folder"
    )
    checks: Checks | None = optional_field("settings of `validate` and `lint` for the repository")
    engines: Engines | None = optional_field("what syncs the rendered tree: its objects are written beside it")


class Project(Model):
    """The variants of a repository, which `jobspec render` renders to a tree that GitOps engines sync as it stands."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field(default="jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Project"] = Field(default="Project", description="the kind")
    metadata: ObjectMeta | None = optional_field("of no use to jobspec")
    spec: ProjectSpec = Field(description="what the project renders")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Project", plural="projects", component="jobspec")


# A price list, by which `jobspec diff` says what a job may cost.
Price = Annotated[float, Ge(0)]


class PodPrice(Model):
    """The price of whole pods, by where they run."""

    node_selector: Annotated[dict[str, str], MinLen(1)] = Field(description="holds for pods whose node selector has all of these labels")
    per_hour: Price = Field(description="price of one pod for an hour")


class PricesSpec(Model):
    """Prices for an hour; a pod that no entry of `pods` is for costs what its resources do."""

    currency: Annotated[str, MinLen(1)] = Field(description="currency of all prices, such as EUR")
    pods: list[PodPrice] | None = optional_field("prices of whole pods; the first that holds counts")
    resources: dict[str, Price] | None = optional_field(
        "price of one unit for an hour, by resource: a GPU, a CPU, a GiB of `memory`; all but GPUs can be left out"
    )


class Prices(Model):
    """What pods cost, for `jobspec diff --prices`."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field(default="jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Prices"] = Field(default="Prices", description="the kind")
    metadata: ObjectMeta | None = optional_field("of no use to jobspec")
    spec: PricesSpec = Field(description="the prices")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Prices", plural="prices", component="jobspec")


# A cluster in a file, which `jobspec pin` writes: what manifests meet there.


class Taint(Model):
    """What keeps pods off a node, unless they tolerate it."""

    key: Text = Field(description="key of the taint")
    value: str | None = optional_field("value of the taint")
    effect: Text = Field(description="`NoSchedule`, `PreferNoSchedule` or `NoExecute`")


class Nodes(Model):
    """Nodes that are alike."""

    count: Annotated[Int32, Ge(1)] = Field(description="number of these nodes")
    labels: dict[str, str] | None = optional_field("labels that all of them have")
    taints: list[Taint] | None = optional_field("taints that all of them have")
    allocatable: dict[str, str] | None = optional_field("what pods can request of one of them, by resource")


class ClusterSpec(Model):
    """What a manifest meets in the cluster."""

    releases: dict[str, str | None] = Field(
        description='release of `kubernetes` and of each operator, as `trainer: "2.3.0"`; `null` where nobody could find it out'
    )
    complete: list[Text] | None = optional_field(
        "kinds of which all objects are listed, as `ResourceQuota`: what is not listed does not exist"
    )
    crds: list[Text] | None = optional_field("paths of the cluster's further CRDs, from the folder of this file")
    objects: list[Any] | None = optional_field("manifests of the objects that decide on others, such as quotas")
    nodes: list[Nodes] | None = optional_field("shapes of the nodes, with their number")
    unread: dict[str, str] | None = optional_field("kinds that could not be read, and why")


class Cluster(Model):
    """A cluster as manifests meet it: releases, quotas, runtimes and so on; `jobspec pin` writes it."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field(default="jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Cluster"] = Field(default="Cluster", description="the kind")
    metadata: ObjectMeta | None = optional_field("its name is for people")
    spec: ClusterSpec = Field(description="what a manifest meets there")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Cluster", plural="clusters", component="jobspec")


# The project's own Overlay: a named, typed layer over training jobs.


Roles = Literal["master", "worker", "launcher", "head", "ps", "evaluator"]


class Parameter(Model):
    """A value that a user gives to an overlay with `--set OVERLAY.NAME=VALUE`."""

    type: Literal["string", "integer", "boolean", "quantity"] = Field(description="type of the value")
    description: str | None = optional_field("what the value means, with its unit")
    default: Any = optional_field("the value by default; without it the user has to set one")
    optional: bool | None = optional_field("may stay unset; whatever is set to it is then left out")
    enum: list[str] | None = optional_field("the values to choose from")
    minimum: int | None = optional_field("the least integer")
    maximum: int | None = optional_field("the greatest integer")


class Pods(Model):
    """A change to the pods of a job, whatever its kind."""

    roles: list[Roles] | None = optional_field(
        "pods of these roles; left out, all pods, also those of a launcher or head, which do not train"
    )
    flags: dict[str, Any] | None = optional_field(
        "flags of the training program; `null` removes, `true` is a bare flag, `false` removes one"
    )
    template: dict[str, Any] | None = optional_field(
        "a partial pod template; lists merge by their merge keys, and `$remove: true` removes an item"
    )


class OverlaySpec(Model):
    """Changes to jobs and their pods, with parameters, and the overlays that it conflicts with."""

    description: str | None = optional_field("one line for people")
    conflicts: list[str] | None = optional_field("names of overlays that cannot be applied together with this one")
    override: bool | None = optional_field("may set what an earlier overlay set differently")
    parameters: dict[str, Parameter] | None = optional_field("values that a user may give")
    pods: list[Pods] | None = optional_field("changes to the pods of jobs")
    job: dict[str, Any] | None = optional_field("partial manifests by kind, such as PyTorchJob")
    resources: list[Any] | None = optional_field("companion manifests to add")


class Overlay(Model):
    """A layer that turns a plain job into a variant of it."""

    api_version: Literal["jobspec.dev/v1alpha1"] = Field(default="jobspec.dev/v1alpha1", description="group and version of the kind")
    kind: Literal["Overlay"] = Field(default="Overlay", description="the kind")
    metadata: ObjectMeta = Field(description="`name` is the overlay's own")
    spec: OverlaySpec = Field(description="what the overlay does")

    RESOURCE: ClassVar[Resource] = Resource(group="jobspec.dev", version="v1alpha1", kind="Overlay", plural="overlays", component="jobspec")
