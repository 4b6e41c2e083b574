"""The defaults of a batch Job and of the pod template in it, which gets all but what only pods get.

Follows `SetObjectDefaults_Job`, k8s.io/kubernetes pkg/apis/batch/v1, and `DropDisabledTemplateFields`, pkg/api/pod, 1.36.
"""

from __future__ import annotations

from jobspec.operators.api_defaults.pod_spec import pod_spec_defaults
from jobspec.operators.batch_job import job_defaults
from jobspec.operators.edits import changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics import Mark
    from jobspec.documents.marked_tree import MarkedTree


def whole_job(job: MarkedTree, server: Mark) -> MarkedTree:
    """A Job as the server stores it."""
    return changed(job_defaults(job, server), ("spec", "template", "spec"), lambda spec: pod_spec_defaults(spec, server))
