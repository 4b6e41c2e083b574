"""Values that the cluster stores in another form, in objects that Argo CD syncs from Git: these never show Synced.

Follows the conversions of apis/kueue/v1beta1 and the webhooks of pkg/webhooks, sigs.k8s.io/kueue 0.19.2, and `jobSetWebhook.Default`,
sigs.k8s.io/jobset pkg/webhooks, 0.12.0.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import APPLICATION, JOBSET, QUEUE_GROUP
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.problems import set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.go.codec import rewritten_quantities
from jobspec.lint.linted import LintedDocument
from jobspec.operators.kueue.versions import is_converted, rewritten_fields
from jobspec.operators.mutation import is_rewritten
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Path
    from jobspec.documents.document import Document

_ARGO_CD = (APPLICATION, ("argoproj.io", "ApplicationSet"))


def out_of_sync_value(document: LintedDocument) -> Iterator[Finding]:
    """The cluster stores a value in another form than Git has, and Argo CD shows the object as OutOfSync.

    Why: Kueue converts objects of `v1beta1`, and its webhook, as that of JobSet, writes a new object back: every quantity in its canonical
    form, and values that have another name in `v1beta2` by that. Argo CD compares texts: it syncs again and again, or the object is
    OutOfSync forever. What `ignoreDifferences` of an Application names is left out.
    Instead: write the value as it is stored.
    Fix: writes the value as it is stored.
    Before: "nominalQuota: '1000'"
    After: "nominalQuota: 1k"
    Evidence: redhat-appstudio/infra-deployments#11588, #11842, #11936; `Convert_v1beta1_ClusterQueueSpec_To_v1beta2_ClusterQueueSpec`
    """
    given, target = document.given, document.target
    is_read = given.group_kind == JOBSET or given.group_kind[0] == QUEUE_GROUP
    if not is_read or not any(each in _ARGO_CD for each in document.documents.kinds()):
        return
    if is_converted(given.data):
        who, when = "Kueue's conversion", "forever"
    elif is_rewritten(given, target, old=None):
        who, when = "a webhook", "after it is created"
    else:
        return
    from jobspec.repository.ignored_differences import ignores_difference

    applications = [each for kind in _ARGO_CD for each in document.documents.of_kind(kind)]
    for path, stored in _rewritten(given, target):
        if any(ignores_difference(each, given, path) for each in applications):
            continue
        if stored is None:
            yield Finding(path, f"OutOfSync {when}: {who} drops `{path[-1]}`", "write the object in `kueue.x-k8s.io/v1beta2`")
        else:
            message = f"OutOfSync {when}: {who} writes `{value_at(given.data, path)}` as `{stored}`"
            yield Finding(path, message, f"write `{stored}`", edits=[(path, set_to((), stored))])


def _rewritten(given: Document, target: Target) -> Iterator[tuple[Path, str | None]]:
    """The values that the cluster stores in another form, without numbers that it stores as texts of the same digits."""
    yield from rewritten_fields(given.data)
    for path, stored in rewritten_quantities(given.data, shapes.load(given.api_version, given.kind, target)):
        if str(value_at(given.data, path)) != stored:
            yield path, stored


RULES = (Rule(out_of_sync_value, "info", sees="document"),)
