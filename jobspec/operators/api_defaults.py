"""The defaults that an API server fills into the objects that operators create, by their types and its admission plugins.

Follows, for Jobs, `SetObjectDefaults_Job`, k8s.io/kubernetes pkg/apis/batch/v1, and `DropDisabledTemplateFields`, pkg/api/pod, 1.36, whose
pod templates get all but what only pods get, and for autoscalers `SetDefaults_HorizontalPodAutoscaler`, pkg/apis/autoscaling/v2: one
replica at the least, and 80 percent of the CPU where no metric is named.
"""

from __future__ import annotations

from jobspec.apis.releases import Target
from jobspec.diagnostics.places import Mark
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, changed, text, where_given, with_fields, with_missing
from jobspec.operators.batch import POD_OF_JOB, job_defaults, with_labels_of_pods
from jobspec.operators.made import api_server
from jobspec.operators.pod_defaults import pod_defaults, pod_spec_defaults
from jobspec.operators.service_defaults import made_service_defaults
from jobspec.operators.stateful_set_defaults import OF_CLAIMS, stateful_set_defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def with_api_defaults(
    objects: Sequence[MarkedTree], context: Sequence[Document], target: Target, *, is_stored: bool = False
) -> list[MarkedTree]:
    """Fill in the defaults of the server in objects.

    *context*: documents that the objects may refer to, such as priority classes. *is_stored*: as the server reads the objects once they are
    stored: a Job without labels has those that the server gave to its pods. Policies do not see these.
    """
    from jobspec.operators.jobset.mutation import stored_jobset

    server, release = api_server(target), target["kubernetes"]

    def with_job_defaults(made: MarkedTree) -> MarkedTree:
        return changed(job_defaults(made, server), POD_OF_JOB, lambda spec: pod_spec_defaults(spec, server, release))

    fillers: dict[str, Callable[[MarkedTree], MarkedTree]] = {
        "HorizontalPodAutoscaler": lambda made: where_given(made, "spec", lambda spec: with_missing(spec, _OF_AUTOSCALERS, server)),
        "Job": lambda made: with_labels_of_pods(with_job_defaults(made)) if is_stored else with_job_defaults(made),
        "JobSet": lambda made: stored_jobset(made, target),
        "PersistentVolumeClaim": lambda made: where_given(made, "spec", lambda spec: with_missing(spec, OF_CLAIMS, server)),
        "Pod": lambda made: where_given(made, "spec", lambda spec: pod_defaults(spec, server, context, release)),
        "Secret": lambda made: _of_secret(made, server),
        "StatefulSet": lambda made: stateful_set_defaults(made, target),
        "Service": lambda made: where_given(made, "spec", lambda spec: made_service_defaults(spec, server)),
    }
    return [fillers[kind](each) if (kind := text(each, "kind")) in fillers else each for each in objects]


def _of_secret(made: MarkedTree, server: Mark) -> MarkedTree:
    """Return a Secret with the type that the server fills in, and with its texts as data.

    Stand-ins stay what they are.
    """
    texts, data = made.get("stringData"), made.get("data")
    if texts:
        merged = with_fields(data, texts.value) if data else texts
        made = made.with_value({**{name: each for name, each in made.value.items() if name != "stringData"}, "data": merged})
    return with_missing(made, {"type": "Opaque"}, server)


_CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
_OF_AUTOSCALERS = {"minReplicas": 1, "metrics": [_CPU]}
