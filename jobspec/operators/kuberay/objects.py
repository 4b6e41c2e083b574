"""All that KubeRay makes of a RayCluster, RayJob, RayService or RayCronJob, in the order in which it comes.

Follows `rayClusterReconcile`, `constructRayClusterForRayJob`, `constructRayClusterForRayService`, `createGateway`,
`createHTTPRoute` and `constructRayJob`,
github.com/ray-project/kuberay ray-operator/controllers/ray, 1.4.2 to 1.7.0.
"""

from __future__ import annotations

from jobspec.apis import kinds
from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Key
from jobspec.diagnostics.rules import Finding
from jobspec.documents.marked_tree import (
    MarkedTree,
    changed,
    each_item,
    is_true,
    items,
    set_by,
    text,
    with_appended,
    with_fields,
    with_mappings,
    with_missing,
)
from jobspec.operators.batch import completions_of, job_defaults, pods_of
from jobspec.operators.kuberay import (
    API_VERSION,
    CLUSTER,
    CONTROLLER,
    HEAD_GROUP,
    HTTP_MODE,
    JOB_MODE,
    MAKER_KIND,
    MAKER_NAME,
    PORTS,
    SERVES,
    SIDECAR_MODE,
)
from jobspec.operators.kuberay.access import accesses
from jobspec.operators.kuberay.cluster import RayCluster, head_ports
from jobspec.operators.kuberay.pods import head_pod, worker_pods
from jobspec.operators.kuberay.refusals import refusals, upgrades_in_steps
from jobspec.operators.kuberay.services import head_service_of, lacks_serving_port, services, serving_service_of, serving_service_of_cluster
from jobspec.operators.kuberay.submitter import lacks_metadata_support, sidecar, submitter_job
from jobspec.operators.made import (
    MINUTES,
    NAMESPACE,
    RANDOM,
    SHA1,
    TIME,
    Expansion,
    api_server,
    as_go_writes,
    operator_mark,
    owner_references,
    stored,
    with_structs,
)
from jobspec.operators.workloads import suspension
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.documents.document import Document


def expand_ray_object(document: Document, target: Target, *, context: Sequence[Document], first_and_last_only: bool) -> Expansion:
    """The objects that KubeRay creates for an accepted RayCluster, RayJob, RayService or RayCronJob. Arguments as for `expand`."""
    tree = stored(_as_operator_reads(document), target)
    if nothing := _reasons_for_nothing(document, tree, target):
        return Expansion((), nothing)
    found = _expansion_of(document, tree, target, context=context, first_and_last_only=first_and_last_only)
    return Expansion(found.objects, [*found.diagnostics, *_missing_port(document, tree, target)], found.counts)


def _missing_port(document: Document, tree: MarkedTree, target: Target) -> Iterator[Diagnostic]:
    """Yield the finding that KubeRay creates no pods of a cluster.

    Its head has no port for the Service of its programs.
    """
    if tree.get("metadata", "annotations", SERVES) is None or document.group_kind == kinds.RAY_CRON_JOB:
        return
    if document.group_kind == kinds.RAY_CLUSTER:
        cluster = RayCluster(tree, target)
    elif document.group_kind == kinds.RAY_SERVICE:
        cluster = RayCluster(_cluster(tree, tree.value["spec"].value["rayClusterConfig"], target), target)
    elif tree.get("spec", "rayClusterSpec"):
        cluster = _cluster_of_job(tree, target)
    else:
        return
    if lacks_serving_port(cluster):
        message = f"`{SERVES}` needs a port named `serve` or `serve-...` of the head: KubeRay creates no pods"
        finding = Finding(
            ("metadata", "annotations", Key(SERVES)), message, "add the port to the head's container, or remove the annotation"
        )
        yield document.diagnostic(finding, "refused-by-operator")


def _expansion_of(
    document: Document, tree: MarkedTree, target: Target, *, context: Sequence[Document], first_and_last_only: bool
) -> Expansion:
    """The objects of a stored object that KubeRay accepts."""
    if document.group_kind == kinds.RAY_CLUSTER:
        return _of_ray_cluster(document, tree, target, first_and_last_only=first_and_last_only)
    if document.group_kind == kinds.RAY_SERVICE:
        return _of_ray_service(document, tree, target, first_and_last_only=first_and_last_only)
    if document.group_kind == kinds.RAY_CRON_JOB:
        return _of_ray_cron_job(tree, target, context=context, first_and_last_only=first_and_last_only)
    if is_true(tree, "spec", "suspend"):
        return Expansion((), suspension(document))
    return _of_ray_job(tree, target, context=context, first_and_last_only=first_and_last_only)


def _as_operator_reads(document: Document) -> Document:
    """The object in the version of the API that KubeRay reads, to which the server converts others as they are."""
    return document.changed({**document.data, "apiVersion": API_VERSION})


def _of_ray_cluster(document: Document, tree: MarkedTree, target: Target, *, first_and_last_only: bool) -> Expansion:
    """The objects of a stored RayCluster."""
    cluster = RayCluster(tree, target)
    objects = _objects_of_cluster(cluster, first_and_last_only=first_and_last_only)
    return Expansion(objects, suspension(document), _counts(cluster))


def _objects_of_cluster(cluster: RayCluster, *, first_and_last_only: bool) -> list[MarkedTree]:
    """The objects of a cluster: no pods while it is suspended, none at all if another controller manages it."""
    if text(cluster.spec, "managedBy") not in ("", CONTROLLER):
        return []
    objects = [*accesses(cluster), *services(cluster)]
    if is_true(cluster.spec, "suspend") or lacks_serving_port(cluster):
        return objects
    objects.append(head_pod(cluster))
    for group in cluster.groups:
        objects += worker_pods(cluster, group, first_and_last_only=first_and_last_only)
    return objects


def _with_finalizer(cluster: RayCluster) -> MarkedTree:
    """Return the object of a cluster, with the finalizer that KubeRay adds.

    It adds one to fault-tolerant clusters, to clean up their storage in the end.
    """
    if not cluster.is_fault_tolerant or text(cluster.spec, "managedBy") not in ("", CONTROLLER):
        return cluster.tree
    finalizers = set_by(cluster.mark, ["ray.io/gcs-ft-redis-cleanup-finalizer"])
    return changed(cluster.tree, ("metadata",), lambda about: with_fields(about, {"finalizers": finalizers}))


def _counts(cluster: RayCluster) -> dict[str, int]:
    """The number of pods of each role of a cluster."""
    is_held = is_true(cluster.spec, "suspend") or lacks_serving_port(cluster)
    if is_held or text(cluster.spec, "managedBy") not in ("", CONTROLLER):
        return {}
    return {HEAD_GROUP: 1, **{group.name: group.pods for group in cluster.groups if group.pods}}


def _reasons_for_nothing(document: Document, tree: MarkedTree, target: Target) -> list[Diagnostic]:
    """Why KubeRay creates nothing for an object: another controller manages it, or KubeRay refuses it."""
    manager = text(tree, "spec", "managedBy")
    if manager in ("", CONTROLLER):
        return refusals(document, tree, target)
    message = f"`{manager}` manages the {document.kind}: KubeRay creates nothing for it here"
    return [document.problem("no-pods-created", message, ("spec", "managedBy"), severity="info")]


# A RayJob: the cluster that it makes, the Job or container that submits its program, and a Service.


def _of_ray_job(job: MarkedTree, target: Target, *, context: Sequence[Document], first_and_last_only: bool) -> Expansion:
    """The objects of a RayJob that runs; of one that uses another cluster, those beside the cluster, where that is in the *context*."""
    if job.get("spec", "clusterSelector"):
        used = _selected_cluster(job, context, target)
        return Expansion() if used is None else Expansion(*_beside_cluster(job, used, {}, target))
    cluster = _cluster_of_job(job, target)
    if text(job, "spec", "submissionMode") == SIDECAR_MODE and lacks_metadata_support(job, cluster):
        return Expansion()
    objects = [_with_finalizer(cluster), *_objects_of_cluster(cluster, first_and_last_only=first_and_last_only)]
    counts = _counts(cluster)
    if counts:
        made, _, counts = _beside_cluster(job, cluster, counts, target)
        objects += made
    return Expansion(objects, counts=counts)


def _selected_cluster(job: MarkedTree, context: Sequence[Document], target: Target) -> RayCluster | None:
    """The cluster of others that a RayJob uses; None where it is not given."""
    name, namespace = text(job, "spec", "clusterSelector", CLUSTER), text(job, "metadata", "namespace")
    given = (each for each in context if each.group_kind == kinds.RAY_CLUSTER and each.name == name)
    found = next((each for each in given if (each.namespace or NAMESPACE) == namespace), None)
    return None if found is None else RayCluster(stored(_as_operator_reads(found), target), target)


def _beside_cluster(
    job: MarkedTree, cluster: RayCluster, counts: Mapping[str, int], target: Target
) -> tuple[list[MarkedTree], tuple[()], dict[str, int]]:
    """What a RayJob makes beside a cluster that runs, without diagnostics, and the number of pods with those in it."""
    ports, mode = head_ports(cluster), text(job, "spec", "submissionMode")
    objects, numbers = list[MarkedTree](), dict(counts)
    runs = mode in (JOB_MODE, SIDECAR_MODE, HTTP_MODE) or bool(text(job, "spec", "jobId"))
    if "dashboard" not in ports or not runs:
        return objects, (), numbers
    if mode == JOB_MODE and not lacks_metadata_support(job, cluster):
        made, submitting = _submission(job, cluster, f"{cluster.address}:{ports['dashboard'].value}", target)
        objects += made
        numbers |= submitting
    if counts and is_at_least(cluster.release, "1.5.0"):
        objects.append(head_service_of(job, cluster))
    return objects, (), numbers


def _submission(job: MarkedTree, cluster: RayCluster, dashboard: str, target: Target) -> tuple[list[MarkedTree], dict[str, int]]:
    """The Job that submits a program, its pod, and the number of pods of that role, which has no name."""
    made = submitter_job(job, cluster, dashboard)
    whole = job_defaults(made, api_server(target))
    return [made, *pods_of(whole, target)], {"": completions_of(whole)}


def _cluster_of_job(job: MarkedTree, target: Target) -> RayCluster:
    """The cluster that a RayJob makes."""
    mode = text(job, "spec", "submissionMode")
    written, is_marked = job.value["spec"].value["rayClusterSpec"], is_at_least(target["kuberay"], "1.6.0")
    labels = {"ray.io/job-submission-mode": mode} if is_marked else {}
    notes = {"ray.io/disable-provisioned-head-restart": "true"} if is_marked and mode == SIDECAR_MODE else {}
    cluster = RayCluster(_cluster(job, written, target, labels, notes), target)
    if mode != SIDECAR_MODE:
        return cluster
    container, never = sidecar(job, cluster), set_by(cluster.mark, "Never")

    def with_submitter(spec: MarkedTree) -> MarkedTree:
        return with_fields(with_appended(spec, "containers", [container]), {"restartPolicy": never})

    tree = changed(cluster.tree, ("spec", "headGroupSpec", "template", "spec"), with_submitter)
    return RayCluster(tree, target)


def _cluster(
    maker: MarkedTree, spec: MarkedTree, target: Target, labels: Mapping[str, str] | None = None, notes: Mapping[str, str] | None = None
) -> MarkedTree:
    """The cluster that a RayJob or RayService makes of a *spec*, with its own labels and annotations and some more."""
    mark = operator_mark("kuberay", target["kuberay"])
    metadata, kind = maker.value["metadata"], text(maker, "kind")
    name = metadata.value["name"]
    own = {"labels": {MAKER_NAME: name, MAKER_KIND: kind, **(labels or {})}, "annotations": dict(notes or {})}
    given = {field: metadata.get(field) or MarkedTree({}, mark) for field in own}
    every = {field: with_fields(given[field], set_by(mark, added).value) for field, added in own.items()}
    about = {
        "name": name.with_value(f"{name.value}-{RANDOM}"),
        "namespace": metadata.value["namespace"],
        **{field: each for field, each in every.items() if each.value},
        "ownerReferences": owner_references(mark, API_VERSION, kind, name),
    }
    return set_by(mark, {"apiVersion": API_VERSION, "kind": "RayCluster", "metadata": about, "spec": _as_written(spec, target)})


def _as_written(spec: MarkedTree, target: Target) -> MarkedTree:
    """The spec of a cluster as KubeRay writes it."""
    pod = shapes.part("v1", "Pod", target, ("spec",))

    def group(each: MarkedTree) -> MarkedTree:
        whole = with_mappings(each, ("template", "metadata"))
        return changed(whole, ("template", "spec"), lambda template: with_structs(as_go_writes(template, pod)))

    written = changed(spec, ("headGroupSpec",), group)
    if written.get("headGroupSpec", "headService") is not None:
        written = changed(written, ("headGroupSpec", "headService"), _service_as_written)
    if written.get("autoscalerOptions") is not None:
        written = changed(written, ("autoscalerOptions",), lambda options: as_go_writes(options, pod.at(("containers", 0))))
    return each_item(written, "workerGroupSpecs", lambda each: with_mappings(group(each), ("scaleStrategy",)))


def _service_as_written(service: MarkedTree) -> MarkedTree:
    """A Service in the spec of a cluster as KubeRay writes it."""
    whole = with_mappings(service, ("metadata",), ("spec",), ("status", "loadBalancer"))

    def port(each: MarkedTree) -> MarkedTree:
        return with_missing(each, {"targetPort": 0}, each.mark)

    return changed(whole, ("spec",), lambda spec: each_item(spec, "ports", port))


# A RayService: its cluster, and two Services that lead to the cluster once its programs answer.


def _of_ray_service(document: Document, tree: MarkedTree, target: Target, *, first_and_last_only: bool) -> Expansion:
    """The objects of a stored RayService; none while it is suspended, for which it has a field of its own since 1.7.0."""
    if is_true(tree, "spec", "suspend"):
        message = "the RayService is suspended: it has no cluster until `suspend` is false"
        return Expansion((), [document.problem("no-pods-created", message, ("spec", "suspend"), severity="info")])
    spec = tree.value["spec"].value["rayClusterConfig"]
    groups = spec.get("workerGroupSpecs")
    notes = {
        "ray.io/hash-without-replicas-and-workers-to-delete": SHA1,
        "ray.io/num-worker-groups": str(len(groups.value) if groups else 0),
        "ray.io/kuberay-version": f"v{target['kuberay']}",
    }
    cluster = RayCluster(_cluster(tree, spec, target, notes=notes), target)
    objects = [_with_finalizer(cluster), *_objects_of_cluster(cluster, first_and_last_only=first_and_last_only)]
    counts = _counts(cluster)
    if counts:
        in_steps = upgrades_in_steps(text(tree, "spec", "upgradeStrategy", "type"), cluster.release)
        serving = serving_service_of_cluster(cluster) if in_steps else serving_service_of(tree, cluster)
        routes = _routes(tree, cluster, serving) if in_steps and serving else ()
        objects += [*routes, head_service_of(tree, cluster), *filter(None, [serving])]
    return Expansion(objects, suspension(document), counts)


def _routes(service: MarkedTree, cluster: RayCluster, serving: MarkedTree) -> Iterator[MarkedTree]:
    """The Gateway of a RayService that is upgraded in steps, and its HTTPRoute to the Service of its first cluster."""
    name, namespace = service.value["metadata"].value["name"], cluster.namespace
    owners = owner_references(cluster.mark, API_VERSION, "RayService", name)
    gateway = name.with_value(f"{name.value}-gateway")
    ports = items(serving.get("spec", "ports"))
    port = next((each.value["port"] for each in ports if text(each, "name") == "serve"), PORTS["serve"])
    backend = {"name": serving.get("metadata", "name"), "namespace": namespace, "port": port, "weight": 100}
    rule = {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": [backend]}
    listener = {"name": "http", "protocol": "HTTP", "port": 80}
    specs = {
        "Gateway": {
            "gatewayClassName": service.get("spec", "upgradeStrategy", "clusterUpgradeOptions", "gatewayClassName"),
            "listeners": [listener],
        },
        "HTTPRoute": {"parentRefs": [{"name": gateway, "namespace": namespace}], "rules": [rule]},
    }
    for kind, spec in specs.items():
        about = {"name": name.with_value(f"{name.value}-{kind.lower()}"), "namespace": namespace, "ownerReferences": owners}
        yield set_by(cluster.mark, {"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind, "metadata": about, "spec": spec})


# A RayCronJob: the RayJob of one run, and what comes of that.


def _of_ray_cron_job(tree: MarkedTree, target: Target, *, context: Sequence[Document], first_and_last_only: bool) -> Expansion:
    """The RayJob of one run of a stored RayCronJob, suspended or not, and its objects."""
    mark = operator_mark("kuberay", target["kuberay"])
    name = tree.value["metadata"].value["name"]
    metadata = {
        "name": name.with_value(f"{name.value}-{MINUTES if is_at_least(target['kuberay'], '1.7.0') else RANDOM}"),
        "namespace": tree.value["metadata"].value["namespace"],
        "labels": {"ray.io/cronjob-name": name},
        "annotations": {"ray.io/cronjob-scheduled-timestamp": TIME},
        "ownerReferences": owner_references(mark, API_VERSION, "RayCronJob", name),
    }
    spec = tree.value["spec"].value["jobTemplate"]
    job = set_by(mark, {"apiVersion": API_VERSION, "kind": "RayJob", "metadata": metadata, "spec": spec})
    if is_true(spec, "suspend") or text(spec, "managedBy") not in ("", CONTROLLER):
        return Expansion([job])
    made = _of_ray_job(job, target, context=context, first_and_last_only=first_and_last_only)
    return Expansion([job, *made.objects], made.diagnostics, made.counts)
