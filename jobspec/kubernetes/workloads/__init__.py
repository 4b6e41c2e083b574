"""What the server's Go code says to objects that run pods (Jobs, Deployments, StatefulSets and others), and to Services."""

from __future__ import annotations

import itertools

from jobspec.diagnostics import Data, Path, Problem, Problems
from jobspec.go.values import mapping
from jobspec.targets import is_at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


# The server's Go rules for an object of a kind that runs pods: its own rules, and those of its pod template.
#
# The rules of a Service stand beside them. Each function loads the module of its kind.


_TEMPLATE = ("spec", "template")


def _with_pods(own: Iterable[Problem], template: Data, release: str, path: Path = _TEMPLATE) -> Problems:
    """The problems of an object's *own*, and those of its pod template at other places."""
    from jobspec.kubernetes.pods.pod import template_problems

    reported: set[Path] = set()
    for problem in own:
        reported.add(problem.path)
        yield problem
    yield from (problem for problem in template_problems(template, path, release) if problem.path not in reported)


def _job(data: Data, old: Data | None, release: str) -> Problems:
    from jobspec.kubernetes.workloads.jobs import job_problems

    return _with_pods(job_problems(data, old, release), mapping(data, *_TEMPLATE), release)


def _cronjob(data: Data, old: Data | None, release: str) -> Problems:
    from jobspec.kubernetes.workloads.cronjobs import cronjob_problems

    path = ("spec", "jobTemplate", *_TEMPLATE)
    return _with_pods(cronjob_problems(data, old), mapping(data, *path), release, path)


def _lasting(data: Data, old: Data | None, release: str) -> Problems:
    from jobspec.kubernetes.workloads.deployments import lasting_problems

    return _with_pods(lasting_problems(data, old), mapping(data, *_TEMPLATE), release)


def _stateful_set(data: Data, old: Data | None, release: str) -> Problems:
    from jobspec.kubernetes.pods.pod import template_metadata_problems, template_problems
    from jobspec.kubernetes.workloads.deployments import at_own_volume, pods_of, stateful_set_problems

    own = stateful_set_problems(data, old, release)
    template, places = pods_of(mapping(data, "spec"))
    if not is_at_least(release, "1.34"):  # which looks at the pods only as it makes them
        return itertools.chain(own, template_metadata_problems(template, mapping(template, "spec"), _TEMPLATE))
    # the pods of a stored StatefulSet that is wrong by rules that came later are not looked at any more
    before = pods_of(mapping(old, "spec"))[0]
    if old and (any(stateful_set_problems(old, old, release)) or any(template_problems(before, _TEMPLATE, release))):
        return own
    return (at_own_volume(problem, places) for problem in _with_pods(own, template, release))


def _replication_controller(data: Data, _: Data | None, release: str) -> Problems:
    from jobspec.kubernetes.workloads.deployments import replication_controller_problems

    own = replication_controller_problems(data)
    return _with_pods(own, mapping(data, *_TEMPLATE), release) if "template" in mapping(data, "spec") else own


def _service(data: Data, old: Data | None, release: str) -> Problems:
    from jobspec.kubernetes.workloads.services import service_problems

    return service_problems(data, old, release)


#: Kind -> the problems of a decoded object besides its metadata in a release, as an update of another unless that is None.
RULES: dict[str, Callable[[Data, Data | None, str], Problems]] = {
    "CronJob": _cronjob,
    "DaemonSet": _lasting,
    "Deployment": _lasting,
    "Job": _job,
    "ReplicaSet": _lasting,
    "ReplicationController": _replication_controller,
    "Service": _service,
    "StatefulSet": _stateful_set,
}
