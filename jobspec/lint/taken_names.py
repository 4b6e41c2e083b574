"""Names of objects that operators create, and that other objects or other jobs of the files have.

Follows `createHeadlessSvcIfNecessary` and `createJobs`, sigs.k8s.io/jobset pkg/controllers, 0.8.2 to 0.12.0;
`CreateHeadlessServiceIfNotExists`, sigs.k8s.io/lws pkg/utils/controller, 0.10.0; `getRuntimeSnapshot`, github.com/kubeflow/trainer
pkg/runtime/core, 2.3.0; `CreateNewService` and `createNewPod`, github.com/kubeflow/training-operator pkg/controller.v1/common, 1.7.0 to
1.9.4; and `getOrCreateService` and its like, github.com/kubeflow/mpi-operator pkg/controller, 0.6.0 to 0.8.0.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import CONFIG_MAP, JOB, JOBSET, LEADER_WORKER_SET, MPIJOB, PYTORCHJOB, RUNTIMES, SECRET, SERVICE, TRAINJOB
from jobspec.apis.sibling_kinds import API_VERSION
from jobspec.diagnostics.grouping import gathered
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import text
from jobspec.go.values import mapping, structs
from jobspec.lint.documents import Documents, whereabouts
from jobspec.lint.linted import LintedJob
from jobspec.operators import mpi_operator
from jobspec.operators.jobset.service import headless_service
from jobspec.operators.lws import UNIQUE
from jobspec.operators.trainer.runtimes import runtime_of
from jobspec.operators.training_operator import OBJECT_NAME
from jobspec.operators.training_operator.frameworks import FRAMEWORKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobspec.apis.kinds import GroupKind
    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.diagnostics.places import Data


_NAME = ("metadata", "name")
_MANAGERS = (
    *("", "trainer.kubeflow.org/trainjob-controller", "jobset.sigs.k8s.io/jobset-controller"),
    *("kubeflow.org/training-operator", "kubeflow.org/mpi-operator"),
)
_SUBDOMAINS = ("spec", "networkConfig", "subdomainPolicy")
_OF_MPIJOBS = (SERVICE, CONFIG_MAP, SECRET, JOB)


def taken_jobset_name(job: LintedJob) -> Iterator[Finding]:
    """A JobSet has the name of a TrainJob in its namespace: the TrainJob never runs.

    Why: the trainer makes a JobSet of the TrainJob's name. It leaves one that is there alone, without asking whose it is, and copies its
    status: the TrainJob is complete when that JobSet is, and nothing of it has run. In the other order, the server refuses the JobSet.
    Instead: give one of them another name.
    Before: "kind: JobSet, metadata: {name: bert}, beside kind: TrainJob, metadata: {name: bert}"
    After: "kind: JobSet, metadata: {name: bert-eval}, beside kind: TrainJob, metadata: {name: bert}"
    Evidence: trainer 2.3.0 with JobSet 0.12.0 on a server
    """
    for each in _others(job, JOBSET, [job.given.name]):
        message = f"never runs: the trainer takes the JobSet `{job.given.name}` of the files for that of the job"
        yield Finding(_NAME, message, _hint(each, job), severity=_severity(each, job))


def taken_snapshot_name(job: LintedJob) -> Iterator[Finding]:
    """A ConfigMap has the name under which trainer 2.3 keeps the runtime of a TrainJob: nothing is made of the job.

    Why: the trainer reads `<job>-runtime-snapshot` before it makes anything, and refuses one that the job does not own. Only an event of
    the TrainJob says so, and the trainer tries again forever.
    Instead: another name for the ConfigMap.
    Before: "kind: ConfigMap, metadata: {name: bert-runtime-snapshot}"
    After: "kind: ConfigMap, metadata: {name: bert-runtime}"
    Evidence: `getRuntimeSnapshot` of github.com/kubeflow/trainer pkg/runtime/core, 2.3.0
    """
    from jobspec.operators.trainer.snapshot import snapshot_name

    for each in _others(job, CONFIG_MAP, [snapshot_name(job.given.name, job.target)]):
        message = f"nothing is created: the ConfigMap `{each.name}` has the name of the trainer's snapshot"
        yield Finding(_NAME, message, _hint(each, job), severity=_severity(each, job))


def taken_job_name(job: LintedJob) -> Iterator[Finding]:
    """A Job has the name of one that JobSet creates, for a JobSet or a TrainJob: the JobSet never starts.

    Why: JobSet names its Jobs `<jobset>-<replicated job>-<index>`, and tries forever to create one that exists. An event of the JobSet
    says so; a TrainJob has no status at all.
    Instead: give the Job, or the JobSet, another name.
    Before: "kind: Job, metadata: {name: bert-node-0}, beside kind: TrainJob, metadata: {name: bert}"
    After: "kind: Job, metadata: {name: bert-evaluation}, beside kind: TrainJob, metadata: {name: bert}"
    Evidence: `createJobs` of sigs.k8s.io/jobset pkg/controllers; trainer 2.3.0 with JobSet 0.12.0 on a server
    """
    for each in () if _is_mpijob(job) else _others(job, JOB, _names(job, "Job")):
        message = f"never starts: JobSet cannot create the Job `{each.name}`, which the files have already"
        yield Finding(_NAME, message, _hint(each, job), severity=_severity(each, job))


def taken_service_name(job: LintedJob) -> Iterator[Finding]:
    """A Service has the name of one by which the pods of a job find each other.

    Why: JobSet takes any Service of its subdomain's name for its own. Where that one is not headless, or selects other pods, no pod's
    host name resolves, and no event says so. training-operator cannot create the Service, tries forever, and sets no status of the job.
    Instead: give the Service another name.
    Before: "kind: Service, metadata: {name: bert}, beside kind: TrainJob, metadata: {name: bert}"
    After: "kind: Service, metadata: {name: bert-serving}, beside kind: TrainJob, metadata: {name: bert}"
    Evidence: `createHeadlessSvcIfNecessary` of sigs.k8s.io/jobset pkg/controllers; trainer 2.3.0 with JobSet 0.12.0 on a server
    """
    for each in () if _is_mpijob(job) else _others(job, SERVICE, _service_names(job)):
        if job.framework:
            message = f"training-operator cannot create the Service `{each.name}`, which the files have already"
        elif _leads_to(each, job):
            continue
        else:
            message = f"host names do not resolve: the files' own Service `{each.name}` is taken for that of the pods"
        yield Finding(_NAME, message, _hint(each, job))


def taken_mpi_name(job: LintedJob) -> Iterator[Finding]:
    """An object has the name of one that mpi-operator creates for an MPIJob: the operator stops, and the launcher never comes.

    Why: the operator creates a Service and a Job, a ConfigMap and a Secret whose names begin with the job's, in turn. At one that the job
    does not own, it stops and tries again forever. Only an event of the MPIJob says so: its status stays empty.
    Instead: give the object, or the MPIJob, another name.
    Before: "kind: Service, metadata: {name: pi}, beside kind: MPIJob, metadata: {name: pi}"
    After: "kind: Service, metadata: {name: pi-board}, beside kind: MPIJob, metadata: {name: pi}"
    Evidence: mpi-operator 0.8.0 on a server; `getOrCreateService` of github.com/kubeflow/mpi-operator pkg/controller
    """
    for kind in _OF_MPIJOBS:
        for each in _others(job, kind, _names(job, kind[1])):
            message = f"never starts: mpi-operator stops at the {kind[1]} `{each.name}`, which the files have already"
            yield Finding(_NAME, message, _hint(each, job), severity=_severity(each, job))


def _is_mpijob(job: LintedJob) -> bool:
    """Whether mpi-operator makes the pods: it does not go on where a name is taken."""
    return "MPIJob" in job.seen_as


def shared_subdomain(job: LintedJob) -> Iterator[Finding]:
    """Two jobs of a namespace share their headless Service, which selects the pods of the first alone.

    Why: the Service has the name of the subdomain, which is a JobSet's own name unless `network.subdomain` sets another, and always that of
    a LeaderWorkerSet or MPIJob. JobSet and LeaderWorkerSet do not ask whose a Service is: the second job gets none, its host names do not
    resolve, and no event says so. When the first one is deleted, its Service goes, too. mpi-operator stops at a Service of another job.
    Instead: a subdomain or a name for each.
    Before: "network: {subdomain: workers}, in two JobSets"
    After: "network: {subdomain: alpha-workers} and network: {subdomain: beta-workers}"
    Evidence: `createHeadlessSvcIfNecessary` of sigs.k8s.io/jobset pkg/controllers; JobSet 0.12.0, LeaderWorkerSet 0.9.0 and mpi-operator
    0.8.0 on a server
    """
    given, documents = job.given, job.documents
    for service in _service_names(job):
        every = documents.once("users of subdomains", lambda: _users_of_subdomains(documents), by_place=True)
        users = every.get((given.namespace, service), [])
        before = users[: next((at for at, each in enumerate(users) if each is given), 0)]
        for other in before:
            if _are_two(other, given) and documents.are_together(other, given):
                place = ("spec", "network", "subdomain") if job.get("spec", "network", "subdomain") else _NAME
                is_jobset = {other.group_kind, given.group_kind} <= {JOBSET, TRAINJOB}
                one, another = (f"{'' if is_jobset else f'{each.kind} '}`{_called(each)}`" for each in (given, other))
                message = f"{one} and {another} share the Service `{service}`, which selects pods of one of them"
                yield Finding(place, message, "give each its own `network.subdomain`" if is_jobset else _hint(other, job))
                break


def _are_two(one: Document, other: Document) -> bool:
    """Return whether two documents are two jobs.

    They are one if they are variants of it, or a TrainJob and the JobSet that the trainer takes for its own.
    """
    kinds = {one.group_kind, other.group_kind}
    return _called(one) != _called(other) or (len(kinds) == 2 and kinds != {JOBSET, TRAINJOB})


def shared_job_name(job: LintedJob) -> Iterator[Finding]:
    """Two JobSets of a namespace create a Job of one name: the second one never starts.

    Why: JobSet names its Jobs `<jobset>-<replicated job>-<index>`. A JobSet `tune` with the replicated job `a-worker` and a JobSet `tune-a`
    with `worker` both create `tune-a-worker-0`. JobSet tries forever to create one that exists, and only an event says so.
    Instead: give one of the JobSets, or its replicated job, another name.
    Before: "JobSet tune with the replicated job a-worker, beside JobSet tune-a with worker"
    After: "JobSet tune with the replicated job a-worker, beside JobSet tune-b with worker"
    Evidence: `createJobs` of sigs.k8s.io/jobset pkg/controllers
    """
    given, documents = job.given, job.documents
    if given.group_kind not in (JOBSET, TRAINJOB) or _manager(job) not in _MANAGERS:
        return
    users = documents.once("users of names of Jobs", lambda: _users_of_job_names(documents), by_place=True)
    for (namespace, name), several in users.items():
        if namespace != given.namespace or not any(each is given for each in several):
            continue
        before = several[: next(at for at, each in enumerate(several) if each is given)]
        for other in (each for each in before if each.name != given.name and documents.are_together(each, given)):
            message = f"never starts: `{other.name}` creates the Job `{name}-0`, too"
            yield Finding(_NAME, message, _hint(other, job), severity=_severity(other, job))
            break


def shared_pod_name(job: LintedJob) -> Iterator[Finding]:
    """Two jobs of training-operator create a pod of one name: the second one never starts as a whole.

    Why: the operator names pods `<job>-<role>-<index>`, whatever the kind of the job is. It tries forever to create one that exists, and
    only an event says so. A PyTorchJob and a TFJob of one name both have a `bert-worker-0`.
    Instead: give one of the jobs another name.
    Before: "kind: TFJob, metadata: {name: bert}, beside kind: PyTorchJob, metadata: {name: bert}"
    After: "kind: TFJob, metadata: {name: bert-tf}, beside kind: PyTorchJob, metadata: {name: bert}"
    Evidence: `createNewPod` of github.com/kubeflow/training-operator pkg/controller.v1/common; training-operator 1.9.4 on a server
    """
    given, documents = job.given, job.documents
    if job.framework is None or _manager(job) not in _MANAGERS:
        return
    every = documents.once("users of names of pods", lambda: _users_of_pod_names(documents), by_place=True)
    users = every.get((given.namespace, given.name), [])
    before = users[: next((at for at, each in enumerate(users) if each is given), 0)]
    for other in (each for each in before if each.kind != given.kind and documents.are_together(each, given)):
        shared = sorted(_roles(given) & _roles(other))
        if shared:
            pod = OBJECT_NAME.format(given.name, shared[0], 0)
            message = f"never starts as a whole: the {other.kind} of this name creates the pod `{pod}`, too"
            yield Finding(_NAME, message, _hint(other, job), severity=_severity(other, job))
            break


def _users_of_pod_names(documents: Documents) -> Mapping[tuple[str, str], Sequence[Document]]:
    """The jobs of training-operator, by namespace and name."""
    found = (each for kind in FRAMEWORKS for each in documents.of_kind(kind) if each.name and each.api_version == API_VERSION)
    return gathered(((each.namespace, each.name), each) for each in found)


def _roles(job: Document) -> set[str]:
    """Return the roles of a job of training-operator as they stand in the names of its pods."""
    return {str(role).lower() for role in mapping(job.data, *FRAMEWORKS[job.group_kind].replicas)}


def _users_of_job_names(documents: Documents) -> Mapping[tuple[str, str], Sequence[Document]]:
    """The JobSets and TrainJobs that share names of Jobs, by namespace and by the beginning of the name, before the index."""
    found = [
        ((each.namespace, f"{each.name}-{job.get('name')}"), each)
        for each, spec in _jobsets(documents)
        for job in structs(spec, "replicatedJobs")
        if each.name and job.get("replicas") != 0
    ]
    return {key: several for key, several in gathered(found).items() if len(several) > 1}


def _users_of_subdomains(documents: Documents) -> Mapping[tuple[str, str], Sequence[Document]]:
    """Return the jobs with headless Services, by namespace and name of the Service."""
    services = [(each, headless_service(spec, each.name)) for each, spec in _jobsets(documents)]
    services += [(each, each.name) for each in documents.of_kind(LEADER_WORKER_SET) if value_at(each.data, _SUBDOMAINS) != UNIQUE]
    services += [(each, each.name) for each in documents.of_kind(MPIJOB) if each.api_version == mpi_operator.API_VERSION]
    return gathered(((each.namespace, service), each) for each, service in services if service)


def _jobsets(documents: Documents) -> list[tuple[Document, Data]]:
    """The JobSets, and the TrainJobs of which JobSets are made, each with the spec of its JobSet."""
    found = [(each, mapping(each.data, "spec")) for each in documents.of_kind(JOBSET)]
    for each in documents.of_kind(TRAINJOB):
        runtime = runtime_of(each, documents.referred(each), documents.target)
        if runtime is not None:
            found.append((each, mapping(runtime.data, "spec", "template", "spec")))
    return found


def _called(job: Document) -> str:
    """The name of a job, or what its generated name begins with."""
    return job.name or str(value_at(job.data, ("metadata", "generateName")))


def _others(job: LintedJob, kind: GroupKind, names: Iterable[str]) -> Iterator[Document]:
    """The objects of the files that have one of these names, and no operator as their owner."""
    if job.given.group_kind in RUNTIMES or not job.given.name or _manager(job) not in _MANAGERS:
        return
    for name in names:
        found = job.documents.met(job.given, kind, name)
        yield from (each for each in found if not value_at(each.data, ("metadata", "ownerReferences")))


def _hint(other: Document, job: LintedJob) -> str:
    """What to do about an object that has the name, and where that object is."""
    return f"rename it ({whereabouts(other, job.given)}) or the {job.given.kind}"


def _severity(other: Document, job: LintedJob) -> Severity | None:
    """A warning for an object of another folder, which may be for another cluster; else the severity of the rule."""
    return None if job.documents.are_applied_together(other, job.given) else "warning"


def _manager(job: LintedJob) -> str:
    return job.get(*job.policy, "managedBy") or ""


def _names(job: LintedJob, kind: str) -> list[str]:
    """The names of the objects of a kind that operators make."""
    return [text(each, "metadata", "name") for each in job.objects if text(each, "kind") == kind]


def _service_names(job: LintedJob) -> list[str]:
    """The names of the Services of a job; of one of training-operator, of which the first and last of many are expanded, by its roles."""
    if job.framework and job.framework.port:
        name = job.given.name
        return [OBJECT_NAME.format(name, role.name.lower(), index) for role in job.roles for index in range(role.count)]
    return _names(job, "Service")


def _leads_to(service: Document, job: LintedJob) -> bool:
    """Whether a Service gives the pods of a job their host names: it is headless and selects them."""
    selector = mapping(service.data, "spec", "selector")
    labels = [{name: str(each.value) for name, each in pod.entries("metadata", "labels")} for pod in job.pods]
    is_headless = value_at(service.data, ("spec", "clusterIP")) == "None"
    return is_headless and bool(selector) and all(selector.items() <= each.items() for each in labels)


RULES = (
    Rule(taken_jobset_name, "error", sees="TrainJob", kinds=[JOBSET]),
    Rule(taken_snapshot_name, "error", sees="TrainJob", kinds=[CONFIG_MAP]),
    Rule(taken_job_name, "error", sees="pods", kinds=[JOB]),
    Rule(taken_service_name, "warning", sees="pods", kinds=[SERVICE]),
    Rule(taken_mpi_name, "error", sees="MPIJob", kinds=_OF_MPIJOBS),
    Rule(shared_subdomain, "warning", sees="pods", reads=["subdomain"], kinds=[JOBSET, LEADER_WORKER_SET]),
    Rule(shared_pod_name, "error", sees="training-operator", kinds=[each for each in FRAMEWORKS if each != PYTORCHJOB]),
    Rule(shared_job_name, "error", sees="pods", kinds=[JOBSET]),
)
