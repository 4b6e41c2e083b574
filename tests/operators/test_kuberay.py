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
_STEPS = "NewClusterWithIncrementalUpgrade"


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
    text, _ = command("worker", {"address": "a:6379", "block": "true"}, {"limits": limits}, "1.7.0")
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
    effect = effect_on_ray(("spec", *path), old, new, "1.7.0")
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
    assert "deletes all pods" in effect_on_ray(("spec", "headGroupSpec", "template"), cluster, cluster, "1.7.0").note


def test_the_cluster_of_a_fault_tolerant_service_has_a_finalizer() -> None:
    storage = {"gcsFaultToleranceOptions": {"redisAddress": "redis:6379"}}
    (cluster,) = _of_kind("RayCluster", _made("RayService", {"rayClusterConfig": _spec(**storage)}))
    assert cluster["metadata"]["finalizers"] == ["ray.io/gcs-ft-redis-cleanup-finalizer"]
    (plain,) = _of_kind("RayCluster", _made("RayService", {"rayClusterConfig": _spec()}))
    assert "finalizers" not in plain["metadata"]


# What differs since 1.7.0.


def _both(kind: str, spec: Object, of: str, *others: Object) -> list[Object]:
    """The last object of a kind that 1.6.2 makes, and the one that 1.7.0 makes."""
    return [_of_kind(of, _made(kind, spec, *others, kuberay=release))[-1] for release in ("1.6.2", "1.7.0")]


def test_a_variable_says_how_many_files_ray_may_open_since_1_7() -> None:
    commands = [each["spec"]["containers"][0]["args"][0] for each in _both("RayCluster", _spec(), "Pod")]
    assert [each.partition(";")[0] for each in commands] == ["ulimit -n 65536", "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}"]


def test_the_log_monitor_can_be_turned_off_since_1_7() -> None:
    head = {"rayStartParams": {"include-log-monitor": "false"}, "template": _pod()}
    commands = [each["spec"]["containers"][0]["args"][0] for each in _both("RayCluster", _spec(headGroupSpec=head), "Pod")]
    assert ["--include-log-monitor=false" in each for each in commands] == [False, True]


def test_the_autoscaler_has_its_command_in_a_variable_since_1_7() -> None:
    options = {"version": "v1", "args": ["nice $KUBERAY_GEN_AUTOSCALER_START_CMD"]}
    older, newer = _both("RayCluster", _spec(enableInTreeAutoscaling=True, autoscalerOptions=options), "Pod")
    (ray, scaler), (ray_then, _) = newer["spec"]["containers"], older["spec"]["containers"]
    assert scaler["args"] == ["nice $KUBERAY_GEN_AUTOSCALER_START_CMD"]
    assert scaler["command"] == ["/bin/bash", "-c", "--"]
    variables = {each["name"]: each.get("value") for each in scaler["env"]}
    assert variables["KUBERAY_GEN_AUTOSCALER_START_CMD"].startswith("ray kuberay-autoscaler ")
    assert [[each["value"] for each in one["env"] if each["name"] == "RAY_enable_autoscaler_v2"] for one in (ray_then, ray)] == [
        [],
        ["false"],
    ]


def test_an_ingress_leads_all_paths_to_the_dashboard_since_1_7() -> None:
    options = {"host": "ray.example.com", "tls": [{"secretName": "ray"}]}
    head = {"template": _pod(), "enableIngress": True}
    older, newer = _both("RayCluster", _spec(headGroupSpec=head), "Ingress")
    found = [each["spec"]["rules"][0]["http"]["paths"][0] for each in (older, newer)]
    assert [(each["path"], each["pathType"]) for each in found] == [("/r/(.*)", "Exact"), ("/", "Prefix")]
    (ingress,) = _of_kind("Ingress", _made("RayCluster", _spec(headGroupSpec={**head, "ingressOptions": options}), kuberay="1.7.0"))
    assert (ingress["spec"]["rules"][0]["host"], ingress["spec"]["tls"]) == ("ray.example.com", [{"secretName": "ray"}])


def test_the_job_that_submits_waits_for_the_dashboard_and_labels_its_pods_since_1_7() -> None:
    made = _both("RayJob", {"entrypoint": "python a.py", "rayClusterSpec": _spec()}, "Job")
    scripts = [each["spec"]["template"]["spec"]["containers"][0]["args"][0] for each in made]
    address = "http://r-<random>-head-svc.default.svc.cluster.local:8265"
    assert [each.partition(" ")[0] for each in scripts] == ["if", "until"]
    assert f"urlopen('{address}/api/gcs_healthz', timeout=10)" in scripts[1]
    assert [each["spec"]["template"].get("metadata", {}).get("labels", {}).get("ray.io/originated-from-cr-name") for each in made] == [
        None,
        "r",
    ]


def test_a_job_on_another_cluster_keeps_its_metadata_since_1_7() -> None:
    cluster = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "research"}, "spec": _spec({})}
    job = {"entrypoint": "python a.py", "metadata": {"a": "b"}, "clusterSelector": {"ray.io/cluster": "research"}}
    scripts = [each["spec"]["template"]["spec"]["containers"][0]["args"][0] for each in _both("RayJob", job, "Job", cluster)]
    assert ["--metadata-json" in each for each in scripts] == [False, True]


def test_a_cron_job_numbers_its_jobs_by_minutes_since_1_7() -> None:
    spec = {"schedule": "* * * * *", "jobTemplate": {"entrypoint": "a", "rayClusterSpec": _spec()}}
    assert [each["metadata"]["name"] for each in _both("RayCronJob", spec, "RayJob")] == ["r-<random>", "r-<minutes>"]


def test_a_service_is_upgraded_in_steps_by_a_gateway_since_1_7() -> None:
    options = {"stepSizePercent": 10, "intervalSeconds": 10, "gatewayClassName": "istio"}
    strategy = {"type": "NewClusterWithIncrementalUpgrade", "clusterUpgradeOptions": options}
    spec = {"upgradeStrategy": strategy, "rayClusterConfig": _spec(enableInTreeAutoscaling=True)}
    older, newer = (_made("RayService", spec, kuberay=release) for release in ("1.6.2", "1.7.0"))
    assert _of_kind("Gateway", older) == []
    assert _of_kind("Service", older)[-1]["metadata"]["name"] == "r-serve-svc"
    assert _of_kind("Service", newer)[-1]["metadata"]["name"] == "r-<random>-serve-svc"
    ((gateway,), (route,)) = (_of_kind(kind, newer) for kind in ("Gateway", "HTTPRoute"))
    assert gateway["spec"]["gatewayClassName"] == "istio"
    (rule,) = route["spec"]["rules"]
    assert [(each["name"], each["port"], each["weight"]) for each in rule["backendRefs"]] == [("r-<random>-serve-svc", 8000, 100)]


def test_a_suspended_service_has_nothing_since_1_7() -> None:
    assert _made("RayService", {"suspend": True, "rayClusterConfig": _spec()}, kuberay="1.7.0") == []


@pytest.mark.parametrize(
    ("release", "path", "fields", "heeded", "words"),
    [
        ("1.6.0", ("rayClusterConfig", "suspend"), {"rayClusterConfig": {"suspend": True}}, True, "second cluster"),
        ("1.6.2", ("rayClusterConfig", "suspend"), {"rayClusterConfig": {"suspend": True}}, True, "is suspended"),
        ("1.7.0", ("rayClusterConfig", "suspend"), {"rayClusterConfig": {"suspend": True}}, False, "for a new one alone"),
        ("1.7.0", ("rayClusterConfig", "suspend"), {"rayClusterConfig": {"suspend": False}}, True, ""),
        ("1.7.0", ("suspend",), {"suspend": True}, True, "is deleted"),
        ("1.6.2", ("rayClusterConfig", "rayVersion"), {"upgradeStrategy": {"type": _STEPS}}, False, "as it is"),
        ("1.7.0", ("rayClusterConfig", "rayVersion"), {"upgradeStrategy": {"type": _STEPS}}, True, "in steps"),
    ],
)
def test_what_a_changed_field_of_a_service_does(release: str, path: tuple[str, ...], fields: Object, heeded: bool, words: str) -> None:
    old, new = (document_of({"apiVersion": "ray.io/v1", "kind": "RayService", "spec": each}, "ray.yaml") for each in ({}, fields))
    effect = effect_on_ray(("spec", *path), old, new, release)
    assert (effect.heeded, words in effect.note) == (heeded, True)


def test_options_of_an_ingress_change_no_pods() -> None:
    cluster = _document("RayCluster", _spec({}))
    assert effect_on_ray(("spec", "headGroupSpec", "ingressOptions", "host"), cluster, cluster, "1.7.0").heeded
