"""What submits a RayJob's program to its cluster: a Job, or a container beside the head.

Follows `BuildJobSubmitCommand`, `GetSubmitterTemplate` and `GetDefaultSubmitterContainer`, github.com/ray-project/kuberay
ray-operator/controllers/ray/common, and `configureSubmitterContainer` and `createNewK8sJob`, ray-operator/controllers/ray, 1.4.2 to 1.7.0.
"""

from __future__ import annotations

import re

from jobspec.apis.releases import is_at_least
from jobspec.documents.marked_tree import MarkedTree, changed, items, set_by, text, with_appended, with_fields
from jobspec.operators.kuberay import API_VERSION, JOB_MODE, MAKER_KIND, MAKER_NAME, SIDECAR_MODE, SUBMITTER
from jobspec.operators.kuberay.cluster import RayCluster, container_port
from jobspec.operators.kuberay.go_text import fixed, json_text, quoted
from jobspec.operators.kuberay.pods import with_token, with_token_volume
from jobspec.operators.made import RANDOM, as_go_writes, owner_references
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.documents.marked_tree import MarkedTree as Tree

_RETRIES = 2
RESOURCES = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m", "memory": "200Mi"}}
"""What the container that submits requests, and its limits."""
_OLDER_HEALTHY = "wget --tries 1 -T 10 -q -O- {address}/api/gcs_healthz | grep success"
_HEALTHY = (
    'python -c "import urllib.request; '
    "r=urllib.request.urlopen('{address}/api/gcs_healthz', timeout=10); exit(0 if b'success' in r.read() else 1)\""
)


def submitter_job(job: Tree, cluster: RayCluster, dashboard: str) -> MarkedTree:
    """The Job that submits a RayJob's program to a *dashboard*."""
    name = job.value["metadata"].value["name"]
    limit = job.get("spec", "submitterConfig", "backoffLimit") or _RETRIES
    metadata = {
        "name": name,
        "namespace": job.value["metadata"].value["namespace"],
        "labels": _labels(job, cluster),
        "ownerReferences": owner_references(cluster.mark, API_VERSION, "RayJob", name),
    }
    spec = {"backoffLimit": limit, "template": _template(job, cluster, dashboard)}
    return set_by(cluster.mark, {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec})


def _template(job: Tree, cluster: RayCluster, dashboard: str) -> MarkedTree:
    """The pod template of the Job: the user's, or one with a single container."""
    own, is_labelled = job.get("spec", "submitterPodTemplate"), is_at_least(cluster.release, "1.7.0")
    if own is None:
        container = _configured(default_container(cluster), job, cluster, JOB_MODE, dashboard)
        made = set_by(
            cluster.mark, {**({"metadata": {}} if is_labelled else {}), "spec": {"containers": [container], "restartPolicy": "Never"}}
        )
    else:
        shape = shapes.part("v1", "Pod", cluster.target, ("spec",))
        written = changed(own, ("spec",), lambda spec: as_go_writes(spec, shape))
        containers = written.value["spec"].value["containers"]
        first, *others = containers.value
        every = containers.with_value([_configured(first, job, cluster, JOB_MODE, dashboard), *others])
        made = changed(written, ("spec",), lambda spec: with_fields(spec, {"containers": every}))
    if is_labelled:
        made = changed(made, ("metadata", "labels"), lambda labels: with_fields(labels, _labels(job, cluster)))
    return changed(made, ("spec",), lambda spec: with_token_volume(spec, cluster)) if cluster.uses_own_tokens else made


def _labels(job: Tree, cluster: RayCluster) -> dict[str, MarkedTree]:
    """The labels of the Job, and since 1.7.0 of its pods."""
    name = job.value["metadata"].value["name"]
    labels = {MAKER_NAME: name, MAKER_KIND: "RayJob", "app.kubernetes.io/created-by": "kuberay-operator"}
    return set_by(cluster.mark, labels).value  # type: ignore[no-any-return]


def sidecar(job: Tree, cluster: RayCluster) -> MarkedTree:
    """The container beside the head that submits a RayJob's program."""
    return _configured(default_container(cluster), job, cluster, SIDECAR_MODE, "")


def default_container(cluster: RayCluster) -> MarkedTree:
    """The container that submits, of the image of the head, before it has a command."""
    image = cluster.head_container.get("image")
    return set_by(cluster.mark, {"name": SUBMITTER, **({"image": image} if image else {}), "resources": RESOURCES})


def _configured(container: Tree, job: Tree, cluster: RayCluster, mode: str, dashboard: str) -> MarkedTree:
    """A container that submits, with its command and its variables."""
    if mode == SIDECAR_MODE or not items(container.get("command")):
        commands = {"command": ["/bin/bash", "-ce", "--"], "args": [_command(job, cluster, mode, dashboard)]}
        container = with_fields(container, set_by(cluster.mark, commands).value)
    variables = [
        {"name": "PYTHONUNBUFFERED", "value": "1"},
        {"name": "RAY_DASHBOARD_ADDRESS", **({"value": dashboard} if dashboard else {})},
        {"name": "RAY_JOB_SUBMISSION_ID", "value": submission_of(job)},
    ]
    container = with_appended(container, "env", items(set_by(cluster.mark, variables)), cluster.mark)
    return with_token(container, cluster) if cluster.has_token else container


def submission_of(job: Tree) -> str:
    """The name under which Ray knows the program."""
    return text(job, "spec", "jobId") or f"{text(job, 'metadata', 'name')}-{RANDOM}"


def _command(job: Tree, cluster: RayCluster, mode: str, dashboard: str) -> str:
    """The script that submits the program once, and follows it."""
    submission, spec = submission_of(job), job.value["spec"]
    if mode == SIDECAR_MODE:
        port = container_port(cluster.head_container, "dashboard")
        address = f"http://127.0.0.1:{port}"
        before = _wait(address, f"http://localhost:{port}", cluster.release)
        submit, after = ["ray", "job", "submit", "--address", address], [";"]
    else:
        address = dashboard if dashboard.startswith("http://") else f"http://{dashboard}"
        before = _wait(address, address, cluster.release) if is_at_least(cluster.release, "1.7.0") else []
        before += ["if", "!", "ray", "job", "status", "--address", address, submission, ">/dev/null", "2>&1", ";", "then"]
        submit = ["ray", "job", "submit", "--address", address, "--no-wait"]
        after = [";", "fi", ";", "ray", "job", "logs", "--address", address, "--follow", submission]
    return " ".join([*before, *submit, *_options(spec, submission, cluster.release), "--", text(spec, "entrypoint").strip(), *after])


def _wait(address: str, asked: str, release: str) -> list[str]:
    """The loop that waits until the dashboard at an *address* works. *asked*: the address by which it is asked."""
    waits = quoted(f"Waiting for Ray Dashboard GCS to become healthy at {address} ...")
    healthy = (_HEALTHY if is_at_least(release, "1.6.0") else _OLDER_HEALTHY).format(address=asked)
    return ["until", healthy, ">/dev/null", "2>&1", ";", "do", "echo", waits, ";", "sleep", "2", ";", "done", ";"]


def _options(spec: Tree, submission: str, release: str) -> list[str]:
    """The options by which the program is submitted."""
    found = []
    environment, metadata = runtime_environment(text(spec, "runtimeEnvYAML")), spec.get("metadata")
    if environment:
        found += ["--runtime-env-json", quoted(environment)]
    if metadata and metadata.value and (spec.get("rayClusterSpec") or is_at_least(release, "1.7.0")):
        found += ["--metadata-json", quoted(json_text(metadata.data()))]
    found += ["--submission-id", submission]
    for option, field in (("cpus", "entrypointNumCpus"), ("gpus", "entrypointNumGpus")):
        amount: Any = spec.get(field)
        if amount and amount.value > 0:
            found += [f"--entrypoint-num-{option}", fixed(amount.value)]
    resources = text(spec, "entrypointResources")
    return [*found, "--entrypoint-resources", quoted(resources)] if resources else found


def runtime_environment(written: str) -> str:
    """The runtime environment of a RayJob in JSON; empty where it writes none, or no YAML."""
    from jobspec.documents.reader import read

    if not written:
        return ""
    documents, problems = read(written, file="runtimeEnvYAML")
    return json_text(documents[0].data) if len(documents) == 1 and not problems else ""


# The versions of Ray that can keep metadata of a program.
#
# Follows `GetMetadataJson` and `getMetadataJSONForSubmitCommand`, github.com/ray-project/kuberay ray-operator/controllers/ray/common, 1.4.2
# to 1.7.0, and `NewVersion`, github.com/Masterminds/semver/v3.


METADATA_SINCE = "2.6.0"
"""The first release of Ray that keeps them."""
_SEMANTIC = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")


def lacks_metadata_support(job: Tree, cluster: RayCluster) -> bool:
    """Whether KubeRay cannot submit a RayJob, because it has metadata, and its cluster names no release of Ray that keeps those.

    Since 1.7.0, a cluster that names no release keeps them.
    """
    metadata = job.get("spec", "metadata")
    if not metadata or not metadata.value or job.get("spec", "rayClusterSpec") is None:
        return False
    return not keeps_metadata(text(cluster.spec, "rayVersion"), cluster.release)


def writes_command_in_vain(release: str) -> bool:
    """True if KubeRay writes its submit command even if the user's own replaces it.

    KubeRay may fail on the command that it writes in vain.
    """
    return is_at_least(release, "1.5.0")


def keeps_metadata(ray_version: str, release: str) -> bool:
    """Whether KubeRay of a *release* gives metadata to a release of Ray, which may be empty."""
    if not ray_version:
        return is_at_least(release, "1.7.0")
    found = _SEMANTIC.fullmatch(ray_version)
    if found is None or found[4]:
        return False
    return tuple(int(each or 0) for each in found.groups()[:3]) >= tuple(map(int, METADATA_SINCE.split(".")))
