"""The engines of a project: the Argo CD or Flux that syncs the rendered tree, and the repository from which it does."""

from typing import Annotated

from annotated_types import MinLen
from pydantic import Field

from jobspec.models.base import Model, Pattern

Text = Annotated[str, MinLen(1)]
#: What Flux takes as a duration.
Duration = Annotated[str, Pattern(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$")]


class ArgoCD(Model):
    """What Argo CD is told: an `AppProject`, and an `Application` or an `ApplicationSet` for the rendered tree."""

    repo_url: Text = Field(alias="repoURL", description="URL of the Git repository that holds the rendered tree, as Argo CD reads it")
    revision: Text | None = Field(None, description="branch, tag or commit that is synced; `HEAD` by default")
    path: Text | None = Field(
        None, description="path of the rendered tree in that repository; where the project's output stands, by default"
    )
    name: Text | None = Field(None, description="name of the `Application` or `ApplicationSet`; that of the repository by default")
    project: Text | None = Field(
        None, description="name of the `AppProject`, which is limited to what is rendered; `name` by default; none is written for `default`"
    )
    namespace: Text | None = Field(None, description="namespace of Argo CD; `argocd` by default")
    server: Text | None = Field(None, description="URL of the cluster that is synced to; the one that Argo CD runs in by default")
    autosync: bool | None = Field(
        None, description="sync each new commit, and prune what is rendered no more; left out, somebody has to ask for it"
    )
    self_heal: bool | None = Field(
        None, description="with `autosync`, undo what is changed or deleted in the cluster, too: a job that somebody deletes starts again"
    )
    create_namespace: bool | None = Field(
        None, description="let Argo CD make the namespace of the objects where it is missing; by default where they have only one"
    )
    application_set: bool | None = Field(
        None, description="an `ApplicationSet` in place of the `Application`: an `Application` of its own for each variant's folder"
    )


class FluxReference(Model):
    """What is synced of a repository: of Git one of `branch`, `tag`, `semver`, `name`, `commit`; of OCI `tag`, `semver` or `digest`."""

    branch: Text | None = Field(None, description="branch of a Git repository")
    tag: Text | None = Field(None, description="tag")
    semver: Text | None = Field(None, description="range of versions, of which the newest tag counts, such as `>=1.0.0`")
    name: Text | None = Field(None, description="reference of a Git repository, such as `refs/pull/420/head`")
    commit: Text | None = Field(None, description="commit of a Git repository; with a branch, one on it")
    digest: Text | None = Field(None, description="digest of an OCI artifact, such as `sha256:...`")


class Flux(Model):
    """What Flux is told: a `GitRepository` or an `OCIRepository`, and a `Kustomization` for the rendered tree."""

    url: Text = Field(description="URL of the repository: `https://`, `ssh://` or `http://` of a Git repository, `oci://` of artifacts")
    ref: FluxReference | None = Field(
        None, description="what is synced of it; the branch `main`, or the tag `latest` of artifacts, by default"
    )
    path: Text | None = Field(
        None, description="path of the rendered tree in the repository; where the project's output stands, by default"
    )
    name: Text | None = Field(None, description="name of the objects; that of the repository by default")
    namespace: Text | None = Field(None, description="namespace of the objects; `flux-system` by default")
    interval: Duration | None = Field(None, description="how often the tree is fetched and applied; `10m` by default")
    secret: Text | None = Field(None, description="name of the Secret with the repository's credentials, in the same namespace")
    wait: bool | None = Field(
        None, description="call the tree ready only once every job has completed, and failed once one has; `true` by default"
    )
    timeout: Duration | None = Field(
        None, description="how long one reconciliation waits for that before it is tried again, new commits included; `5m` by default"
    )


class Engines(Model):
    """The engines that sync the rendered tree; their objects are written to a folder beside it."""

    output: Text | None = Field(None, description="folder of the engines' objects, from the project file's folder; `engines` by default")
    argocd: ArgoCD | None = Field(None, description="write objects for Argo CD")
    flux: Flux | None = Field(None, description="write objects for Flux")
