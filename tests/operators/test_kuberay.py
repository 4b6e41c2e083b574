"""What KubeRay makes of Ray objects, where one fact is worth more than a whole expansion; live tests compare the rest."""

from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.documents.document import Document
from jobspec.documents.manifest import document_of
from jobspec.operators.expansion import expand
from jobspec.operators.kuberay.changes import effect_on_ray
from jobspec.operators.kuberay.cluster import short_name
from jobspec.operators.kuberay.go_text import json_text
from jobspec.operators.kuberay.start import command, is_gpu, is_ray_at_least, ray_version

Object = dict[str, Any]
_IMAGE = "rayproject/ray:2.46.0"


def _pod(**container: Any) -> Object:
    return {"spec": {"containers": [{"name": "ray", "image": _IMAGE, **container}]}}


def _spec(*groups: Object, **fields: Any) -> Object:
    workers = [{"groupName": f"g{number}", "rayStartParams": {}, "template": _pod(), **each} for number, each in enumerate(groups)]
    return {"rayVersion": "2.46.0", "headGroupSpec": {"rayStartParams": {}, "template": _pod()}, "workerGroupSpecs": workers, **fields}


def _made(kind: str, spec: Object, *others: Object, name: str = "r", kuberay: str = "1.6.0", **metadata: Any) -> list[Object]:
    data = {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
    context = [document_of(each, "others.yaml") for each in others]
    expansion = expand(document_of(data, "ray.yaml"), context, choose([f"kuberay={kuberay}"]))
    return [each.data() for each in expansion.objects]


def _of_kind(kind: str, objects: list[Object]) -> list[Object]:
    return [each for each in objects if each["kind"] == kind]


@pytest.mark.parametrize(
    ("group", "pods"),
    [
        ({}, 0),
        ({"replicas": 2}, 2),
        ({"replicas": 2, "minReplicas": 3}, 3),
        ({"replicas": 5, "maxReplicas": 4}, 4),
        ({"replicas": 2, "numOfHosts": 4}, 8),
        ({"replicas": 2, "suspend": True}, 0),
    ],
)
def test_the_number_of_workers_is_between_the_least_and_the_most(group: Object, pods: int) -> None:
    made = _of_kind("Pod", _made("RayCluster", _spec(group)))
    assert len([each for each in made if each["metadata"]["labels"]["ray.io/node-type"] == "worker"]) == pods


def test_several_hosts_of_a_replica_have_a_headless_service_and_numbers() -> None:
    made = _made("RayCluster", _spec({"replicas": 1, "numOfHosts": 2}))
    assert [each["metadata"]["name"] for each in _of_kind("Service", made)] == ["r-head-svc", "r-headless"]
    labels = [each["metadata"]["labels"] for each in _of_kind("Pod", made)]
    assert [each.get("ray.io/replica-host-index") for each in labels] == [None, "0", "1"]


def test_an_autoscaler_is_a_second_container_of_the_head_with_rights_of_its_own() -> None:
    made = _made("RayCluster", _spec({}, enableInTreeAutoscaling=True))
    head = _of_kind("Pod", made)[0]["spec"]
    assert [each["name"] for each in head["containers"]] == ["ray", "autoscaler"]
    assert head["serviceAccountName"] == "r"
    assert {"Role", "RoleBinding", "ServiceAccount"} <= {each["kind"] for each in made}


def test_workers_wait_for_the_head_before_they_start() -> None:
    worker = _of_kind("Pod", _made("RayCluster", _spec({"replicas": 1})))[1]["spec"]
    assert [each["name"] for each in worker["initContainers"]] == ["wait-gcs-ready"]
    assert worker["initContainers"][0]["resources"]["limits"] == {"cpu": "200m", "memory": "256Mi"}


def test_the_start_command_takes_the_limits_of_the_container() -> None:
    limits = {"cpu": "1500m", "memory": "2Gi", "nvidia.com/gpu": "4"}
    text, _ = command("worker", {"address": "a:6379", "block": "true"}, {"limits": limits})
    assert " ".join(text.split()) == "ray start --address=a:6379 --block --memory=2147483648 --num-cpus=2 --num-gpus=4"


def test_slices_of_gpus_are_gpus() -> None:
    found = [each for each in ("nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/mig-1g", "cpu") if is_gpu(each)]
    assert found == ["nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.5gb"]


def test_releases_of_ray_are_read_as_kuberay_reads_them() -> None:
    assert [ray_version(each) for each in ("2.46.0", "v2.9", "2", "02.1", "nightly", "2.46.0-py310")] == [
        (2, 46, 0),
        (2, 9),
        None,
        None,
        None,
        (2, 46, 0),
    ]
    assert is_ray_at_least("2.53", (2, 53, 0))
    assert not is_ray_at_least("latest", (2, 53, 0))


def test_json_is_written_as_go_writes_it() -> None:
    assert json_text({"b": 1.0, "a": "<&>"}) == '{"a":"\\u003c\\u0026\\u003e","b":1}'


def test_names_that_are_too_long_lose_their_beginning() -> None:
    assert len(short_name("a" * 60 + "-end")) == 50
    assert short_name("a" * 60 + "-end").endswith("-end")


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [
        ("K8sJobMode", ["RayCluster", "Job"]),
        ("SidecarMode", ["RayCluster"]),
        ("HTTPMode", ["RayCluster"]),
        ("InteractiveMode", ["RayCluster"]),
    ],
)
def test_only_one_mode_submits_by_a_job(mode: str, kinds: list[str]) -> None:
    entry = {} if mode == "InteractiveMode" else {"entrypoint": "python train.py"}
    made = _made("RayJob", {**entry, "submissionMode": mode, "rayClusterSpec": _spec({})})
    assert [each["kind"] for each in made if each["kind"] in ("RayCluster", "Job")] == kinds
    containers = [each["name"] for pod in _of_kind("Pod", made) for each in pod["spec"]["containers"]]
    assert ("ray-job-submitter" in containers) == (mode in ("K8sJobMode", "SidecarMode"))


def test_a_job_on_another_cluster_makes_no_cluster() -> None:
    cluster = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "research"}, "spec": _spec({})}
    job = {"entrypoint": "python a.py", "clusterSelector": {"ray.io/cluster": "research"}}
    made = _made("RayJob", job, cluster)
    assert _of_kind("RayCluster", made) == []
    variables = {each["name"]: each.get("value") for each in _of_kind("Pod", made)[0]["spec"]["containers"][0]["env"]}
    assert variables["RAY_DASHBOARD_ADDRESS"] == "research-head-svc.default.svc.cluster.local:8265"


def test_a_suspended_job_has_nothing() -> None:
    assert _made("RayJob", {"entrypoint": "a", "suspend": True, "shutdownAfterJobFinishes": True, "rayClusterSpec": _spec({})}) == []


def test_a_cron_job_makes_a_job_and_all_that_it_makes() -> None:
    made = _made("RayCronJob", {"schedule": "* * * * *", "jobTemplate": {"entrypoint": "a", "rayClusterSpec": _spec({})}})
    assert [each["kind"] for each in made][:2] == ["RayJob", "RayCluster"]


def test_a_service_makes_a_cluster_and_two_services_of_its_own() -> None:
    made = _made("RayService", {"serveConfigV2": "applications: []", "rayClusterConfig": _spec({})})
    own = [each["metadata"]["name"] for each in _of_kind("Service", made) if each["metadata"]["ownerReferences"][0]["kind"] == "RayService"]
    assert own == ["r-head-svc", "r-serve-svc"]


_STAY = "running pods stay as they are"
_OTHER = {"template": _pod(image="other:1")}


@pytest.mark.parametrize(
    ("kind", "path", "before", "after", "heeded", "words"),
    [
        ("RayCluster", ("workerGroupSpecs",), [{}], [{"replicas": 2}], True, ""),
        ("RayCluster", ("workerGroupSpecs",), [{}], [{}, {}], True, ""),
        ("RayCluster", ("workerGroupSpecs",), [{}, {}], [{}], False, "of a removed group stay"),
        ("RayCluster", ("workerGroupSpecs",), [{}], [_OTHER], False, _STAY),
        ("RayCluster", ("headGroupSpec", "template"), [], [], False, _STAY),
        ("RayJob", ("rayClusterSpec", "rayVersion"), [], [], False, "has started"),
        ("RayJob", ("ttlSecondsAfterFinished",), [], [], True, ""),
        ("RayService", ("serveConfigV2",), [], [], True, "running cluster"),
        ("RayService", ("rayClusterConfig", "workerGroupSpecs"), [{}], [{"replicas": 2}], False, "makes no new one"),
        ("RayService", ("rayClusterConfig", "workerGroupSpecs"), [{}], [{}, {}], True, "are added"),
        ("RayService", ("rayClusterConfig", "workerGroupSpecs"), [{}], [_OTHER], True, "second cluster"),
        ("RayService", ("rayClusterConfig", "headGroupSpec", "template"), [], [], True, "second cluster"),
        ("RayCronJob", ("schedule",), [], [], True, "the next one"),
    ],
)
def test_what_a_changed_field_does(
    kind: str, path: tuple[str, ...], before: list[Object], after: list[Object], heeded: bool, words: str
) -> None:
    old, new = (_document(kind, _spec(*each)) for each in (before, after))
    effect = effect_on_ray(("spec", *path), old, new)
    assert (effect.heeded, words in effect.note) == (heeded, True)


def _document(kind: str, cluster: Object) -> Document:
    specs = {
        "RayCluster": cluster,
        "RayJob": {"rayClusterSpec": cluster},
        "RayService": {"rayClusterConfig": cluster},
        "RayCronJob": {"jobTemplate": {"rayClusterSpec": cluster}},
    }
    return document_of({"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": "r"}, "spec": specs[kind]}, "ray.yaml")


def test_the_strategy_recreate_replaces_all_pods() -> None:
    cluster = _document("RayCluster", _spec({}, upgradeStrategy={"type": "Recreate"}))
    assert "deletes all pods" in effect_on_ray(("spec", "headGroupSpec", "template"), cluster, cluster).note


def test_the_cluster_of_a_fault_tolerant_service_has_a_finalizer() -> None:
    storage = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
    (cluster,) = _of_kind("RayCluster", _made("RayService", {"rayClusterConfig": _spec(**storage)}))
    assert cluster["metadata"]["finalizers"] == ["ray.io/gcs-ft-redis-cleanup-finalizer"]
    (plain,) = _of_kind("RayCluster", _made("RayService", {"rayClusterConfig": _spec()}))
    assert "finalizers" not in plain["metadata"]
