"""Services that torchrun's nodes meet at: whether a pod hosts the rendezvous there, and when its name and port are reached.

Follows `_create_tcp_store` and `_matches_machine_hostname`, torch/distributed/elastic/rendezvous, 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import SERVICE, STATEFUL_SET
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items, marked, text
from jobspec.lint.container import LintedContainer
from jobspec.lint.linted import LintedJob
from jobspec.lint.network_policies import labels_of
from jobspec.programs import command_lines
from jobspec.programs.torchrun import C10D, STATIC, TorchrunSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.documents.document import Document

#: The ports of torchrun's rendezvous if nothing gives one.
_PORTS = {C10D: "29400"}
#: Parts of the keys of labels that controllers give to pods.
_OF_CONTROLLERS = ("kubernetes.io/", "kubeflow.org/", "x-k8s.io/", "sigs.k8s.io/", "job-name", "controller-uid")


def endpoint_of_no_pod(job: LintedJob) -> Iterator[Finding]:
    """The c10d rendezvous is at a Service with an address of its own, so that no pod takes itself for its host.

    Why: torchrun hosts the c10d rendezvous in the pod whose host name or address is that of the endpoint. A Service that is not headless
    has another address than its pod: all pods wait for a host, and end with `RendezvousConnectionError`.
    Instead: `clusterIP: None` in the Service; or the static rendezvous, where the pod of rank 0 is the host.
    Before: "Service: {type: ClusterIP}"
    After: "Service: {clusterIP: None}"
    Evidence: pytorch/pytorch#79388, pytorch/pytorch#73656
    """
    for container, settings in _meetings(job, C10D):
        options, host = settings.value("rdzv_conf"), _host_of(settings)
        if _may_be_host_name(host, job) or options is None or "is_host" in options:
            continue
        for service in _services_at(host, job):
            if _selects_pods(marked(service), job) and job.documents.are_together(service, job.given):
                message = f"torchrun never starts: the Service `{service.name}` is not headless, so that no pod hosts the rendezvous"
                yield Finding(container.program.place_of("rdzv_endpoint"), message, "write `clusterIP: None` into the Service")


def closed_service_port(job: LintedJob) -> Iterator[Finding]:
    """The nodes meet at a port that the Service in front of them does not have.

    Why: a Service that is not headless passes on its own ports alone. Nothing answers at another one: the pods wait until their timeout.
    Instead: add the port to the Service; or make it headless, whose name is that of the pod, with all ports.
    Before: "ports: [{port: 80}], beside --master-port=29500"
    After: "ports: [{port: 29500}], beside --master-port=29500"
    Evidence: https://kubernetes.io/docs/concepts/services-networking/service/#headless-services; pytorch/pytorch#74824
    """
    for container, settings in _meetings(job, STATIC):
        port = _port_of(settings)
        for service in _services_at(_host_of(settings), job) if port.isdecimal() else ():
            ports = [text(each, "port") for each in items(marked(service).get("spec", "ports"))]
            if port not in ports and job.documents.are_together(service, job.given):
                message = f"the nodes meet at port {port}, and the Service `{service.name}` has {' and '.join(ports) or 'no port'} alone"
                setting = "rdzv_endpoint" if settings.value("rdzv_endpoint") else "master_addr"
                yield Finding(container.program.place_of(setting), message, f"add the port {port} to the Service")


def ready_after_rendezvous(job: LintedJob) -> Iterator[Finding]:
    """The nodes meet at the name of a pod that is not ready before they have met.

    Why: a Service publishes the names of ready pods alone, unless it says otherwise, and a StatefulSet creates the next pod when the one
    before is ready. Torchrun starts the program that answers the probe only when all nodes have joined: they wait for each other for ever.
    Instead: `publishNotReadyAddresses: true` in the Service, `podManagementPolicy: Parallel` in the StatefulSet, or no probe.
    Before: "readinessProbe: {httpGet: {port: 8080}}, command: [torchrun, '--rdzv-endpoint=train-0.train:29500', train.py]"
    After: "command: [torchrun, '--rdzv-endpoint=train-0.train:29500', train.py]"
    Evidence: kubernetes-sigs/lws#85, kubernetes-sigs/jobset#504, vllm-project/aibrix#1441
    """
    for container in job.containers:
        settings = _meeting(container)
        found = _late_probe(container, settings) if settings else None
        why = _why_not_reached(job, settings) if settings and found else None
        if found and why:
            name, probe = found
            message = f"torchrun never starts: {why[0]}, and torchrun starts what the {name} asks only when all nodes have met"
            yield Finding(probe, message, why[1])


def _may_be_host_name(host: str, job: LintedJob) -> bool:
    """Whether a pod may have a host for its host name, as a Service may be called."""
    name, _, number = host.rpartition("-")
    is_numbered = job.given.group_kind == STATEFUL_SET and name == job.given.name and number.isdecimal()
    is_pod = any(host in (pod.name, pod.host_name) for role in job.roles for pod in role.pods)
    return is_pod or is_numbered or job.has_unknown_operator


def _meeting(container: LintedContainer) -> TorchrunSettings | None:
    """Return the settings of a container that does nothing but wait for other nodes, and then train; else None."""
    program = container.program
    settings = program.settings if program.is_torchrun and not container.is_init else None
    is_alone = program.script is None or all(step.end != "&" for step in program.script.steps)
    waits = settings is not None and settings.nodes is not None and settings.nodes[0] > 1
    return settings if settings and waits and is_alone and settings.endpoint and settings.backend in (STATIC, C10D) else None


def _meetings(job: LintedJob, backend: str) -> Iterator[tuple[LintedContainer, TorchrunSettings]]:
    """Yield each container whose torchrun meets others by a backend, with its settings."""
    for container in job.containers:
        settings = _meeting(container)
        if settings and settings.backend == backend:
            yield container, settings


def _services_at(host: str, job: LintedJob) -> list[Document]:
    """Return the Services of the user that may be a host, and have an address of their own."""
    name, _, rest = host.partition(".")
    is_elsewhere = rest.partition(".")[0] not in ("", job.given.namespace, "default")
    if is_elsewhere or any(text(each, "metadata", "name") == name for each in job.expanded.of_kind("Service")):
        return []
    found = job.documents.of_name(SERVICE, name)
    return [each for each in found if each.namespace == job.given.namespace and _has_own_address(marked(each))]


def _host_of(settings: TorchrunSettings) -> str:
    endpoint = settings.endpoint or ""
    return endpoint.rpartition(":")[0] or endpoint


def _port_of(settings: TorchrunSettings) -> str:
    """Return the port of the rendezvous; empty if only a run shows it."""
    port = (settings.value("rdzv_endpoint") or "").rpartition(":")[2] if ":" in (settings.value("rdzv_endpoint") or "") else ""
    return port or _PORTS.get(settings.backend or "") or settings.value("master_port") or ""


def _has_own_address(service: MarkedTree) -> bool:
    return text(service, "spec", "clusterIP") != "None" and text(service, "spec", "type") != "ExternalName"


def _selects_pods(service: MarkedTree, job: LintedJob) -> bool:
    """True if a Service may select pods of the job; labels that controllers give are taken to fit."""
    selector = {name: text(each) for name, each in service.entries("spec", "selector")}
    own = [labels_of(role.pod_tree) for role in job.roles]
    fits = (all(labels.get(name, value if _is_given(name) else "") == value for name, value in selector.items()) for labels in own)
    return bool(selector) and any(fits)


def _is_given(label: str) -> bool:
    return any(part in label for part in _OF_CONTROLLERS)


def _late_probe(container: LintedContainer, settings: TorchrunSettings) -> tuple[str, MarkedTree] | None:
    """Return the probe that succeeds only once torchrun has started its program, with its name.

    If another container of the pod may answer it, or it asks the rendezvous itself, return None.
    """
    pod = container.role.pod_tree
    others = [each for each in items(pod.get("spec", "initContainers")) if text(each, "restartPolicy") == "Always"]
    if others or len(items(pod.get("spec", "containers"))) > 1:
        return None
    for name in ("startupProbe", "readinessProbe"):
        probe = container.tree.get(name)
        ports = [text(probe, field, "port") for field in ("httpGet", "tcpSocket", "grpc")] if probe else []
        port = next((each for each in ports if each), "")
        if probe and port.isdecimal() and port != _port_of(settings):
            return f"{name.removesuffix('Probe')} probe", probe
    return None


def _why_not_reached(job: LintedJob, settings: TorchrunSettings) -> tuple[str, str] | None:
    """Return why the first pod is not reached before it is ready, and a hint; None if it may be."""
    if job.given.group_kind == STATEFUL_SET and text(job.tree, "spec", "podManagementPolicy") != "Parallel":
        return "the StatefulSet creates the next pod when the one before is ready", "write `podManagementPolicy: Parallel`"
    host = _host_of(settings)
    names = host.split(".")[:2]
    made = [each for each in job.expanded.of_kind("Service") if text(each, "metadata", "name") in names]
    given = [marked(each) for name in names for each in job.documents.met(job.given, SERVICE, name)]
    services = [each for each in (*made, *given) if _selects_pods(each, job)]
    if not services or any(text(each, "spec", "publishNotReadyAddresses") == "True" for each in services):
        return None
    where = f"`{host}` is reached only when its pod is ready"
    return where, "remove the probe" if made else "write `publishNotReadyAddresses: true` into the Service, or remove the probe"


RULES = (
    Rule(endpoint_of_no_pod, "warning", sees="any pods in a namespace", reads=command_lines.NAMES),
    Rule(closed_service_port, "warning", sees="any pods in a namespace", reads=command_lines.NAMES),
    Rule(ready_after_rendezvous, "warning", sees="any pods in a namespace", reads=["readinessProbe", "startupProbe"]),
)
