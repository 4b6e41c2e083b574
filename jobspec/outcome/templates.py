"""The outcome of an object of which the pod templates alone are known: what the cluster says of its pods, and its command lines.

The operator of a custom kind may change pods before it makes them, so that all that is found of them is a warning. Kubernetes itself makes
the pods of its own workloads as their templates have them; where some of these do not fit, the others run.
"""

from __future__ import annotations

from jobspec.apis.kinds import POD, POD_TEMPLATES
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.rules import Finding
from jobspec.documents.marked_tree import items, place_in, text
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.operators.made import with_generated_names
from jobspec.operators.templates import expanded_templates
from jobspec.operators.workloads import queue_of
from jobspec.outcome.arguments import wrong_flags, wrong_torchrun_options, wrong_torchrun_variables
from jobspec.outcome.refusals import policy_outcomes, refused_by_policies, unschedulable
from jobspec.outcome.training_program import started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.documents.document import Document
    from jobspec.kubernetes.index import Index
    from jobspec.operators.expansion import ExpandedJob
    from jobspec.operators.templates import PodTemplate
    from jobspec.world.world import Cluster

#: The fields of a pod that operators of custom kinds add to: what is missing there may come from them.
_ADDED_TO = ("volumes", "volumeMounts", "serviceAccountName", "restartPolicy")


def template_outcomes(
    document: Document, templates: Sequence[PodTemplate], context: Sequence[Document], cluster: Cluster, policies: Index
) -> list[Diagnostic]:
    """Return the outcomes of an accepted object with pod templates.

    *context*: what its pods may refer to.
    """
    whole = [each for each in templates if each.metadata]
    expanded = expanded_templates(document, templates, cluster.target)
    begun = started(expanded)
    found = [*wrong_torchrun_options(begun), *wrong_torchrun_variables(begun), *wrong_flags(begun, cluster.contracts)]
    if document.group_kind != POD and whole:
        found += _decided(expanded_templates(document, whole, cluster.target, is_decoded=True), context, cluster, policies)
    if cluster.is_pinned and document.kind != "DaemonSet" and not queue_of(document):
        found += unschedulable(expanded, cluster)  # of pods in queues, lint says it; a DaemonSet may have no node yet
    is_certain = document.group_kind in POD_TEMPLATES or document.group_kind == POD
    first: dict[tuple[str, str, str], Diagnostic] = {}
    for each in found:
        said = document.diagnostic(each if is_certain and each.rule != "never-fits" else _as_warning(each))
        first.setdefault((said.rule, str(said.mark), said.message), said)
    return list(first.values())


def _decided(expanded: ExpandedJob, context: Sequence[Document], cluster: Cluster, policies: Index) -> Iterator[Finding]:
    """What the server and the policies of the cluster say of the pods of whole templates."""
    has_images = all(text(each, "image") for role in expanded.roles for each in items(role.pod_tree.get("spec", "containers")))
    if not has_images:
        return  # something that is not known fills in the rest
    yield from policy_outcomes(expanded, policies, complete=cluster.complete)
    if policies.have_policies:
        yield from refused_by_policies(expanded, policies, context)
    if expanded.job.group_kind in POD_TEMPLATES:
        return  # the server has judged the template
    for role in expanded.roles:
        data = with_generated_names(role.pod_tree)
        for problem in builtin_problems(data, "v1", "Pod", cluster.target):
            if problem.path[:1] == ("spec",) and problem.rule != "missing-field" and not any(each in problem.path for each in _ADDED_TO):
                yield Finding(place_in(role.pod_tree, problem.path), f"pods refused: {problem.message}", problem.hint, rule="pods-refused")


def _as_warning(found: Finding) -> Finding:
    """A finding about pods that an operator may change before it makes them."""
    return found.changed(severity="warning") if found.severity in (None, "error") else found
