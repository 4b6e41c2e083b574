"""What an API server fills in."""

from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.diagnostics.places import Mark
from jobspec.documents.manifest import document_of
from jobspec.documents.marked_tree import set_by
from jobspec.kubernetes.pods.defaults import tag_of
from jobspec.kubernetes.pods.resources import filled_in
from jobspec.operators.admitted import as_admitted
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.jobset.mutation import stored_jobset
from jobspec.operators.jobset_defaults import with_jobset_defaults
from jobspec.operators.mutation import is_rewritten
from tests.support import quick_yaml

CLASSES = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 3, "globalDefault": True},
]


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("train", "latest"),
        ("train:latest", "latest"),
        ("train:v1", "v1"),
        ("ghcr.io/a/train", "latest"),
        ("ghcr.io:443/a/train:v1", "v1"),
        ("localhost:5000/train", "latest"),
        (f"train@sha256:{'0' * 64}", ""),
        (f"train:latest@sha256:{'0' * 64}", "latest"),
        ("gcr.io/<project>/train", ""),
        ("Train", ""),
        ("EXAMPLE/train", "latest"),
        ("train:", ""),
        (" train", ""),
        ("0" * 64, ""),
        ("", ""),
        ("a" * 256, ""),
    ],
)
def test_tags_of_images(image: str, tag: str) -> None:
    assert tag_of(image) == tag


def _spec(spec: str, *classes: dict[str, Any], release: str = "") -> Any:
    """A pod's spec as the server stores it."""
    data = {"containers": [{"name": "a", "image": "a:1"}], **quick_yaml.load(spec)}
    pod = set_by(Mark("pod"), {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": data})
    context = [document_of(each, "classes.yaml") for each in classes]
    return with_api_defaults([pod], context, choose([f"kubernetes={release}"] if release else []))[0].data()["spec"]


def _holds(whole: Any, part: Any) -> bool:
    """Whether a value has everything that another one has; lists have as many items."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(name in whole and _holds(whole[name], child) for name, child in part.items())
    if isinstance(part, list):
        return isinstance(whole, list) and len(whole) == len(part) and all(map(_holds, whole, part))
    return bool(whole == part)


@pytest.mark.parametrize(
    ("spec", "filled"),
    [
        (
            "{}",
            "{enableServiceLinks: true, dnsPolicy: ClusterFirst, restartPolicy: Always, terminationGracePeriodSeconds: 30, priority: 0}",
        ),
        ("{}", "{serviceAccount: default, serviceAccountName: default, volumes: [{name: kube-api-access-<random>}]}"),
        ("{serviceAccount: old}", "{serviceAccount: old, serviceAccountName: old}"),
        (
            "{hostNetwork: true, containers: [{name: a, ports: [{containerPort: 80}]}]}",
            "{containers: [{ports: [{containerPort: 80, hostPort: 80, protocol: TCP}]}]}",
        ),
        (
            "{containers: [{name: a, resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}}]}",
            "{containers: [{resources: {requests: {cpu: 1, memory: 1Gi}}}]}",
        ),
        (
            "{containers: [{name: a, livenessProbe: {httpGet: {port: 80}}, readinessProbe: {grpc: {port: 80}, periodSeconds: 5}}]}",
            "{containers: [{livenessProbe: {httpGet: {path: /, scheme: HTTP}, periodSeconds: 10, failureThreshold: 3},"
            " readinessProbe: {grpc: {service: ''}, periodSeconds: 5, timeoutSeconds: 1, successThreshold: 1}}]}",
        ),
        (
            "{containers: [{name: a, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}]}",
            "{containers: [{env: [{valueFrom: {resourceFieldRef: {divisor: '0'}}}]}]}",
        ),
        (
            "{volumes: [{name: a}, {name: b, hostPath: {path: /}}, {name: c, secret: {}}], automountServiceAccountToken: false}",
            "{volumes: [{emptyDir: {}}, {hostPath: {type: ''}}, {secret: {defaultMode: 420}}]}",
        ),
        ("{tolerations: [{operator: Exists}]}", "{tolerations: [{operator: Exists}]}"),
        (
            "{tolerations: [{key: node.kubernetes.io/not-ready, effect: NoExecute}]}",
            "{tolerations: [{}, {key: node.kubernetes.io/unreachable, tolerationSeconds: 300}]}",
        ),
        ("{priorityClassName: system-node-critical}", "{priority: 2000001000, preemptionPolicy: PreemptLowerPriority}"),
        (
            "{resources: {limits: {cpu: 4, memory: 1Gi}}, containers: [{name: a, resources: {requests: {cpu: 500m}}}],"
            " initContainers: [{name: b, resources: {requests: {cpu: 1500m}}},"
            " {name: c, restartPolicy: Always, resources: {requests: {cpu: 250m}}}]}",
            "{resources: {requests: {cpu: 1500m, memory: 1Gi}}}",
        ),
        ("{terminationGracePeriodSeconds: -3}", "{terminationGracePeriodSeconds: 1}"),
    ],
)
def test_pods(spec: str, filled: str) -> None:
    found = _spec(spec)
    assert _holds(found, quick_yaml.load(filled)), found


#: Pods with resources as a whole, which rules and expansions have to see alike.
AS_A_WHOLE = [
    "{resources: {limits: {memory: 1Gi}}, containers: [{name: a, resources: {requests: {memory: 1Gi}}},"
    " {name: b, resources: {requests: {memory: 1.5Gi}}}]}",
    "{resources: {requests: {cpu: 2}}, containers: [{name: a, resources: {limits: {cpu: 1500m, hugepages-2Mi: 4Mi}}}]}",
    "{resources: {requests: {cpu: 1}}, containers: [{name: a, resources: {limits: {cpu: 1500m}}}, {name: b}]}",
    "{resources: {requests: {cpu: 1}}, containers: [{name: a, resources: {limits: {cpu: 100u}}},"
    " {name: b, resources: {limits: {cpu: 100u}}}]}",
    "{resources: {limits: {cpu: 1}}, containers: [{name: a, resources: {requests: {memory: 1e5000}}}]}",
]


@pytest.mark.parametrize("release", ["1.33", "1.34", "1.36", "1.37"])
@pytest.mark.parametrize("spec", AS_A_WHOLE)
def test_rules_see_the_resources_that_are_stored(spec: str, release: str) -> None:
    stored, seen = _spec(spec, release=release), filled_in(quick_yaml.load(spec), release)
    assert stored.get("resources") == seen.get("resources")
    assert [each["resources"] for each in stored["containers"]] == [each.get("resources", {}) for each in seen["containers"]]


@pytest.mark.parametrize(
    ("spec", "release", "expected"),
    [
        (AS_A_WHOLE[0], "1.36", {"limits": {"memory": "1Gi"}, "requests": {"memory": "2560Mi"}}),
        (AS_A_WHOLE[1], "1.36", {"limits": {"hugepages-2Mi": "4Mi"}, "requests": {"cpu": 2, "hugepages-2Mi": "4Mi"}}),
        (AS_A_WHOLE[1], "1.37", {"limits": {"cpu": 2, "hugepages-2Mi": "4Mi"}, "requests": {"cpu": 2, "hugepages-2Mi": "4Mi"}}),
        (AS_A_WHOLE[2], "1.37", {"requests": {"cpu": 1}}),
    ],
)
def test_resources_of_pods_as_a_whole(spec: str, release: str, expected: dict[str, Any]) -> None:
    assert filled_in(quick_yaml.load(spec), release)["resources"] == expected


def test_fields_of_features_that_are_off_are_dropped() -> None:
    found = _spec("{schedulingGroup: {podGroupName: a}, containers: [{name: a, lifecycle: {stopSignal: SIGTERM}}]}")
    assert "schedulingGroup" not in found
    assert "lifecycle" not in found["containers"][0]


def test_priorities_of_classes_that_are_at_hand() -> None:
    assert _holds(_spec("{priorityClassName: high}", *CLASSES), {"priority": 7, "preemptionPolicy": "Never"})
    assert _holds(_spec("{}", *CLASSES), {"priorityClassName": "usual", "priority": 3})
    assert "priority" not in _spec("{priorityClassName: nowhere}", *CLASSES)


def test_a_container_that_mounts_its_own_token_gets_no_other() -> None:
    own = "{name: a, volumeMounts: [{name: t, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}"
    found = _spec(f"{{containers: [{own}], volumes: [{{name: t}}]}}")
    assert [each["name"] for each in found["volumes"]] == ["t"]
    found = _spec(f"{{containers: [{own}, {{name: b}}], volumes: [{{name: t}}]}}")
    assert [[mount["name"] for mount in each["volumeMounts"]] for each in found["containers"]] == [["t"], ["kube-api-access-<random>"]]


@pytest.mark.parametrize(("said", "mode", "is_whole"), [({}, "Indexed", False), ({"completionMode": ""}, "", True)])
def test_what_a_jobset_says_is_no_default_even_if_it_is_empty(said: dict[str, Any], mode: str, is_whole: bool) -> None:
    """A field that is a pointer in Go is set by an empty text, so that the webhook has nothing to change."""
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}}
    spec = {
        "successPolicy": {"operator": "All"},
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "network": {"enableDNSHostnames": False, "publishNotReadyAddresses": True},
        "replicatedJobs": [{"name": "j", "replicas": 1, "template": {"spec": {**said, "template": pod}}}],
    }
    jobset = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a"}, "spec": spec}
    stored: Any = stored_jobset(set_by(Mark("jobset"), jobset), choose([])).data()
    assert stored["spec"]["replicatedJobs"][0]["template"]["spec"]["completionMode"] == mode
    assert (with_jobset_defaults(spec) == spec) is is_whole
    assert is_rewritten(document_of(jobset, "a.yaml"), choose([]), old=None) is not is_whole


@pytest.mark.parametrize(
    ("metadata", "label"),
    [({"metadata": {"name": "a"}}, "a"), ({"metadata": {"labels": {"b": "c"}}}, ""), ({"metadata": {}}, ""), ({}, "")],
)
def test_a_policy_sees_a_job_before_the_server_misses_its_name(metadata: dict[str, Any], label: str) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}}
    job = document_of({"apiVersion": "batch/v1", "kind": "Job", **metadata, "spec": {"template": template}}, "job.yaml")
    seen = as_admitted(job, choose(()))
    assert seen["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == label
