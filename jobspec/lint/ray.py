"""Ray clusters and jobs: entrypoints, clusters that outlive their job, GPUs and releases that Ray lacks, replicas in a queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobspec.apis.kinds import RAY_CRON_JOB, RAY_JOB, RAY_SERVICE
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.diagnostics.wording import counted
from jobspec.documents.marked_tree import MarkedTree, is_true, items, number, text
from jobspec.go.quantities import whole_number
from jobspec.go.values import integer
from jobspec.lint.linted import LintedJob
from jobspec.operators.kuberay import CLUSTER_SPECS, JOB_MODE, JOB_SPECS, SIDECAR_MODE
from jobspec.operators.kuberay.start import is_gpu, is_ray_at_least, ray_version
from jobspec.operators.workloads import QUEUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.programs.shells import ShellStep


def cluster_outlives_job(job: LintedJob) -> Iterator[Finding]:
    """A RayJob leaves its cluster running when it ends.

    Why: `shutdownAfterJobFinishes` is false by default. The head and all workers hold their GPUs after success, failure and a deadline,
    and each run of a RayCronJob adds a cluster. KubeRay also fails such a RayJob for good when it is suspended.
    Instead: write `shutdownAfterJobFinishes: true`, with `ttlSecondsAfterFinished` to keep the cluster for a while.
    Before: spec: {entrypoint: python train.py}
    After: spec: {entrypoint: python train.py, shutdownAfterJobFinishes: true, ttlSecondsAfterFinished: 600}
    Evidence: `handleShutdownAfterJobFinishes` of github.com/ray-project/kuberay ray-operator/controllers/ray; KubeRay 1.6.0 on a server
    """
    spec = _job_spec(job)
    if spec is None or spec.get("rayClusterSpec") is None:
        return
    if spec.get("deletionStrategy") or is_true(spec, "shutdownAfterJobFinishes"):
        return
    holds = f" and holds {counted(job.gpus, 'GPU')}" if job.gpus else ""
    each = "each run leaves its cluster, which" if job.given.group_kind == RAY_CRON_JOB else "the cluster"
    place = spec.get("shutdownAfterJobFinishes") or spec.get("entrypoint") or spec
    severity: Severity = "warning" if job.gpus or job.given.group_kind == RAY_CRON_JOB else "info"
    message = f"{each} runs on when the job ends{holds}"
    yield Finding(place, message, "write `shutdownAfterJobFinishes: true`", severity=severity)


def ray_gpus_differ(job: LintedJob) -> Iterator[Finding]:
    """Ray is told of other GPUs than the container has.

    Why: `num-gpus` of `rayStartParams`, or of the group's `resources`, wins over the limits of the container. Ray then gives tasks GPUs
    that are not there, so that they fail, or leaves GPUs idle that are paid for.
    Instead: leave `num-gpus` out: KubeRay takes it from the limits.
    Before: "{rayStartParams: {num-gpus: '8'}, limits: {nvidia.com/gpu: 4}}"
    After: "{rayStartParams: {}, limits: {nvidia.com/gpu: 4}}"
    Evidence: `generateRayStartCommand` of github.com/ray-project/kuberay ray-operator/controllers/ray/common
    """
    for group in _groups(job):
        said = group.get("rayStartParams", "num-gpus") or _gpus_of_resources(group)
        told = None if said is None else integer(text(said)) if text(said).isdigit() else None
        pod = group.get("template", "spec")
        first = next(iter(items(pod.get("containers"))), None) if pod else None
        if said is None or told is None or pod is None or first is None or _may_get_gpus_otherwise(group, pod, first):
            continue
        has = sum(whole_number(text(each)) for name, each in first.entries("resources", "limits") if is_gpu(name))
        if told > has:
            message = f"Ray counts on {counted(told, 'GPU')}, and the container has {has or 'none'}"
            yield Finding(said, message, "remove `num-gpus`, or raise the limit")
        elif 0 < told < has:
            yield Finding(said, f"Ray uses {told} of the {has} GPUs of the container", "remove `num-gpus`, or lower the limit")


def _gpus_of_resources(group: MarkedTree) -> MarkedTree | None:
    return next((each for name, each in group.entries("resources") if is_gpu(name.lower())), None)


def _may_get_gpus_otherwise(group: MarkedTree, pod: MarkedTree, container: MarkedTree) -> bool:
    """Whether a container may have GPUs that no limit names: by claims, by annotations, as other resources, or shared with its node."""
    notes = [name for field in ("annotations", "labels") for name, _ in group.entries("template", "metadata", field)]
    others = [name for name, _ in container.entries("resources", "limits") if "/" in name and not is_gpu(name)]
    shares = pod.get("resourceClaims") or text(pod, "runtimeClassName") or text(container, "securityContext", "privileged") == "True"
    return bool(shares or others or any("gpu" in name.lower() for name in notes))


def ray_version_differs(job: LintedJob) -> Iterator[Finding]:
    """The images of a Ray cluster have another release of Ray than `rayVersion` says, or than each other.

    Why: a worker of another release is refused by the head. KubeRay reads the release from `rayVersion` alone: for 2.53 and newer its
    probes ask an address that older releases do not have, so that all pods are killed again and again.
    Instead: write the release of the image, the same for all groups.
    Before: "{rayVersion: 2.53.0, image: 'rayproject/ray:2.46.0'}"
    After: "{rayVersion: 2.46.0, image: 'rayproject/ray:2.46.0'}"
    Evidence: `initLivenessAndReadinessProbe` of github.com/ray-project/kuberay ray-operator/controllers/ray/common, 1.6.0 to 1.7.0
    """
    cluster = _cluster(job)
    said = cluster.get("rayVersion") if cluster else None
    first: tuple[str, str] | None = None
    for group in _groups(job):
        container = next(iter(items(group.get("template", "spec", "containers"))), None)
        image = container.get("image") if container else None
        release = _release_of(text(image))
        if image is None or not release:
            continue
        what = f"group `{text(group, 'groupName')}`" if group.get("groupName") else "head"
        if first and first[1] != release:
            message = f"the {what} has Ray {release}, and the {first[0]} has {first[1]}: the head refuses workers of another release"
            yield Finding(image, message, "use one release in all groups")
        elif said and not first and ray_version(text(said)) and ray_version(text(said)) != ray_version(release):
            newer = is_ray_at_least(text(said), (2, 53, 0)) and not is_ray_at_least(release, (2, 53, 0))
            effect = ": the probes of KubeRay never succeed, and the pods are killed again and again" if newer else ""
            yield Finding(said, f"`rayVersion` is {text(said)}, and the image has Ray {release}{effect}", f"write `{release}`")
        first = first or (what, release)


_IMAGE = r"(?:^|/)rayproject/(?:ray|ray-ml|ray-llm):(\d+\.\d+\.\d+)(?=$|[-@.+])"


def _release_of(image: str) -> str:
    """The release of Ray in one of its own images; empty for other images and for tags without a release."""
    import re

    found = re.search(_IMAGE, image)
    return found[1] if found else ""


def replicas_below_minimum(job: LintedJob) -> Iterator[Finding]:
    """Kueue counts fewer pods of a Ray cluster than KubeRay creates: `replicas` is below `minReplicas`.

    Why: Kueue counts `replicas`, which is 0 where it is left out. KubeRay raises it to `minReplicas`, so that the cluster uses more than
    its queue has given it.
    Instead: write `replicas`, at least `minReplicas`.
    Before: "{groupName: gpu, minReplicas: 4}"
    After: "{groupName: gpu, replicas: 4, minReplicas: 4}"
    Evidence: `effectiveWorkerCount` of sigs.k8s.io/kueue pkg/controller/jobs/raycluster; Kueue 0.19.2 and KubeRay 1.6.0 on a server
    """
    if not value_at(job.given.data, ("metadata", "labels", QUEUE)):
        return
    for group in _groups(job):
        least, asked = number(group, "minReplicas", default=0), number(group, "replicas", default=0)
        if asked < least:
            message = f"Kueue counts {counted(asked, 'replica')} of the group `{text(group, 'groupName')}`, and KubeRay creates {least}"
            yield Finding(group.get("replicas") or group.get("minReplicas") or group, message, f"write `replicas: {least}`")


def gated_cron_job(job: LintedJob) -> Iterator[Finding]:
    """A RayCronJob does nothing unless KubeRay was started with the feature gate RayCronJob.

    Why: the gate is off by default in KubeRay 1.6 and 1.7. The server accepts the object, and no RayJob ever comes; nothing says why.
    Instead: start the operator with `--feature-gates=RayCronJob=true`, or make the RayJob by a CronJob.
    Before: "featureGates: [{name: RayCronJob, enabled: false}]"
    After: "featureGates: [{name: RayCronJob, enabled: true}]"
    Evidence: `defaultFeatureGates` of github.com/ray-project/kuberay ray-operator/pkg/features, 1.6.0 to 1.7.0
    """
    if job.given.group_kind == RAY_CRON_JOB:
        yield Finding(("kind",), "no RayJob comes unless KubeRay has the feature gate RayCronJob, which is off by default")


def commands_of_submitter(job: LintedJob) -> Iterator[Finding]:
    """Commands behind the first one of a RayJob's entrypoint run in the pod that submits it, not in the cluster.

    Why: KubeRay writes the entrypoint behind `ray job submit ... --` into a script of bash, so that `&&`, `;`, `|` or the end of a line
    ends what is submitted. The rest runs at once in the submitter, which has no GPU. KubeRay writes ` ; fi` behind the last line: bash
    cannot read the script if that ends with `;`, `&` or a comment, or if a here-document ends there.
    Instead: `bash -c '...'` around all commands, a script of the image, or `submissionMode: HTTPMode`, which submits the whole line.
    Before: "{entrypoint: pip install -r requirements.txt && python train.py}"
    After: "{entrypoint: bash -c 'pip install -r requirements.txt && python train.py'}"
    Evidence: `BuildJobSubmitCommand` of github.com/ray-project/kuberay, 1.4.2 to 1.7.0; ray-project/kuberay#3802, #3929
    """
    spec = _job_spec(job)
    entrypoint = spec.get("entrypoint") if spec else None
    if spec is None or entrypoint is None or not _is_submitted_by_bash(spec):
        return
    from jobspec.programs.shells import read_script

    line = text(entrypoint).strip()
    first, *rest = read_script(f"submit -- {line}{_behind(spec)}").steps
    own = read_script(line).steps
    if not rest or [*rest[-1].words] != [_END] or (own and own[-1].end in _OPEN_ENDS):
        message = "bash cannot read the script in which KubeRay writes this: the submitter fails, and the job with it"
        yield Finding(entrypoint, message, _why_unreadable(own))
        return
    others = [words for words in map(_without_control, [each.words for each in rest[:-1]]) if words and words[0] not in _WITHOUT_EFFECT]
    if others:
        message = f"`{_beginning(others[0])}` runs in the pod that submits the job, not in the cluster"
        submitted = (
            "only the first one is submitted" if len(first.words) > len(("submit", "--")) else "behind the comment, nothing is submitted"
        )
        yield Finding(entrypoint, message, f"write `bash -c '...'` around all commands: {submitted}")


#: A command behind the entrypoint in the script, and what may not end a command before `;`.
_END, _OPEN_ENDS = "end", frozenset((";", "&", "&&", "||", "|"))


def _behind(spec: MarkedTree) -> str:
    """Return what stands behind the entrypoint: more commands on its line, unless the submitter is a sidecar."""
    return f" ;\n{_END}" if text(spec, "submissionMode") == SIDECAR_MODE else f" ; {_END}"


def _why_unreadable(own: Sequence[ShellStep]) -> str:
    """Return how to write an entrypoint that bash cannot read with ` ; fi` behind it."""
    if own and own[-1].end in _OPEN_ENDS:
        return f"remove the last `{own[-1].end}`: KubeRay writes ` ;` behind it"
    return (
        "KubeRay writes ` ; fi` behind the last line, so that no comment, quote or here-document may be open there: write `bash -c '...'`"
    )


#: Commands that neither train nor prepare a training, so that nobody misses them in the cluster.
_WITHOUT_EFFECT = frozenset((":", "echo", "exit", "false", "printf", "set", "sleep", "true", "wait"))
_CONTROL = frozenset(("then", "elif", "else", "fi", "do", "done", "{", "}", "!"))


def _is_submitted_by_bash(spec: MarkedTree) -> bool:
    """True if KubeRay writes the entrypoint into a script of the submitter."""
    mode = text(spec, "submissionMode") or JOB_MODE
    first = next(iter(items(spec.get("submitterPodTemplate", "spec", "containers"))), None)
    return mode == SIDECAR_MODE or (mode == JOB_MODE and not (first and items(first.get("command"))))


def _without_control(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a command behind words of control such as `then`."""
    return words[next((at for at, word in enumerate(words) if word not in _CONTROL), len(words)) :]


def _beginning(words: Sequence[str]) -> str:
    """Write the first three words of a command."""
    return " ".join([*words[:3], *(["..."] if len(words) > 3 else [])])


def _job_spec(job: LintedJob) -> MarkedTree | None:
    """The spec of a RayJob, also of the one in a RayCronJob; None of another kind."""
    path = JOB_SPECS.get(job.given.kind)
    return job.tree.get(*path) if path and job.given.group_kind in (RAY_JOB, RAY_CRON_JOB) else None


def _cluster(job: LintedJob) -> MarkedTree | None:
    """The spec of the cluster of a Ray object; None of another kind."""
    is_ray = job.given.group_kind[0] == RAY_SERVICE[0]
    return job.tree.get(*CLUSTER_SPECS[job.given.kind]) if is_ray else None


def _groups(job: LintedJob) -> list[MarkedTree]:
    """The groups of a cluster, the head first."""
    cluster = _cluster(job)
    head = cluster.get("headGroupSpec") if cluster else None
    return [*([head] if head else []), *items(cluster.get("workerGroupSpecs") if cluster else None)]


_OF_CLUSTERS = ["headGroupSpec"]
RULES = (
    Rule(cluster_outlives_job, "warning", sees="Ray", reads=_OF_CLUSTERS),
    Rule(ray_gpus_differ, "warning", sees="Ray", reads=["num-gpus", "gpu"]),
    Rule(ray_version_differs, "warning", sees="Ray", reads=_OF_CLUSTERS),
    Rule(replicas_below_minimum, "warning", sees="Ray", reads=["minReplicas"]),
    Rule(gated_cron_job, "info", sees="Ray", reads=["jobTemplate"]),
    Rule(commands_of_submitter, "warning", sees="Ray", reads=["entrypoint"]),
)
