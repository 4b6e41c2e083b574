"""Objects as MutatingAdmissionPolicies change them: manifests, and what operators make of jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from jobspec.diagnostics import Data, Mark
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, changed_tree, marked, set_by
from jobspec.kubernetes.admission.objects import PolicyObjects
from jobspec.kubernetes.admission.policies import Decision, Request
from jobspec.operators.api_defaults import as_admitted, with_api_defaults
from jobspec.operators.expansion import ExpandedJob
from jobspec.operators.made import with_generated_names
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape
from jobspec.targets import Target


class Changed(NamedTuple):
    """An object as policies leave it."""

    tree: MarkedTree
    """What a policy sets has the policy for its place."""
    decisions: Sequence[Decision]
    policies: Sequence[str]
    """The names of those that changed it."""


def changed_manifest(
    document: Document,
    request: Request,
    policies: PolicyObjects,
    target: Target,
    custom: Shape | None = None,
    *,
    tree: MarkedTree | None = None,
) -> Changed:
    """A manifest as policies leave it; *request*: as the server has it before, with defaults; *custom*: its structure by a CRD.

    *tree*: that of the manifest, where the places of its values are asked for.
    """
    shape = custom or shapes.load(document.api_version, document.kind, target)
    tree = tree or set_by(Mark(document.file), document.data)
    return _changed(tree, request, policies, shape, target, lambda data: as_admitted(document.changed(data), target, custom))


def changed_job(job: Document, policies: PolicyObjects | None, target: Target) -> Document:
    """A job as policies leave it; each value that they set has the policy for its place."""
    if policies is None or not policies.change_objects:
        return job
    request = Request(as_admitted(job, target), namespace=job.namespace)
    found = changed_manifest(job, request, policies, target, tree=marked(job))
    return job.written_as(found.tree.data(), found.tree.marks()) if found.policies else job


def changed_objects(
    job: ExpandedJob, policies: PolicyObjects | None, context: Sequence[Document]
) -> tuple[ExpandedJob, list[tuple[MarkedTree, Decision]]]:
    """A job with its objects as policies leave them, and what these say of each.

    What is made of a changed object later on, such as the Jobs of a JobSet, is as if that had not been changed.
    """
    if policies is None or not policies.change_objects:
        return job, []
    made: list[MarkedTree] = []
    said: list[tuple[MarkedTree, Decision]] = []
    for each in job.objects:
        found = _changed_object(each, job, policies, context)
        made.append(found.tree)
        said += [(found.tree, decision) for decision in found.decisions]
    return ExpandedJob(job.job, made, job.target, job.counts), said


def _changed_object(made: MarkedTree, job: ExpandedJob, policies: PolicyObjects, context: Sequence[Document]) -> Changed:
    (stored,) = with_api_defaults([made], context, job.target)
    request = Request(with_generated_names(stored), namespace=job.job.namespace, user=job.creator_of(made))
    shape = shapes.load(str(made.value["apiVersion"].value), request.kind[1], job.target)
    return _changed(made, request, policies, shape, job.target, lambda data: data)


def _changed(
    tree: MarkedTree, request: Request, policies: PolicyObjects, shape: Shape | None, target: Target, settle: Callable[[Data], Data]
) -> Changed:
    from jobspec.kubernetes.admission.mutating import mutated

    found = mutated(request, policies, shape, settle, target["kubernetes"])
    before = request.object
    for name, after in found.steps:
        tree, before = changed_tree(tree, before, after, Mark(f"policy `{name}`")), after
    return Changed(tree, found.decisions, list(dict.fromkeys(name for name, _ in found.steps)))
