"""What becomes of a LeaderWorkerSet: records of LeaderWorkerSet 0.9.0 and 0.10.0 on Kubernetes 1.36.3, and what differs elsewhere."""

from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.documents.manifest import document_of
from jobspec.operators.expansion import ExpandedJob, expand

PREFIX = "leaderworkerset.sigs.k8s.io"


def _lws(name: str = "serve", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": name}, "spec": spec}


def _template(*, worker: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {**fields, "workerTemplate": {"spec": worker or {"containers": [{"name": "a", "image": "a:1"}]}}}


def _made(data: dict[str, Any], *wishes: str) -> dict[tuple[str, str], dict[str, Any]]:
    target = choose([*wishes, *([] if any(each.startswith("kubernetes") for each in wishes) else ["kubernetes=1.36"])])
    objects = [each.data() for each in expand(document_of(data, "lws.yaml"), (), target).objects]
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def _variables(pod: dict[str, Any], container: int = 0) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pod["spec"]["containers"][container]["env"]}


def test_objects_come_in_their_order() -> None:
    made = _made(_lws(replicas=2, leaderWorkerTemplate=_template(size=2)))
    assert list(made) == [
        *(("StatefulSet", "serve"), ("Service", "serve"), ("Pod", "serve-0"), ("Pod", "serve-1")),
        *(("StatefulSet", "serve-0"), ("Pod", "serve-0-1"), ("StatefulSet", "serve-1"), ("Pod", "serve-1-1")),
    ]


def test_a_leader_alone_has_no_set_of_workers() -> None:
    assert list(_made(_lws(leaderWorkerTemplate=_template()))) == [("StatefulSet", "serve"), ("Service", "serve"), ("Pod", "serve-0")]
    assert list(_made(_lws(replicas=0, leaderWorkerTemplate=_template(size=3)))) == [("StatefulSet", "serve"), ("Service", "serve")]


def test_each_group_has_a_service_of_its_own_where_that_is_wanted() -> None:
    made = _made(_lws(networkConfig={"subdomainPolicy": "UniquePerReplica"}, leaderWorkerTemplate=_template(size=2)))
    assert made["Service", "serve-0"]["spec"]["selector"] == {f"{PREFIX}/name": "serve", f"{PREFIX}/group-index": "0"}
    assert made["Service", "serve-0"]["metadata"]["ownerReferences"][0]["kind"] == "Pod"
    assert [made["Pod", each]["spec"]["subdomain"] for each in ("serve-0", "serve-0-1")] == ["serve-0", "serve-0"]
    assert _variables(made["Pod", "serve-0-1"])["LWS_LEADER_ADDRESS"] == "serve-0.serve-0.default"


def test_variables_replace_those_that_a_user_writes() -> None:
    own = [{"name": "LWS_GROUP_SIZE", "value": "9"}, {"name": "X", "value": "$(LWS_WORKER_INDEX)"}]
    pod = {"containers": [{"name": "a", "image": "a", "env": own}], "initContainers": [{"name": "b", "image": "b"}]}
    made = _made(_lws(leaderWorkerTemplate=_template(worker=pod, size=3)))["Pod", "serve-0-2"]
    expected = {"LWS_LEADER_ADDRESS": "serve-0.serve.default", "LWS_GROUP_SIZE": "3", "LWS_WORKER_INDEX": "2"}
    assert _variables(made) == {**expected, "X": "$(LWS_WORKER_INDEX)"}
    assert {each["name"]: each["value"] for each in made["spec"]["initContainers"][0]["env"]} == expected


def test_hashes_of_revisions_are_those_of_real_servers() -> None:
    """As recorded in the namespace `ld-one`, and of `tpu`, for which the worker's hash contains that of the namespace, too."""
    one = _lws("one", replicas=1, leaderWorkerTemplate=_template())
    assert _made(one)["Pod", "one-0"]["metadata"]["labels"][f"{PREFIX}/template-revision-hash"] == "798c747448"
    assert _made(one)["Pod", "one-0"]["metadata"]["labels"]["controller-revision-hash"] == "one-5f6fbf9985"
    assert "<revision>" in str(_made(one, "lws=0.8")) and "<revision>" in str(_made(one, "kubernetes=1.35"))


def test_workers_follow_their_leader_into_a_topology() -> None:
    data = _lws(leaderWorkerTemplate=_template(size=2))
    data["metadata"]["annotations"] = {f"{PREFIX}/exclusive-topology": "rack"}
    made = _made(data)
    affinity = made["Pod", "serve-0"]["spec"]["affinity"]
    assert [affinity[each]["requiredDuringSchedulingIgnoredDuringExecution"][0]["topologyKey"] for each in affinity] == ["rack", "rack"]
    assert made["Pod", "serve-0-1"]["spec"]["nodeSelector"] == {"rack": "<random>"}
    assert "affinity" not in made["Pod", "serve-0-1"]["spec"]


@pytest.mark.parametrize(
    ("size", "parts", "kind", "expected"),
    [
        (5, 2, "LeaderWorker", ["0", "0", "0", "1", "1"]),
        (4, 2, "LeaderWorker", ["0", "0", "1", "1"]),
        (3, 2, "LeaderExcluded", ["", "0", "0"]),
    ],
)
def test_subgroups(size: int, parts: int, kind: str, expected: list[str]) -> None:
    policy = {"subGroupSize": parts, "subGroupPolicyType": kind}
    made = _made(_lws(leaderWorkerTemplate=_template(size=size, subGroupPolicy=policy)))
    pods = [each["metadata"]["labels"] for (kind, _), each in made.items() if kind == "Pod"]
    assert [each.get(f"{PREFIX}/subgroup-index", "") for each in pods] == expected


def test_a_subgroup_of_one_pod_has_no_second_one_since_0_10() -> None:
    data = _lws(leaderWorkerTemplate=_template(size=3, subGroupPolicy={"subGroupSize": 1}))
    for release, expected in (("0.10", ["0", "1", "2"]), ("0.9", ["0", "0", "1"])):
        pods = [each["metadata"]["labels"] for (kind, _), each in _made(data, f"lws={release}").items() if kind == "Pod"]
        assert [each[f"{PREFIX}/subgroup-index"] for each in pods] == expected


def test_sets_have_labels_and_annotations_of_the_user_since_0_10() -> None:
    data = _lws(leaderWorkerTemplate=_template(size=2))
    data["metadata"] |= {"labels": {"app": "a", f"{PREFIX}/name": "b"}, "annotations": {"team": "c", f"{PREFIX}/replicas": "9"}}
    newest, older = (_made(data, f"lws={release}") for release in ("0.10", "0.9"))
    for name, own in (("serve", {f"{PREFIX}/replicas": "1"}), ("serve-0", {f"{PREFIX}/replicas": "9"})):
        found, before = (each["StatefulSet", name]["metadata"] for each in (newest, older))
        assert found["labels"] == {"app": "a", **before["labels"]} and found["labels"][f"{PREFIX}/name"] == "serve"
        assert found["annotations"] == {"team": "c", **own}
    assert "annotations" not in older["StatefulSet", "serve-0"]["metadata"]
    assert all("app" not in each["metadata"].get("labels", {}) for (kind, _), each in newest.items() if kind in ("Pod", "Service"))


def test_workers_know_the_policy_of_subgroups_since_0_10() -> None:
    data = _lws(leaderWorkerTemplate=_template(size=3, subGroupPolicy={"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}))
    newest, older = (_made(data, f"lws={release}") for release in ("0.10", "0.9"))
    for pod, releases in (("serve-0", (newest, older)), ("serve-0-1", (newest,))):
        for made in releases:
            assert made["Pod", pod]["metadata"]["annotations"][f"{PREFIX}/subgroup-policy-type"] == "LeaderExcluded"
    assert f"{PREFIX}/subgroup-policy-type" not in older["Pod", "serve-0-1"]["metadata"]["annotations"]


TPUS = {"limits": {"google.com/tpu": 4}}


def test_tpus_are_numbered_in_all_containers_since_0_9() -> None:
    pod = {"containers": [{"name": name, "image": "a", "resources": TPUS} for name in "ab"]}
    data = _lws(leaderWorkerTemplate=_template(worker=pod, size=2))
    newest, older, oldest = (_made(data, f"lws={release}")["Pod", "serve-0-1"] for release in ("0.9", "0.8", "0.7"))
    assert [_variables(newest, number)["TPU_WORKER_ID"] for number in (0, 1)] == ["2", "3"]
    assert _variables(newest, 1)["TPU_PROCESS_PORT"] == "8477"
    assert _variables(older)["TPU_PROCESS_ADDRESSES"] == "serve-0.serve:8476,serve-0-1.serve:8476"
    assert "TPU_NAME" not in _variables(older, 1) and "TPU_PROCESS_PORT" not in _variables(oldest)


def _subgroups_with_tpus(release: str, size: int, *, leader: bool) -> dict[str, tuple[str, str]]:
    """The number and the hosts that each pod with TPUs gets, by its name."""
    pod = {"containers": [{"name": "a", "image": "a", "resources": TPUS}]}
    own = {} if leader else {"leaderTemplate": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}
    data = _lws(leaderWorkerTemplate=_template(worker=pod, size=size, subGroupPolicy={"subGroupSize": 2}, **own))
    pods = {name: _variables(each) for (kind, name), each in _made(data, f"lws={release}").items() if kind == "Pod"}
    return {name: (each["TPU_WORKER_ID"], each["TPU_WORKER_HOSTNAMES"]) for name, each in pods.items() if "TPU_NAME" in each}


def test_a_leader_with_tpus_in_a_subgroup_is_its_first_since_0_10() -> None:
    first, second = "serve-0.serve,serve-0-1.serve", "serve-0-2.serve,serve-0-3.serve"
    workers = {"serve-0-1": ("1", first), "serve-0-2": ("0", second), "serve-0-3": ("1", second)}
    assert _subgroups_with_tpus("0.10", 4, leader=True) == {"serve-0": ("0", first), **workers}
    assert _subgroups_with_tpus("0.9", 4, leader=True) == {"serve-0": ("-1", first), **workers}


def test_workers_with_tpus_under_a_leader_without_are_divided_alone() -> None:
    first, second = "serve-0-1.serve,serve-0-2.serve", "serve-0-3.serve,serve-0-4.serve"
    expected = {"serve-0-1": ("0", first), "serve-0-2": ("1", first), "serve-0-3": ("0", second), "serve-0-4": ("1", second)}
    assert _subgroups_with_tpus("0.10", 5, leader=False) == _subgroups_with_tpus("0.9", 5, leader=False) == expected
    fewer = {name: each for name, each in expected.items() if name != "serve-0-4"}  # whose name the others have all the same
    assert _subgroups_with_tpus("0.10", 4, leader=False) == fewer
    assert _subgroups_with_tpus("0.9", 4, leader=False) == {**fewer, "serve-0-2": ("1", second)}


@pytest.mark.parametrize(("release", "expected"), [("0.9", 3), ("0.8", "50%")])
def test_groups_that_may_be_missing_in_a_rollout(release: str, expected: int | str) -> None:
    rolling = {"maxUnavailable": "50%", "maxSurge": "30%"}
    data = _lws(replicas=4, rolloutStrategy={"rollingUpdateConfiguration": rolling}, leaderWorkerTemplate=_template())
    made = _made(data, f"lws={release}")["StatefulSet", "serve"]["spec"]["updateStrategy"]
    assert made == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 4 if expected == 3 else expected, "partition": 0}}


def test_each_pod_has_a_claim_of_its_own() -> None:
    claim = {"metadata": {"name": "data", "labels": {"a": "b"}}, "spec": {"accessModes": ["ReadWriteOnce"], "volumeName": "gone"}}
    template = _template(size=2, volumeClaimTemplates=[claim], persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete"})
    made = _made(_lws(leaderWorkerTemplate=template))
    found = made["PersistentVolumeClaim", "data-serve-0-1"]
    assert found["spec"] == {"accessModes": ["ReadWriteOnce"]}
    assert found["metadata"]["ownerReferences"][0]["name"] == "serve-0"
    assert "a" not in found["metadata"]["labels"]
    assert made["Pod", "serve-0-1"]["spec"]["volumes"][0]["persistentVolumeClaim"] == {"claimName": "data-serve-0-1"}


def test_a_refused_leader_has_its_claim() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    policy = {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}
    pod = {"containers": [{"name": "a", "image": "a", "resources": TPUS}]}
    made = _made(_lws(replicas=3, leaderWorkerTemplate=_template(worker=pod, size=3, subGroupPolicy=policy, volumeClaimTemplates=[claim])))
    assert list(made) == [("StatefulSet", "serve"), ("Service", "serve"), ("PersistentVolumeClaim", "data-serve-0")]


def test_roles_and_what_meets() -> None:
    target = choose([])
    job = document_of(_lws(replicas=3, leaderWorkerTemplate=_template(size=4)), "lws.yaml")
    expansion = expand(job, (), target, first_and_last_only=True)
    roles = ExpandedJob(job, expansion.objects, target, expansion.counts).roles
    assert [(each.name, each.count, each.meeting, each.training) for each in roles] == [("leader", 3, 1, ""), ("worker", 9, 3, "")]
    assert [each.name for each in roles[1].pods] == ["serve-0-1", "serve-0-3", "serve-2-1", "serve-2-3"]
