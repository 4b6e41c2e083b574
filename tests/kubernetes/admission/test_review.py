"""The admission plugins' answer to a pod: what they fill in, and what they tell besides."""

from typing import Any

from jobspec.apis.kinds import PRIORITY_CLASS, CompleteKinds
from jobspec.apis.releases import choose
from jobspec.kubernetes.admission.quotas import job_quota_problems
from jobspec.kubernetes.admission.review import review_pod
from jobspec.kubernetes.index import Index
from tests.support import quick_yaml

_TARGET = choose([])
_OBJECTS = """
{apiVersion: v1, kind: LimitRange, metadata: {name: sizes, namespace: team}, spec: {limits: [
  {type: Container, default: {memory: 4Gi}, defaultRequest: {memory: 1Gi}, min: {cpu: 100m}}]}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: team}, spec: {hard: {pods: 3, requests.nvidia.com/gpu: 8}}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: usual}, value: 7, globalDefault: true, preemptionPolicy: Never}
---
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: sealed}, handler: h, overhead: {podFixed: {cpu: 250m}},
 scheduling: {nodeSelector: {a: b}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: team}, imagePullSecrets: [{name: registry}]}
"""


def _objects() -> Index:
    return Index(quick_yaml.load_all(_OBJECTS))


def _pod(spec: dict[str, Any], **container: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {**spec, "containers": [{"name": "c", "image": "i", **container}]}}


def test_what_the_plugins_fill_in() -> None:
    review = review_pod(_pod({"runtimeClassName": "sealed"}), "team", _objects(), _TARGET)
    assert review.refusals == []
    assert review.pod["spec"] == {
        "runtimeClassName": "sealed",
        "serviceAccountName": "default",
        "imagePullSecrets": [{"name": "registry"}],
        "priorityClassName": "usual",
        "priority": 7,
        "preemptionPolicy": "Never",
        "overhead": {"cpu": "250m"},
        "nodeSelector": {"a": "b"},
        "containers": [
            {"name": "c", "image": "i", "resources": {"limits": {"memory": "4Gi"}, "requests": {"cpu": "100m", "memory": "1Gi"}}},
        ],
    }


def test_other_namespaces_have_other_policies() -> None:
    pod = _pod({})
    assert review_pod(pod, "other", _objects(), _TARGET).pod["spec"]["containers"] == pod["spec"]["containers"]


def test_objects_decide_on_pods_of_their_own_namespace_and_classes_on_all() -> None:
    objects = list(quick_yaml.load_all(_OBJECTS))
    of_team = Index([each for each in objects if "namespace" in each["metadata"]])
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"a": "b"}}}
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    labelled = Index([{**namespace, "metadata": {"name": "team", "labels": labels}}])
    assert [
        (bool(each.deciding_on_pods("team")), bool(each.deciding_on_pods("other")))
        for each in (Index(), Index([namespace]), of_team, labelled, Index(objects))
    ] == [
        (False, False),
        (False, False),
        (True, False),
        (True, False),
        (True, True),
    ]


def test_further_objects_come_beside_those_that_are_there_and_the_last_of_a_name_counts() -> None:
    def usual(value: int) -> dict[str, Any]:
        return {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "usual"}, "value": value}

    there = Index([usual(7)], complete=CompleteKinds(every=True))
    more = there.with_others([usual(8), {**usual(9), "metadata": {"name": "other"}}])
    assert (there.priority_class("usual"), there.priority_class("other")) == (usual(7), None)
    assert (more.priority_class("usual"), more.names(PRIORITY_CLASS), more.complete.every) == (usual(8), ["usual", "other"], True)


def test_a_job_never_fits_where_its_pods_together_are_more_than_a_quota() -> None:
    pod = review_pod(_pod({}, resources={"limits": {"nvidia.com/gpu": 4}}), "team", _objects(), _TARGET).pod
    assert list(job_quota_problems([(pod, 2)], "team", _objects())) == []
    problems = list(job_quota_problems([(pod, 1), (pod, 3)], "team", _objects()))
    assert [(each.rule, each.message) for each in problems] == [
        ("over-quota", "exceeds ResourceQuota `few`: the job's pods request 4 of `pods`, the quota is 3"),
        ("over-quota", "exceeds ResourceQuota `few`: the job's pods request 16 of `requests.nvidia.com/gpu`, the quota is 8"),
    ]
