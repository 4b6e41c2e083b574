"""What `jobspec explain FILE` says of admission policies: which of the given objects and of their future pods they match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobspec.apis.kinds import ADMISSION_POLICIES, KYVERNO_POLICY, MUTATING_POLICY, VALIDATING_POLICY
from jobspec.apis.kinds import find as find_kind
from jobspec.diagnostics.diagnostic import lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.wording import counted
from jobspec.documents.document import Document
from jobspec.journey.outcomes import context_of
from jobspec.journey.steps import Checked
from jobspec.kubernetes.admission.policies import Request, is_in_force, kyverno_binding, matching
from jobspec.kubernetes.index import Index, data_of
from jobspec.operators.admitted import as_admitted
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import ExpandedJob, expand
from jobspec.operators.made import with_generated_names
from jobspec.operators.workloads import is_workload, resumed
from jobspec.session.finding import find
from jobspec.session.inputs import load_run_context
from jobspec.session.judging import check_files
from jobspec.session.options import Options
from jobspec.world.world import Cluster


def explained(options: Options) -> Iterator[str]:
    """Yield the lines about each policy of a file.

    Raises JobspecError if the file has no policy, or if files have errors.
    """
    run_context = load_run_context(options)
    files = check_files(find([*filter(None, [options.name]), *options.paths]), run_context, skip_unknown=True)
    found = [each for file in files for each in file.result.diagnostics]
    wrong = [each for each in found if each.severity == "error" and each.stage in ("decoding", "schema")]
    if wrong:
        raise JobspecError(lines_of(wrong))
    policies = [each for each in files[0].documents if each.group_kind in (VALIDATING_POLICY, MUTATING_POLICY, KYVERNO_POLICY)]
    if not policies:
        raise JobspecError(f"{options.name}: there is no admission policy in it")
    documents = [each for file in files for each in file.documents]
    objects = Index(data_of([*run_context.cluster.objects, *documents]), complete=run_context.cluster.complete)
    requests = [each for file in files for each in _requests(file, files, run_context.cluster)]
    for policy in policies:
        yield from _of_policy(policy, objects, requests)


def _requests(file: Checked, files: Sequence[Checked], cluster: Cluster) -> Iterator[tuple[str, str, Request]]:
    """The place and the name of each object of a file and of the pods of its jobs, each with the request that creates it."""
    for each in file.documents:
        if each.group_kind in ADMISSION_POLICIES or not each.name or find_kind(each.api_version, each.kind) is None:
            continue
        place, name = str(each.marks.nearest(("metadata", "name")).place()), f"{each.kind} `{each.name}`"
        yield place, name, Request(as_admitted(each, cluster.target), namespace=each.namespace)
        if not is_workload(each):
            continue
        context = context_of(file, files, cluster)
        expansion = expand(resumed(each), context, cluster.target, first_and_last_only=True)
        job = ExpandedJob(each, expansion.objects, cluster.target, expansion.counts)
        for role in job.roles:
            (pod,) = with_api_defaults([role.pod_tree], context, cluster.target)
            request = Request(with_generated_names(pod), namespace=each.namespace, user=job.creator_of(pod))
            yield place, f"{counted(role.count, 'pod')} of {name}: {role.name}", request


def _of_policy(policy: Document, objects: Index, requests: Sequence[tuple[str, str, Request]]) -> Iterator[str]:
    if policy.group_kind == KYVERNO_POLICY:
        kind, own = VALIDATING_POLICY, [kyverno_binding(policy.data["spec"])] if is_in_force(policy.data) else []
        yield f"Kyverno's {policy.kind} `{policy.name}` ({policy.file})"
        if not own:
            yield "  it is not for objects that are sent to the server"
    else:
        kind, bindings = policy.group_kind, objects.in_namespace((policy.group_kind[0], f"{policy.kind}Binding"), "")
        own = [(name, each["spec"]) for name, each in bindings if each["spec"].get("policyName") == policy.name]
        yield f"{policy.kind} `{policy.name}` ({policy.file}): {counted(len(own), 'binding')}"
        if not own:
            yield "  it has no effect without a binding"
    for name, spec in own:
        actions = ", ".join(spec.get("validationActions") or ("changes objects",))
        yield f"  binding `{name}` ({actions})"
        found = [
            (place, what, match.unknown)
            for place, what, request in requests
            for match in matching(request, objects, kind)
            if (match.policy, match.binding) == (policy.name, name)
        ]
        for place, what, unknown in found:
            yield f"    {what}  {place}{f'  not known: {unknown}' if unknown else ''}"
        if not requests:
            yield "    no objects: name their files behind the policy's, and it shows which of them match"
            continue
        yield f"    {counted(len(found), 'match')} among {counted(len(requests), 'object')} and future pods"
