"""Objects as MutatingAdmissionPolicies change them: manifests, and what operators make of jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from jobspec.apis.kinds import CRON_JOB
from jobspec.apis.releases import Target
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Data, Mark
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, changed, changed_tree, marked, of_kind, set_by, text, with_fields
from jobspec.kubernetes.admission.policies import Decision, Request
from jobspec.kubernetes.admission.review import filled_pod
from jobspec.kubernetes.index import Index
from jobspec.operators.admitted import as_admitted
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import ExpandedJob, expand
from jobspec.operators.made import RANDOM, with_crd_defaults, with_generated_names
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape


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
    policies: Index,
    target: Target,
    custom: Shape | None = None,
    *,
    tree: MarkedTree | None = None,
) -> Changed:
    """Return a manifest as policies leave it.

    *request*: the manifest as the server has it before, with defaults. *custom*: the structure of the manifest by a CRD. *tree*: the tree
    of the manifest, where the places of its values are asked for.
    """
    shape = custom or shapes.load(document.api_version, document.kind, target)
    tree = tree or set_by(Mark(document.file), document.data)
    return _changed_by_policies(tree, request, policies, shape, target, lambda data: as_admitted(document.changed(data), target, custom))


def changed_job(job: Document, policies: Index | None, target: Target) -> Document:
    """A job as policies leave it; each value that they set has the policy for its place."""
    if policies is None or not policies.change_objects:
        return job
    request = Request(as_admitted(job, target), namespace=job.namespace)
    found = changed_manifest(job, request, policies, target, tree=marked(job))
    return job.written_as(found.tree.data(), found.tree.marks()) if found.policies else job


def with_labels_of_next_job(job: Document, policies: Index, target: Target) -> Document:
    """Return a CronJob with the labels in its `jobTemplate` that policies give its Jobs.

    Kueue's webhook comes after the policies, and reads the name of the queue from these labels. A job of another kind stays as it is.
    """
    if job.group_kind != CRON_JOB:
        return job
    made = expand(job, (), target, first_and_last_only=True, skip_server_checks=True)
    for each in of_kind(made.objects, "Job"):
        found = _changed_object(each, ExpandedJob(job, made.objects, target, made.counts), policies, ())
        before, after = (tree.get("metadata", "labels") for tree in (each, found.tree))
        if after and after.data() != (before.data() if before else {}):
            add = partial(with_fields, fields={"labels": after})
            tree = changed(marked(job), ("spec", "jobTemplate", "metadata"), add)
            return job.written_as(tree.data(), tree.marks())
    return job


class ChangedObjects(NamedTuple):
    """A job with its objects as policies leave them."""

    job: ExpandedJob
    decisions: Sequence[tuple[MarkedTree, Decision]] = ()
    """What policies say of each object."""
    refusals: Sequence[Diagnostic] = ()
    """Why JobSet's webhook refuses a changed JobSet."""


def changed_objects(
    job: ExpandedJob, policies: Index | None, context: Sequence[Document], *, first_and_last_only: bool = False
) -> ChangedObjects:
    """Return a job with its objects as policies leave them.

    The result also has what is made of the changed objects. *first_and_last_only*: as for `expand`.
    """
    if policies is None or not policies.change_objects:
        return ChangedObjects(job)
    decisions: list[tuple[MarkedTree, Decision]] = []

    def change(objects: Sequence[MarkedTree]) -> list[MarkedTree]:
        found = [_changed_object(each, job, policies, context) for each in objects]
        decisions.extend((each.tree, decision) for each in found for decision in each.decisions)
        return [each.tree for each in found]

    at = next((at for at, each in enumerate(job.objects) if text(each, "kind") == "JobSet"), -1) + 1
    if not at and not job.of_kind("Job"):
        return ChangedObjects(ExpandedJob(job.job, change(job.objects), job.target, job.counts), decisions)
    from jobspec.operators.jobset.mutation import stored_jobset
    from jobspec.operators.jobset.pods import counts_of, objects_of_jobset, pods_among_jobs
    from jobspec.operators.jobset.refusals import refusals

    sent, further, refused = change(job.objects[:at]), job.objects[at:], list[Diagnostic]()
    if at and sent[-1] is not job.objects[at - 1]:
        jobset = stored_jobset(sent[-1], job.target)
        refused = list(refusals(jobset, job.job, job.target))
        further = objects_of_jobset(jobset, job.target, context=context, first_and_last_only=first_and_last_only)
    before = [each for each in further if text(each, "kind") != "Pod"]
    made = change(before)
    pods = of_kind(further, "Pod")
    if any(one is not other for one, other in zip(before, made, strict=True)):
        pods = pods_among_jobs(made, job.target, context=context, first_and_last_only=first_and_last_only)
    return ChangedObjects(ExpandedJob(job.job, [*sent, *made, *change(pods)], job.target, counts_of(made)), decisions, refused)


def _changed_object(made: MarkedTree, job: ExpandedJob, policies: Index, context: Sequence[Document]) -> Changed:
    """An object as policies leave it; a JobSet comes to them before its webhook, which fills in more."""
    kind = text(made, "kind")
    shape = shapes.load(text(made, "apiVersion"), kind, job.target)
    if kind == "JobSet" and shape:
        sent = with_crd_defaults(made, shape, made.mark)
    else:
        (sent,) = with_api_defaults([made], context, job.target)
    request = request_for(sent, job, policies, is_named=RANDOM not in text(sent, "metadata", "name"))
    return _changed_by_policies(made, request, policies, shape, job.target, lambda data: data)


def request_for(made: MarkedTree, job: ExpandedJob, policies: Index, *, is_named: bool = True) -> Request:
    """Return the request for an object of a job.

    *is_named*: if false, the name of the object is generated once policies have changed the object.
    """
    data = with_generated_names(made)
    if not is_named:
        data = {**data, "metadata": {name: each for name, each in data["metadata"].items() if name != "name"}}
    if text(made, "kind") == "Pod":
        data = filled_pod(data, job.job.namespace, policies, job.target)
    return Request(data, namespace=job.job.namespace, user=job.creator_of(made))


def _changed_by_policies(
    tree: MarkedTree, request: Request, policies: Index, shape: Shape | None, target: Target, settle: Callable[[Data], Data]
) -> Changed:
    """An object as policies leave it; *settle* fills in the defaults of the data that one of them leaves, for the next one."""
    from jobspec.kubernetes.admission.mutating import mutated

    found = mutated(request, policies, shape, settle, target["kubernetes"])
    before = request.object
    for name, after in found.steps:
        tree, before = changed_tree(tree, before, after, Mark(f"policy `{name}`")), after
    return Changed(tree, found.decisions, list(dict.fromkeys(name for name, _ in found.steps)))
