"""What KubeRay's validation refuses of an object that the API server accepts: an event or the status says so, and that is the end.

Follows `ValidateRayClusterMetadata`, `ValidateRayJobMetadata`, `ValidateRayJobSpec`, `validateDeletionConfiguration`,
`ValidateRayServiceMetadata`, `ValidateRayServiceSpec`, `ValidateClusterUpgradeOptions` and `ValidateRayCronJobSpec`,
github.com/ray-project/kuberay ray-operator/controllers/ray/utils, 1.4.2 to 1.7.0, with the default feature gates.
"""

from __future__ import annotations

from itertools import pairwise

from jobspec.apis.releases import QUEUES, is_at_least
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Key, value_at
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.rules import Finding
from jobspec.go.values import mapping, string_map, structs
from jobspec.kubernetes.metadata import bad_dns1035_label, generated_name
from jobspec.operators.kuberay import INTERACTIVE_MODE, JOB_MODE, JOB_SPECS, SIDECAR_MODE
from jobspec.operators.kuberay.cluster_rules import ClusterSpec, cluster_refusals, upgrade_refusals
from jobspec.operators.webhooks import unlistable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.diagnostics.places import Data, Path
    from jobspec.documents.document import Document
    from jobspec.documents.marked_tree import MarkedTree

LONGEST_CLUSTER = 53
RANDOM_PART = 6
"""The characters that KubeRay adds to the name of what it makes: a dash and five more."""
RUN_PART = 11
"""The characters that KubeRay 1.7 reserves for what it adds to the name of a RayCronJob: a dash and the minute of the run."""
LONGEST_CRON_JOB = LONGEST_CLUSTER - RANDOM_PART - RUN_PART
IN_STEPS = "NewClusterWithIncrementalUpgrade"
"""The type of upgrade by which a RayService moves to a new cluster step by step."""
_TIMEOUT = "ray.io/initializing-timeout"
_SELECTOR = "ray.io/cluster"


def refusals(document: Document, stored: MarkedTree, target: Target) -> list[Diagnostic]:
    """What KubeRay refuses of a Ray object. *stored*: the object with the defaults of its CRD."""
    found = unlistable(document, target) or _BY_KIND[document.kind](document, stored.data(), target["kuberay"])
    return [document.diagnostic(Finding(each.at, each.message, each.hint), "refused-by-operator") for each in found]


def _of_cluster(document: Document, data: Data, release: str) -> Iterator[Finding]:
    yield from _name(document, LONGEST_CLUSTER)
    yield from cluster_refusals(ClusterSpec(("spec",), mapping(data, "spec"), _annotations(data), release))


def _annotations(data: Data) -> dict[str, str]:
    return string_map(mapping(data, "metadata"), "annotations")


def _name(document: Document, longest: int, why: str = "") -> Iterator[Finding]:
    """Why the name of an object is refused: it is too long, or no DNS label of RFC 1035."""
    metadata = document.data["metadata"]
    key = "name" if metadata.get("name") else "generateName"
    written = str(metadata.get(key) or "")
    name = written if key == "name" else generated_name(written)
    if len(name) > longest:
        message = f"`{written}` is too long for the name of a {document.kind}: {len(name)} characters, at most {longest}{why}"
        yield Finding(("metadata", key), message, "shorten it")
    elif wrong := bad_dns1035_label(name):
        yield Finding(("metadata", key), f"`{written}` cannot be the name of a {document.kind}: {wrong}")


# RayJobs.


class RayJobSpec(Record):
    """The spec of a RayJob in its object."""

    path: Path
    data: Data
    annotations: dict[str, str]
    release: str
    """Of KubeRay."""

    @property
    def selects(self) -> bool:
        """Whether it uses a cluster of others."""
        return bool(self.data.get("clusterSelector"))

    @property
    def shuts_down(self) -> bool:
        """Whether its cluster is deleted at the end."""
        return self.data.get("shutdownAfterJobFinishes") is True

    @property
    def cluster(self) -> ClusterSpec | None:
        """The cluster that it makes; None where it writes none."""
        spec = self.data.get("rayClusterSpec")
        return None if spec is None else ClusterSpec((*self.path, "rayClusterSpec"), spec, self.annotations, self.release)

    def finding(self, field: str, message: str, hint: str = "") -> Finding:
        """A finding at a field."""
        return Finding((*self.path, *field.split(".")), message, hint)

    def number(self, field: str) -> int | None:
        """A number at a field; None without one."""
        found = self.data.get(field)
        return found if isinstance(found, int) else None


def _of_job(document: Document, data: Data, release: str) -> Iterator[Finding]:
    yield from _name(document, LONGEST_CLUSTER - RANDOM_PART)
    yield from _job(RayJobSpec(("spec",), mapping(data, "spec"), _annotations(data), release))


def _job(job: RayJobSpec) -> Iterator[Finding]:
    yield from _suspension(job)
    yield from _deletion(job)
    yield from _selector(job)
    yield from _submission(job)
    cluster = job.cluster
    if cluster:
        if mapping(cluster.data, "authOptions").get("enableK8sTokenAuth") is True:
            message = "KubeRay refuses `enableK8sTokenAuth` in a RayJob"
            yield Finding((*cluster.path, "authOptions", "enableK8sTokenAuth"), message, "remove it")
        yield from cluster_refusals(cluster)
        yield from upgrade_refusals(cluster, "RayJob")
    yield from _numbers(job)


def suspension_refusals(document: Document, target: Target, *, in_queue: bool) -> list[Diagnostic]:
    """Return KubeRay's refusals of a RayJob because it is suspended.

    The user suspends the RayJob, or Kueue does while the RayJob is *in_queue*.
    """
    path = JOB_SPECS.get(document.kind)
    spec = value_at(document.data, path) if path else None
    if path is None or not isinstance(spec, dict):
        return []
    job = RayJobSpec(path, spec, {}, target["kuberay"])
    if spec.get("suspend") is True:
        return [document.diagnostic(each, "refused-by-operator") for each in _suspension(job)]
    if not in_queue or not job.selects:
        return []
    message = "Kueue suspends a RayJob in a queue, and KubeRay fails a suspended one with a `clusterSelector` for good"
    finding = job.finding("clusterSelector", message, "remove the queue name: the cluster that it uses can be in a queue")
    severity: Severity = "error" if QUEUES in target else "warning"
    return [document.diagnostic(Finding(finding.at, finding.message, finding.hint, severity=severity), "refused-by-operator")]


def _suspension(job: RayJobSpec) -> Iterator[Finding]:
    if job.data.get("suspend") is not True:
        return
    if not job.shuts_down:
        message = "a suspended RayJob needs `shutdownAfterJobFinishes: true`: KubeRay fails it for good"
        yield job.finding("suspend", message, "write `shutdownAfterJobFinishes: true`")
    if job.selects:
        yield job.finding("suspend", "a RayJob with a `clusterSelector` cannot be suspended", "remove `suspend`")


def _selector(job: RayJobSpec) -> Iterator[Finding]:
    if not job.selects:
        if job.cluster is None:
            yield job.finding("rayClusterSpec", "the RayJob has no cluster", "write `rayClusterSpec`, or a `clusterSelector`")
        return
    if not is_at_least(job.release, "1.5.0"):
        return
    if not job.data["clusterSelector"].get(_SELECTOR):
        yield job.finding("clusterSelector", f"`clusterSelector` names no cluster in `{_SELECTOR}`", f"write `{_SELECTOR}: NAME`")
    if job.data.get("submissionMode") == SIDECAR_MODE:
        yield job.finding("submissionMode", "`SidecarMode` cannot be combined with a `clusterSelector`", "choose another mode")
    if is_at_least(job.release, "1.6.0") and (job.number("backoffLimit") or 0) > 0:
        yield job.finding("backoffLimit", "`backoffLimit` cannot be combined with a `clusterSelector`", "remove it")


def _submission(job: RayJobSpec) -> Iterator[Finding]:
    mode = job.data.get("submissionMode")
    submitter = job.data.get("submitterPodTemplate")
    if submitter is not None and mode in (None, "", JOB_MODE) and not mapping(submitter, "spec").get("containers"):
        message = "KubeRay cannot submit the program: `submitterPodTemplate` has no container"
        yield job.finding("submitterPodTemplate", message, "write its container, or remove it: KubeRay makes one then")
    if mode == INTERACTIVE_MODE and (job.number("backoffLimit") or 0) > 0:
        yield job.finding("backoffLimit", "`backoffLimit` cannot be combined with `InteractiveMode`", "remove it")
    if mode == SIDECAR_MODE:
        for field in ("submitterPodTemplate", "submitterConfig"):
            if job.data.get(field) is not None:
                yield job.finding(field, f"`{field}` cannot be combined with `SidecarMode`", "remove it")
        path = ("rayClusterSpec", "headGroupSpec", "template", "spec", "restartPolicy")
        policy = value_at(job.data, path)
        if policy not in (None, "", "Never"):
            message = f"`restartPolicy: {policy}` of the head cannot be combined with `SidecarMode`"
            yield Finding((*job.path, *path), message, "write `Never`, or remove it")


def _numbers(job: RayJobSpec) -> Iterator[Finding]:
    if _is_no_mapping(str(job.data.get("runtimeEnvYAML") or "")):
        yield job.finding("runtimeEnvYAML", "`runtimeEnvYAML` is not a YAML mapping", "write one, such as `pip: [torch]`")
    for field in ("activeDeadlineSeconds", "preRunningDeadlineSeconds"):
        value = job.number(field)
        if value is not None and value <= 0:
            yield job.finding(field, f"`{field}` must be above 0, not {value}")
    for field in ("backoffLimit", "ttlSecondsAfterFinished"):
        if (job.number(field) or 0) < 0:
            yield job.finding(field, f"`{field}` must not be negative: {job.number(field)}")


def _is_no_mapping(written: str) -> bool:
    """Whether a text is no YAML, or that of a list or a scalar."""
    from jobspec.documents.reader import read

    if not written.strip():
        return False
    documents, problems = read(written, file="runtimeEnvYAML")
    if any(each.rule == "yaml-syntax" for each in problems):
        return True
    return bool(documents) and not isinstance(documents[0].data, dict)


# How a RayJob's cluster is deleted at the end.


_ORDER = ("DeleteWorkers", "DeleteCluster", "DeleteSelf")


def _deletion(job: RayJobSpec) -> Iterator[Finding]:
    if not job.shuts_down and (job.number("ttlSecondsAfterFinished") or 0) > 0:
        message = "`ttlSecondsAfterFinished` needs `shutdownAfterJobFinishes: true`"
        yield job.finding("ttlSecondsAfterFinished", message, "write `shutdownAfterJobFinishes: true`, or remove it")
    field = "deletionStrategy" if is_at_least(job.release, "1.5.0") else "deletionPolicy"
    strategy = job.data.get(field)
    if strategy is None:
        return
    if not is_at_least(job.release, "1.6.0"):
        yield job.finding(field, f"KubeRay {job.release} refuses `{field}`: RayJobDeletionPolicy is off by default", "remove it")
        return
    rules, at = structs(strategy, "deletionRules"), (*job.path, "deletionStrategy")
    if rules and job.shuts_down:
        message = "`deletionRules` cannot be combined with `shutdownAfterJobFinishes`"
        yield job.finding("shutdownAfterJobFinishes", message, "remove one of them")
    if not rules:
        yield from _older_deletion(job, strategy, at)
        return
    known: dict[tuple[str, str], dict[str, int]] = {}
    for number, rule in enumerate(rules):
        policy, condition, place = str(rule.get("policy")), mapping(rule, "condition"), (*at, "deletionRules", number)
        if why := _why_not(policy, job):
            yield Finding((*place, "policy"), f"`{policy}` {why}")
            continue
        name = next((each for each in ("jobStatus", "jobDeploymentStatus") if condition.get(each)), "")
        times = known.setdefault((name, str(condition.get(name))), {})
        if policy in times:
            yield Finding(place, f"two rules say `{policy}` at `{name}: {condition.get(name)}`", "remove one of them")
            continue
        times[policy] = int(condition.get("ttlSeconds") or 0)
    for (name, value), times in known.items():
        yield from _out_of_order(times, f"{name}: {value}", (*at, "deletionRules"))


def _out_of_order(times: dict[str, int], condition: str, at: Path) -> Iterator[Finding]:
    """The rules by which more is deleted earlier than less."""
    given = [each for each in _ORDER if each in times]
    for before, after in pairwise(given):
        if times[after] < times[before]:
            message = f"at `{condition}`, `{after}` comes after {times[after]} s, before `{before}` after {times[before]} s"
            yield Finding(at, message, f"give `{after}` a `ttlSeconds` of {times[before]} or more")


def _why_not(policy: str, job: RayJobSpec) -> str:
    """Why a policy of deletion is refused; empty where it is not."""
    if job.selects and policy in ("DeleteCluster", "DeleteWorkers"):
        return "cannot be combined with a `clusterSelector`"
    scales = job.cluster is not None and job.cluster.scales
    return "cannot be combined with an autoscaler" if scales and policy == "DeleteWorkers" else ""


def _older_deletion(job: RayJobSpec, strategy: Data, at: Path) -> Iterator[Finding]:
    for field in ("onSuccess", "onFailure"):
        policy = mapping(strategy, field).get("policy")
        place = (*at, field, "policy")
        if policy is None:
            yield Finding(place, f"`{field}` has no `policy`", "write one, such as `DeleteCluster`")
        elif why := _why_not(str(policy), job):
            yield Finding(place, f"`{policy}` {why}")
        elif policy == "DeleteNone" and job.shuts_down:
            yield Finding(place, "`DeleteNone` cannot be combined with `shutdownAfterJobFinishes`", "remove one of them")


# RayServices and RayCronJobs.


def _of_service(document: Document, data: Data, release: str) -> Iterator[Finding]:
    yield from _name(document, LONGEST_CLUSTER - RANDOM_PART)
    annotations = _annotations(data)
    if _TIMEOUT in annotations and is_at_least(release, "1.5.0") and not _is_positive_time(annotations[_TIMEOUT]):
        message = f"`{annotations[_TIMEOUT]}` is no time above 0"
        yield Finding(("metadata", "annotations", Key(_TIMEOUT)), message, "write a duration such as `5m`, or a number of seconds")
    spec = mapping(data, "spec")
    cluster = ClusterSpec(("spec", "rayClusterConfig"), mapping(spec, "rayClusterConfig"), annotations, release)
    if mapping(cluster.data, "authOptions").get("enableK8sTokenAuth") is True:
        message = "KubeRay refuses `enableK8sTokenAuth` in a RayService"
        yield Finding((*cluster.path, "authOptions", "enableK8sTokenAuth"), message, "remove it")
    yield from cluster_refusals(cluster)
    yield from upgrade_refusals(cluster, "RayService")
    if mapping(cluster.data, "headGroupSpec", "headService", "metadata").get("name"):
        place = (*cluster.path, "headGroupSpec", "headService", "metadata", "name")
        yield Finding(place, "KubeRay refuses a name of the `headService` in a RayService", "remove it")
    upgrade, known = mapping(spec, "upgradeStrategy").get("type"), ("NewCluster", "None", IN_STEPS)
    if upgrade is not None and upgrade not in known:
        yield Finding(("spec", "upgradeStrategy", "type"), f"`{upgrade}` is no type of upgrade", "write `NewCluster` or `None`")
    if upgrades_in_steps(upgrade, release):
        yield from _steps(mapping(spec, "upgradeStrategy"), cluster)
    delay = spec.get("rayClusterDeletionDelaySeconds")
    if isinstance(delay, int) and delay < 0:
        yield Finding(("spec", "rayClusterDeletionDelaySeconds"), f"`rayClusterDeletionDelaySeconds` is negative: {delay}")


def upgrades_in_steps(upgrade: str | None, release: str) -> bool:
    """Whether a RayService moves to a new cluster in steps: its type of *upgrade* has a feature gate, which is on since 1.7.0."""
    return upgrade == IN_STEPS and is_at_least(release, "1.7.0")


def _steps(strategy: Data, cluster: ClusterSpec) -> Iterator[Finding]:
    """What KubeRay refuses of an upgrade in steps."""
    at: Path = ("spec", "upgradeStrategy")
    if not cluster.scales:
        yield Finding((*at, "type"), f"`{IN_STEPS}` needs an autoscaler", "write `enableInTreeAutoscaling: true` in `rayClusterConfig`")
    options, at = strategy.get("clusterUpgradeOptions"), (*at, "clusterUpgradeOptions")
    if options is None:
        yield Finding(at, f"`{IN_STEPS}` needs `clusterUpgradeOptions`", "write `stepSizePercent`, `intervalSeconds`, `gatewayClassName`")
        return
    most, step, interval = (options.get(name) for name in ("maxSurgePercent", "stepSizePercent", "intervalSeconds"))
    for name, value in (("maxSurgePercent", most), ("stepSizePercent", step)):
        if isinstance(value, int) and not 0 <= value <= 100:
            yield Finding((*at, name), f"`{name}` is not between 0 and 100: {value}")
    if isinstance(most, int) and isinstance(step, int) and step > most:
        message = f"`stepSizePercent` ({step}) is above `maxSurgePercent` ({most})"
        yield Finding((*at, "stepSizePercent"), message, "lower `stepSizePercent`, or raise `maxSurgePercent`")
    if isinstance(interval, int) and interval <= 0:
        yield Finding((*at, "intervalSeconds"), f"`intervalSeconds` must be above 0, not {interval}")
    if options.get("gatewayClassName") == "":
        yield Finding((*at, "gatewayClassName"), "`gatewayClassName` is empty", "write the name of a GatewayClass")


def _is_positive_time(text: str) -> bool:
    """Whether a text is a duration as Go reads it, or a number of seconds, and above 0."""
    from jobspec.go.text_formats import go_nanoseconds
    from jobspec.go.values import integer

    found = go_nanoseconds(text)
    number = integer(text) if found is None else found
    return number is not None and number > 0


def _of_cron_job(document: Document, data: Data, release: str) -> Iterator[Finding]:
    from jobspec.kubernetes.workloads.cronjobs import bad_schedule, bad_time_zone

    is_timed = is_at_least(release, "1.7.0")
    longest, added = (LONGEST_CRON_JOB, RUN_PART) if is_timed else (LONGEST_CLUSTER - 2 * RANDOM_PART, RANDOM_PART)
    yield from _name(
        document, longest, f", since its RayJobs get {added} more and their clusters {RANDOM_PART}{'' if is_timed else ' again'}"
    )
    spec = mapping(data, "spec")
    schedule, zone = str(spec.get("schedule") or ""), str(spec.get("timeZone") or "")
    if is_timed and zone not in ("", "Local") and (why := bad_time_zone(zone)):
        yield Finding(("spec", "timeZone"), why, "write one such as `Europe/Berlin`")
    if is_timed and "TZ" in schedule:
        yield Finding(("spec", "schedule"), "KubeRay refuses a time zone in the schedule", "write it in `timeZone`")
    elif why := bad_schedule(schedule):
        yield Finding(("spec", "schedule"), f"`{schedule}` is no schedule: {why}", "write one such as `0 3 * * *`")
    yield from _job(RayJobSpec(("spec", "jobTemplate"), mapping(spec, "jobTemplate"), {}, release))


_BY_KIND: Any = {"RayCluster": _of_cluster, "RayJob": _of_job, "RayService": _of_service, "RayCronJob": _of_cron_job}
