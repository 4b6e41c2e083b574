"""Communication: pods find each other, and talk over the network."""

from __future__ import annotations

from collections import Counter

from jobspec.apis.kinds import CRON_JOB, JOB, MPIJOB, NETWORK_POLICY, POD_TEMPLATES, SERVICE, STATEFUL_SET
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.problems import set_to
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.diagnostics.wording import counted
from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.kubernetes.metadata import bad_label_name, bad_subdomain
from jobspec.lint.container import LintedContainer
from jobspec.lint.linted import LintedJob
from jobspec.lint.network_policies import blocking, labels_of
from jobspec.operators.kuberay import CLUSTER_SPECS, GROUP, HEAD, HEAD_GROUP, NODE_TYPE
from jobspec.operators.made import MINUTES, RANDOM
from jobspec.operators.workloads import JOBS
from jobspec.programs import command_lines
from jobspec.programs.torchrun import ETCD, SAME_RUN, STATIC, nodes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.operators.expansion import ExpandedRole


_ADDRESSES = (*command_lines.ADDRESSES, command_lines.ENDPOINT, command_lines.COORDINATOR)


_ADDRESS_FLAGS = ("--master-addr", "--rdzv-endpoint")


#: Those of accelerate, and of DeepSpeed, Composer and others.
_ADDRESS_FLAGS_OF_LAUNCHERS = ("--main-process-ip", "--master-addr")


#: Those of programs that call `jax.distributed.initialize` and `torch.distributed.init_process_group` with them.
_ADDRESS_FLAGS_OF_PROGRAMS = ("--coordinator-address", "--master-addr", "--dist-url", "--init-method")


_IN_FLAGS = tuple(name for flag in _ADDRESS_FLAGS_OF_PROGRAMS for name in (flag[2:], flag[2:].replace("-", "_")))


#: What command lines and variables with an address mention.
_MENTIONS = (*_ADDRESSES, *command_lines.NAMES, "main-process-ip", "main_process_ip", *_IN_FLAGS)


BACKENDS = ("c10d", "etcd", "etcd-v2", "static", "zeus-adapter")


def wrong_address(job: LintedJob) -> Iterator[Finding]:
    """A hand-written rendezvous address matches none of the job's pods.

    Why: the name is made by the operator from the job's, in the job's namespace; a name from another job or namespace, another operator
    or an older release resolves nowhere, and all pods wait for it until their timeout. Pods of a Job without `completionMode: Indexed`
    have random names, and those of a CronJob other names in each run.
    Instead: leave the address to the operator, which sets it for torchrun, or write the one that the hint gives.
    Before: env: [{name: MASTER_ADDR, value: old-job-master-0}]
    After: env: []
    Evidence: kubernetes-sigs/jobset#603, pytorch/pytorch#80772
    """
    policy = job.tree.get("spec", "elasticPolicy") if job.is_pytorchjob else None
    meeting = policy.get("rdzvHost") if policy and text(policy, "rdzvBackend") in ("", "c10d") else None
    if meeting and (why := _why_of_no_pod(text(meeting), job)):
        yield Finding(meeting, why, f"remove it: the first pod is `{_first(job)}`")
    for container in job.training_containers:
        for host, place in _addresses(container):
            if why := _why_of_no_pod(host, job):
                is_certain = (
                    _pod_of(host, job) or _is_own(host, job) or _looks_generated(host.partition(".")[0])
                )  # else a Service may have it
                yield Finding(place, why, _right_address(job), severity=None if is_certain else "info")


def host_name_without_service(job: LintedJob) -> Iterator[Finding]:
    """A pod of a Job or StatefulSet is addressed by a name that no headless Service makes.

    Why: the pods of an Indexed Job have the host names `<job>-<index>`, and Kubernetes makes no Service for them. Without `subdomain`, or
    without the Service, the cluster's name servers know no pod: all wait for the first one until their timeout. JobSet adds both, but not
    with `network: {enableDNSHostnames: false}`.
    Instead: set `subdomain`, add a Service of that name with `clusterIP: None` that selects the pods, and write `<job>-0.<subdomain>`.
    Before: "command: [torchrun, --master-addr=train-0.train, train.py]"
    After:
        subdomain: train
        command: [torchrun, --master-addr=train-0.train, train.py]
    Evidence: jax-ml/jax#28178, kubernetes/kubernetes#74950; https://kubernetes.io/docs/tasks/job/job-with-pod-to-pod-communication/
    """
    if job.given.group_kind == STATEFUL_SET:
        yield from _of_stateful_set_without_service(job)
    makes_jobset = "JobSet" in job.seen_as
    if job.given.group_kind not in (JOB, CRON_JOB) and not makes_jobset:
        return
    for container in job.training_containers:
        for host, place in _addresses(container):
            if _is_hostname_alone(host, job) and makes_jobset:
                message = f"`{host}` does not resolve: JobSet makes no Service with `enableDNSHostnames: false`"
                yield Finding(place, message, "remove `enableDNSHostnames` of the JobSet")
            elif _is_hostname_alone(host, job):
                message = f"`{host}` does not resolve: the pods have no `subdomain`"
                yield Finding(place, message, "set `subdomain` of the pods, and add a headless Service of that name")
            elif not makes_jobset and _is_pod(host, job):
                subdomain, named = text(container.role.pod_tree, "spec", "subdomain"), host.split(".")[1:2]
                if named not in ([], [subdomain]):
                    yield Finding(
                        place, f"`{host}` does not resolve: the subdomain of the pods is `{subdomain}`", "write it behind the name"
                    )
                elif why := _why_no_address(subdomain, job):
                    message, hint, severity = why
                    yield Finding(place, f"`{host}` does not resolve: {message}", hint, severity=severity)


def _of_stateful_set_without_service(job: LintedJob) -> Iterator[Finding]:
    """Report the addresses of a StatefulSet's pods that no headless Service makes."""
    subdomain = text(job.tree, "spec", "serviceName")
    for container in job.training_containers:
        for host, place in _addresses(container) if container.role.count > 1 else ():
            pod, *rest = host.split(".")
            name, _, number = pod.rpartition("-")
            is_service = job.documents.named(job.given, SERVICE, pod) or job.documents.may_get_name(SERVICE, pod)
            if name != job.given.name or not number.isdecimal() or is_service or rest[:1] == [job.given.namespace]:
                continue
            if rest[:1] != [subdomain]:
                said = f"is `{subdomain}`" if subdomain else "is not set"
                hint = f"write `{pod}.{subdomain}`" if subdomain else "set it to the name of a headless Service"
                yield Finding(place, f"`{host}` does not resolve: the `serviceName` of the StatefulSet {said}", hint)
            elif why := _why_no_address(subdomain, job):
                message, hint, severity = why
                yield Finding(place, f"`{host}` does not resolve: {message}", hint, severity=severity)


def _is_hostname_alone(host: str, job: LintedJob) -> bool:
    """Whether a host is a pod of a job whose pods have host names, and no subdomain in which other pods find them."""
    return _is_pod(host, job) and not any(pod.has_address for role in job.roles for pod in role.pods)


def _why_no_address(subdomain: str, job: LintedJob) -> tuple[str, str, Severity] | None:
    """Return why name servers do not know the pods of a Job in a subdomain, and a hint.

    If they may know the pods, return None.
    """
    services = [each for each in job.documents.of_name(SERVICE, subdomain) if job.documents.are_together(each, job.given)]
    if not services:
        is_known = job.documents.named(job.given, SERVICE, subdomain) or job.documents.may_get_name(SERVICE, subdomain)
        return None if is_known else (f"no Service `{subdomain}` among the files", "add it, with `clusterIP: None`", "info")
    labels = labels_of(job.training[0].pod_tree)
    spec = [(value_at(each.data, ("spec", "selector")) or {}, value_at(each.data, ("spec", "clusterIP"))) for each in services]
    if not any(address == "None" for _, address in spec):
        return f"the Service `{subdomain}` is not headless", "write `clusterIP: None` into it", "warning"
    if not any(selector and selector.items() <= labels.items() for selector, _ in spec):
        return f"the Service `{subdomain}` does not select the pods", "write labels of the pods into its `selector`", "warning"
    return None


def host_network_without_dns(job: LintedJob) -> Iterator[Finding]:
    """`hostNetwork` without `dnsPolicy: ClusterFirstWithHostNet`: cluster names do not resolve.

    Why: the pods find each other by names of services. With `hostNetwork` alone, the policy ClusterFirst falls back to Default: workers
    wait for the master's name in their init container, forever.
    Instead: write `dnsPolicy: ClusterFirstWithHostNet` beside it.
    Fix: sets `dnsPolicy` of the pods.
    Before: spec: {hostNetwork: true}
    After: spec: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet}
    Evidence: kubeflow/pytorch-operator#352
    """
    if job.training_pods < 2:
        return
    for role in job.training:
        network = role.pod_tree.get("spec", "hostNetwork")
        policy = role.pod_tree.get("spec", "dnsPolicy")
        if network and network.value is True and (policy is None or policy.value in (None, "ClusterFirst", "Default")):
            spec = role.pod_tree.get("spec")
            edits = [(spec, set_to(("dnsPolicy",), "ClusterFirstWithHostNet"))] if spec else []
            message = "`hostNetwork` without `ClusterFirstWithHostNet`: the other pods' names do not resolve"
            yield Finding(network, message, "set `dnsPolicy: ClusterFirstWithHostNet`", edits=edits)


def host_port_conflict(job: LintedJob) -> Iterator[Finding]:
    """Pods of one job use the same host port, so that two of them cannot run on one node.

    Why: on the host's network, a port of the container is a port of the host. The scheduler keeps the second pod waiting where the first
    one is; the SSH server of an MPIJob's worker, whose port no pod declares, ends with "address already in use".
    Instead: keep the pods apart by anti-affinity, or leave the host's network.
    Before: spec: {hostNetwork: true, containers: [{ports: [{containerPort: 29500}]}]}
    After: spec: {hostNetwork: true, affinity: {podAntiAffinity: {}}, containers: [{ports: [{containerPort: 29500}]}]}
    Evidence: https://kubernetes.io/docs/concepts/configuration/overview/#services
    """
    on_host = [role for role in job.training if text(role.pod_tree, "spec", "hostNetwork") == "True" and _serves_a_port(job, role)]
    if sum(role.count for role in on_host) < 2:
        return
    for role in on_host:
        pod = role.pod_tree
        network = pod.get("spec", "hostNetwork")
        apart = pod.get("spec", "affinity", "podAntiAffinity") or pod.get("spec", "topologySpreadConstraints")
        if network and not apart:
            message = "host port conflict: two pods of the job cannot run on the same node"
            yield Finding(network, message, "spread them by pod anti-affinity")


def overriding_flags(job: LintedJob) -> Iterator[Finding]:
    """A torchrun flag overrides what the operator sets, with another value.

    Why: a flag wins over the variables by which the operator passes the number of nodes and the rank to torchrun. With another number the
    pods wait for more than there are, or begin without the others, each for itself; with a fixed rank, all pods are the same node. An
    elastic job with one number is elastic no more: it does not go on without a lost Worker, and a Worker that is added waits outside.
    Instead: leave the flag out; the operator sets `PET_NNODES`, `PET_NODE_RANK`, `PET_MASTER_ADDR` and the others.
    Before: command: [torchrun, --nnodes=4, train.py]
    After: command: [torchrun, train.py]
    Evidence: https://docs.pytorch.org/docs/stable/elastic/run.html
    """
    ranks = _pods_by_rank(job)
    for container in job.training_containers:
        program = container.program
        settings = program.settings if program.is_torchrun else None
        for name, value, place in container.torchrun_flags:
            if name == "--standalone" and job.training_pods > 1 and settings is None:
                yield Finding(place, f"`--standalone`: the {job.training_pods} pods do not train together", "remove the flag")
            elif name == "--nnodes":
                from jobspec.outcome.rendezvous import waits_for_more_pods

                said = (settings.value("nnodes") if settings else value) or ""
                wanted = text(container.variable(command_lines.NNODES), "value")
                is_told = settings is not None and (nodes_of(said) == (1, 1) or waits_for_more_pods(job.expanded, program))
                why = "" if is_told else _why_other_nodes(nodes_of(said), nodes_of(wanted), job.training_pods)
                if why:
                    yield Finding(place, f"torchrun gets {said} as the number of nodes, {why.format(wanted)}", "remove the flag")
            elif name == "--node-rank" and (count := ranks[value]) > 1 and not (settings and settings.backend != STATIC):
                message = f"all {count} pods get node rank {value}"
                yield Finding(place, message, "remove the flag: the operator sets the rank")


def _why_other_nodes(said: tuple[int, int] | None, wanted: tuple[int, int] | None, pods: int) -> str:
    """Say what is wrong with the nodes of a flag, with `{}` for those of the operator; empty if nothing is."""
    if said is None or wanted is None:
        return ""
    if wanted[0] == wanted[1] and said[0] == said[1]:
        return "the job has {}" if said != wanted else ""
    if not said[0] <= pods <= said[1]:
        return f"the job has {pods}"
    return "the elastic policy says {}" if wanted[0] < said[0] or said[1] < wanted[1] else ""


def _pods_by_rank(job: LintedJob) -> Counter[str]:
    """The numbers of the pods that get a node rank as a number by a flag of torchrun, by rank."""
    found: Counter[str] = Counter()
    for container in job.training_containers:
        for name, value, _ in container.torchrun_flags:
            if name == "--node-rank" and value.isdigit():
                found[value] += container.role.meeting
    return found


def ignored_by_static(job: LintedJob) -> Iterator[Finding]:
    """Torchrun has a range of nodes or a timeout that its static rendezvous ignores.

    Why: the static rendezvous, which is the default, waits for the most nodes of a range, and reads `timeout` alone of `--rdzv-conf`. The
    job does not begin with fewer nodes, nor go on without one that is lost.
    Instead: a fixed number of nodes; or `--rdzv-backend=c10d` with `--rdzv-endpoint`, which is elastic.
    Before: "command: [torchrun, '--nnodes=1:2', train.py]"
    After: "command: [torchrun, '--nnodes=1:2', --rdzv-backend=c10d, '--rdzv-endpoint=job-node-0-0.job:29400', train.py]"
    Evidence: `StaticTCPRendezvous` of torch.distributed.elastic.rendezvous, 2.15
    """
    for container in job.training_containers:
        settings = container.program.settings if container.program.is_torchrun else None
        setting = settings.ignored_by_static if settings else ""
        if settings and setting == "nnodes":
            message = f"the static rendezvous ignores the minimum of `{settings.value(setting)}` nodes: all have to be there"
            yield Finding(container.program.place_of(setting), message, "give `--rdzv-backend=c10d` and `--rdzv-endpoint`, or one number")
        elif settings and setting:
            message = f"the static rendezvous reads `timeout` alone, not `{settings.value(setting)}`"
            yield Finding(container.program.place_of(setting), message, "write `timeout=SECONDS`, or use `--rdzv-backend=c10d`")


def shared_run_id(job: LintedJob) -> Iterator[Finding]:
    """The rendezvous at an etcd server has no run id of its own.

    Why: without an id, every job at that server is the run `none`. A rendezvous that one of them has closed stays closed at the server: the
    next job ends with `RendezvousClosedError`, and two at once join each other. With c10d, the rendezvous ends with its job.
    Instead: an id for each run: `rdzvId` of the elastic policy, `--rdzv-id` of torchrun.
    Before: elasticPolicy: {rdzvBackend: etcd-v2, rdzvHost: etcd.infra}
    After: elasticPolicy: {rdzvBackend: etcd-v2, rdzvHost: etcd.infra, rdzvId: tune-1}
    Evidence: pytorch/pytorch#82160, kubeflow/trainer#1638
    """
    for container in job.training_containers:
        settings = container.program.settings if container.program.is_torchrun else None
        if settings and settings.shares_its_run:
            place = container.program.place_of("rdzv_backend")
            hint = "set `rdzvId`" if job.is_pytorchjob else "give torchrun `--rdzv-id`"
            yield Finding(place, f"`{settings.backend}` without a run id: every job at that server is the run `{SAME_RUN}`", hint)


def elastic_with_master(job: LintedJob) -> Iterator[Finding]:
    """An elastic job has a Master, which is not counted in its nodes.

    Why: training-operator passes only the range of Workers to torchrun, and the Master joins as well: with all Workers there,
    one pod too many waits outside.
    Instead: let the Workers be all; any of them can be the first.
    Before: pytorchReplicaSpecs: {Master: {replicas: 1}, Worker: {replicas: 2}}
    After: pytorchReplicaSpecs: {Worker: {replicas: 3}}
    Evidence: kubeflow/trainer#2277
    """
    master = job.tree.get("spec", "pytorchReplicaSpecs", "Master")
    if master and job.tree.get("spec", "elasticPolicy"):
        yield Finding(master, "the Master joins the elastic job, but is not counted", "use Workers only")


def elastic_range(job: LintedJob) -> Iterator[Finding]:
    """`minReplicas` and `maxReplicas` contradict each other, or the number of Workers.

    Why: torchrun ends at once where the least number of nodes is above the most; with fewer Workers than the least, all wait until their
    timeout, and with more than the most, some wait outside forever.
    Instead: `minReplicas` at most `replicas`, and that at most `maxReplicas`.
    Before:
        elasticPolicy: {minReplicas: 4, maxReplicas: 8}
        Worker: {replicas: 2}
    After:
        elasticPolicy: {minReplicas: 2, maxReplicas: 8}
        Worker: {replicas: 2}
    Evidence: `parse_min_max_nnodes` of torch.distributed.run; kubeflow/trainer#2277
    """
    policy = job.tree.get("spec", "elasticPolicy")
    is_overridden = any(name == "--nnodes" for each in job.training_containers for name, _, _ in each.torchrun_flags)
    if policy and policy.get("metrics"):
        return  # the server refuses an autoscaler with such limits, which is reported as the job's outcome
    least, most = (policy and policy.get(name) for name in ("minReplicas", "maxReplicas"))
    low, high = (each.value if each and isinstance(each.value, int) else None for each in (least, most))
    workers = next((role.count for role in job.roles if role.name == "Worker"), 0)
    if least and low is not None and high is not None and low > high:
        yield Finding(least, f"`minReplicas` ({low}) is above `maxReplicas` ({high})", "raise `maxReplicas`")
    elif is_overridden:
        return  # `overriding_flags` says what its number means
    elif least and low is not None and 0 < workers < low:
        yield Finding(least, f"{counted(workers, 'Worker')} wait for {low}", "add Workers, or lower `minReplicas`")
    elif most and high is not None and workers > high:
        yield Finding(most, f"only {high} of {workers} Workers can join", "remove Workers, or raise `maxReplicas`")


def blocked_by_policy(job: LintedJob) -> Iterator[Finding]:
    """NetworkPolicies block the traffic or the DNS queries between the job's pods.

    Why: pods that a policy selects accept what some policy allows, and nothing else; the same holds for what they send. The workers wait
    for the first pod until their timeout, those of training-operator already in the init container that asks for the Master's name, those
    of Ray in the one that asks for the head; NCCL needs ports that nobody knows before.
    Instead: a policy that allows all traffic between the pods of the job, and the port 53 of the cluster's name servers.
    Before: spec: {podSelector: {}, policyTypes: [Ingress]}
    After: spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{podSelector: {}}]}]}
    Evidence: kubeflow/trainer#3120, kubeflow/pytorch-operator#216, ray-project/kuberay#1282
    """
    if found := next(filter(None, (_blocked(job, role, peers) for role, peers in _of_ray_cluster(job))), None):
        yield found  # the head and its workers need each other: one finding says it
    elif job.training_pods > 1:
        for role in job.training:
            if found := _blocked(job, role, [each for each in job.training if each is not role or role.count > 1]):
                yield found


def _blocked(job: LintedJob, role: ExpandedRole, peers: Sequence[ExpandedRole]) -> Finding | None:
    """The NetworkPolicy that keeps the pods of a role from its *peers*; None if there is none."""
    own = labels_of(role.pod_tree)
    policies = job.documents.selecting(job.given, NETWORK_POLICY, ("spec", "podSelector", "matchLabels"), own)
    found = blocking(policies, own, [labels_of(each.pod_tree) for each in peers])
    if found is None:
        return None
    policy, what, hint = found
    place = job.replica_spec(role) or _ray_group(job, role) or ("metadata", "name")
    return Finding(place, f"the NetworkPolicy `{policy.name}` blocks {what}", hint)


def _of_ray_cluster(job: LintedJob) -> Iterator[tuple[ExpandedRole, list[ExpandedRole]]]:
    """The roles of a Ray cluster with those whose pods each has to reach: the head all others, and they the head."""
    head = next((each for each in job.roles if labels_of(each.pod_tree).get(NODE_TYPE) == HEAD), None)
    others = [each for each in job.roles if each is not head and each.count]
    if head and others:
        yield head, others
        yield from ((each, [head]) for each in others)


def _ray_group(job: LintedJob, role: ExpandedRole) -> MarkedTree | None:
    """What a Ray object says of the group of a role; None for another object."""
    path, group = CLUSTER_SPECS.get(job.given.kind), labels_of(role.pod_tree).get(GROUP)
    if path is None or group is None:
        return None
    if group == HEAD_GROUP:
        return job.tree.get(*path, "headGroupSpec")
    return next((each for each in items(job.tree.get(*path, "workerGroupSpecs")) if text(each, "groupName") == group), None)


def unknown_rendezvous_backend(job: LintedJob) -> Iterator[Finding]:
    """`rdzvBackend` names a backend that torchrun does not have.

    Why: the server accepts any text, and every pod ends at once with "the rendezvous backend is not registered".
    Instead: c10d, which needs nothing else, or etcd-v2.
    Fix: writes the name that torchrun knows, where there is one alone, into `PET_RDZV_BACKEND`.
    Before: elasticPolicy: {rdzvBackend: C10D}
    After: elasticPolicy: {rdzvBackend: c10d}
    Evidence: https://docs.pytorch.org/docs/stable/elastic/rendezvous.html
    """
    said = job.tree.get("spec", "elasticPolicy", "rdzvBackend")
    if said and said.value and said.value not in BACKENDS:
        near = next((each for each in BACKENDS if each == str(said.value).lower()), "")
        edits = [(said, set_to((), near))] if near else ()
        yield Finding(said, f"torchrun has no rendezvous backend `{said.value}`", f"write `{near or 'c10d'}`", edits=edits)


def _serves_a_port(job: LintedJob, role: ExpandedRole) -> bool:
    """Whether each pod of a role has a port of its own.

    A container declares it, or it is that of the SSH server of an MPIJob.
    """
    containers = (each for field in ("initContainers", "containers") for each in items(role.pod_tree.get("spec", field)))
    return job.given.group_kind == MPIJOB or any(items(each.get("ports")) for each in containers)


def _addresses(container: LintedContainer) -> Iterator[tuple[str, MarkedTree]]:
    """The hosts of the addresses that a file writes by hand, and their places; each host once at a place."""

    def host(value: str) -> str:
        return _host(container.expanded(value, without=_ADDRESSES))

    is_at_etcd = container.program.is_torchrun and container.program.settings.backend in ETCD
    names = command_lines.ADDRESSES if is_at_etcd else _ADDRESSES
    written = [each.get("value") for name, each in container.variables if name in names and each.mark.line]
    found = [(host(str(value.value)), value) for value in written if value and value.mark.line and value.value]
    if container.launcher == "torchrun":
        flags = _ADDRESS_FLAGS[:1] if is_at_etcd else _ADDRESS_FLAGS
        found += [(host(value), place) for name, value, place in container.torchrun_flags if name in flags]
    elif any(command_lines.file_name(word) in command_lines.LAUNCHERS for word, _ in container.words):
        found += [(host(value), place) for name, value, place in container.flags if name in _ADDRESS_FLAGS_OF_LAUNCHERS]
    elif container.launcher:
        given = [(host(value), place) for name, value, place in container.flags if name in _ADDRESS_FLAGS_OF_PROGRAMS]
        found += [(said, place) for said, place in given if _looks_generated(said.partition(".")[0])]
    # a script has more than addresses: text that it prints, code in another language
    assigned = [(host(value), place) for name, value, place in container.assignments if name in names]
    found += [(said, place) for said, place in assigned if not bad_subdomain(said)]
    yield from {(said, id(place)): (said, place) for said, place in found if said}.values()


def _host(address: str) -> str:
    """The host of an address, without its scheme and its port."""
    return address.rpartition("://")[2].partition(":")[0]


def _why_of_no_pod(host: str, job: LintedJob) -> str:
    """Why a host can only be meant as a pod of the job, and is none; empty if that is not so."""
    message = f"no pod of the job has the address `{host}`"
    known = _pod_of(host, job)
    if known is None:
        return message if _is_internal(host, job) and not _is_hostname_alone(host, job) else ""
    namespace, own = host[len(known) + 1 :].partition(".")[0], job.given.namespace
    is_elsewhere = namespace != own and not any(map(bad_label_name, (namespace, own)))  # neither is absent, nor a placeholder
    if not is_elsewhere or any(each.namespace == namespace for each in job.documents.of_name(SERVICE, host.partition(".")[0])):
        return ""
    return f"{message}: the namespace of the job is `{own}`"


def _pod_of(host: str, job: LintedJob) -> str | None:
    """The name of a pod of the job within its namespace, with which a host begins; None if it begins with none."""
    first, _, rest = host.partition(".")
    pods = [pod for role in job.roles for pod in role.pods if pod.has_address]
    for subdomain in dict.fromkeys(pod.host_name.partition(".")[2] for pod in pods):
        own = [pod.host_name.partition(".")[0] for pod in pods if pod.host_name.partition(".")[2] == subdomain]
        if f"{rest}.".startswith(f"{subdomain}." if subdomain else "") and _is_among(first, own):
            return f"{first}.{subdomain}" if subdomain else first
    return None


def _is_pod(host: str, job: LintedJob) -> bool:
    """Whether the first part of a host is the host name of a pod of the job."""
    return _is_among(host.partition(".")[0], [text(pod.tree, "spec", "hostname") for role in job.roles for pod in role.pods])


def _is_among(name: str, ends: Sequence[str]) -> bool:
    """Whether a name is one of some names, or has a number between two of them, which stand for those between."""
    if not name or name in ends:
        return bool(name)
    beginning, _, number = name.rpartition("-")
    numbers = [int(end) for start, _, end in (each.rpartition("-") for each in ends) if start == beginning and end.isdecimal()]
    return bool(numbers) and number.isdecimal() and str(int(number)) == number and min(numbers) <= int(number) <= max(numbers)


def _is_internal(host: str, job: LintedJob) -> bool:
    """Whether a host can only be a name of the job's own namespace: it is a plain name, or ends as those do."""
    if not host or "$" in host or host in ("localhost",) or host.replace(".", "").isdigit() or ":" in host:
        return False
    first, _, rest = host.partition(".")
    if job.documents.named(job.given, SERVICE, first):
        return False
    if _is_own(host, job):
        return True
    if rest and job.documents.named(job.given, SERVICE, rest.partition(".")[0]):
        return False
    return not rest or rest.endswith((".svc", ".svc.cluster.local")) or _looks_generated(first)


def _is_own(host: str, job: LintedJob) -> bool:
    """Whether a host is made like a pod of this job in its subdomain, and no other object among the files has pods of such a name."""
    first, _, rest = host.partition(".")
    number = first.removeprefix(f"{job.given.name}-")
    is_alike = number != first and (number.isdecimal() if job.given.group_kind in (JOB, CRON_JOB) else _looks_generated(first))
    if not rest or not is_alike:
        return False
    subdomains = {text(role.pod_tree, "spec", "subdomain") for role in job.training}
    if rest.partition(".")[0] not in subdomains and (subdomains != {""} or job.documents.of_name(SERVICE, rest.partition(".")[0])):
        return False
    parts = first.split("-")
    names = ["-".join(parts[:end]) for end in range(1, len(parts) + 1)]
    found = (each for kind in (*POD_TEMPLATES, *JOBS) for name in names for each in job.documents.of_name(kind, name))
    return not any(each is not job.given and each.namespace in ("", job.given.namespace) for each in found)


def _looks_generated(name: str) -> bool:
    """Whether a name has the form of an operator's: `<job>-master-0`, `<job>-node-0-0`."""
    parts = name.split("-")
    return len(parts) > 2 and parts[-1].isdigit() and (parts[-2] in ("master", "worker", "node") or parts[-2].isdigit())


def _right_address(job: LintedJob) -> str:
    """The hint with the address of the first pod, or why no file can have one."""
    first = _first(job)
    if RANDOM in first and job.given.group_kind in (JOB, CRON_JOB):
        return "set `completionMode: Indexed`: the host names of the pods are random"
    if MINUTES in first:
        return f"read the name from the pod's label `job-name`: each run has another first pod, `{first}`"
    return f"the first one is `{first}`"


def _first(job: LintedJob) -> str:
    """The host name of the pod of rank 0."""
    pods = [pod for role in job.training for pod in role.pods]
    return next((pod.host_name for pod in pods if pod.rank == "0"), pods[0].host_name)


RULES = (
    Rule(wrong_address, "warning", sees="job", reads=[*_MENTIONS, "rdzvHost"]),
    Rule(host_name_without_service, "warning", sees="any pods in a namespace", reads=_MENTIONS),
    Rule(host_network_without_dns, "warning", reads=["hostNetwork"], has_unsafe_fix=True),
    Rule(host_port_conflict, "info", reads=["hostNetwork"]),
    Rule(overriding_flags, "warning", sees="job", reads=command_lines.NAMES),
    Rule(ignored_by_static, "info", reads=command_lines.NAMES),
    Rule(shared_run_id, "warning", reads=["etcd"]),
    Rule(elastic_with_master, "warning", sees="PyTorchJob", reads=["elasticPolicy"]),
    Rule(elastic_range, "warning", sees="PyTorchJob", reads=["elasticPolicy"]),
    Rule(blocked_by_policy, "warning", sees="job", kinds=[NETWORK_POLICY]),
    Rule(unknown_rendezvous_backend, "warning", sees="PyTorchJob", reads=["rdzvBackend"]),
)
