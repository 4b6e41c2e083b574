"""Random objects for the CEL rules of our kinds: mostly valid by their schemas, and by chance by the rules."""

from random import Random
from typing import Any

_NAMES = ("a", "a1", "1a", "a.b", "a" * 63, "a" * 64, "a-", "A", "a--b")
_PREFIXES = ("a-", "1-", "a.b-", "a" * 70, "A")
_URIS = ("", "s3://a", "s3://", "a", "://a", "1s://a", "S+.-9://ä", "s3://a\nb", "s3:/a", "s3://a://b", "s 3://a", "a://\n")
_POLICIES = ("mpi", "jax", "xgboost", "flux")


def trainjob(random: Random) -> dict[str, Any]:
    """A TrainJob whose name, manager and URIs may break their rules."""
    spec: dict[str, Any] = {"runtimeRef": _some(random, name="x", kind=random.choice(("ClusterTrainingRuntime", "TrainingRuntime")))}
    spec["runtimeRef"]["name"] = random.choice("xxxy")
    if random.random() < 0.4:
        spec["managedBy"] = random.choice(("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue", "", None, "me"))
    if random.random() < 0.6:
        spec["initializer"] = {part: {"storageUri": random.choice(_URIS)} for part in ("dataset", "model") if random.random() < 0.6}
    if random.random() < 0.3:
        spec["trainer"] = _some(random, numNodes=random.choice((1, 2)), env=_shuffled(random, [{"name": "A"}, {"name": "B", "value": "b"}]))
    if random.random() < 0.3:
        spec["activeDeadlineSeconds"] = random.choice((0, 1, 2))
    if random.random() < 0.5:
        spec["runtimePatches"] = _shuffled(random, [{"manager": name, **_patch(random)} for name in "ab"])
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": _metadata(random), "spec": spec}


def _metadata(random: Random) -> dict[str, str]:
    made = {}
    if random.random() < 0.9:
        made["name"] = random.choice(_NAMES) if random.random() < 0.3 else "a"
    if random.random() < 0.1:
        made["generateName"] = random.choice(_PREFIXES)
    return made


def _patch(random: Random) -> dict[str, Any]:
    containers = _shuffled(random, [{"name": "node"}, {"name": "side", "env": [{"name": "A", "value": random.choice("ab")}]}])
    volumes = _shuffled(random, [{"name": "v", "emptyDir": {}}, {"name": "w", "emptyDir": {"sizeLimit": random.choice((1, "1"))}}])
    fields = {"containers": containers, "volumes": volumes, "serviceAccountName": random.choice("ab")}
    pod = _some(random, **fields, imagePullSecrets=[{"name": "a"}], nodeSelector={"a": random.choice("ab")})
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    return {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": _shuffled(random, [job, {"name": "other"}])}}}}


def runtime(random: Random) -> dict[str, Any]:
    """A TrainingRuntime with no, one or two policies."""
    policy: dict[str, Any] = {"numNodes": random.choice((1, None))}
    policy |= {name: {} for name in _POLICIES if random.random() < 0.2}
    if "flux" in policy:
        policy["flux"] = _some(random, numProcPerNode=random.choice((-1, 0, 1, 2)))
    if random.random() < 0.5:
        names = random.sample(("node", "a", "nodes"), random.choice((1, 2)))
        policy["torch"] = _some(random, envInjection={"targets": [{"jobName": "a", "containerNames": names}]})
    spec = {"mlPolicy": policy, "template": {"spec": _jobset_spec(random)}}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": "a"}, "spec": spec}


def jobset(random: Random) -> dict[str, Any]:
    """A JobSet that may have `startupPolicy` and `dependsOn`."""
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "a"}, "spec": _jobset_spec(random)}


def _jobset_spec(random: Random) -> dict[str, Any]:
    waits = [{"name": "a", "status": "Ready"}, {"name": "b", "status": random.choice(("Ready", "Ready", "Complete"))}]
    template = {"spec": {"template": {"spec": {"containers": []}}}}
    jobs = [{"name": name, "template": template, **_some(random, 0.3, dependsOn=_shuffled(random, waits))} for name in "abc"]
    claims = [_some(random, 0.8, metadata=_some(random, 0.3, namespace=random.choice(("", "a", None)))) for _ in range(2)]
    times = ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-01T00:00:01Z")
    claims[0]["status"] = {"conditions": [{"type": "a", "status": "True", "lastTransitionTime": random.choice(times)}]}
    return _some(
        random,
        startupPolicy={"startupPolicyOrder": random.choice(("InOrder", "AnyOrder"))},
        replicatedJobs=_shuffled(random, jobs),
        volumeClaimPolicies=[_some(random, 0.9, templates=claims, retentionPolicy=_some(random, whenDeleted="Delete"))],
        network=_some(random, subdomain=random.choice("ab"), enableDNSHostnames=random.choice((True, None))),
        successPolicy={"operator": random.choice(("All", "Any"))},
    )


def pytorchjob(random: Random) -> dict[str, Any]:
    """A PyTorchJob with or without a queue."""
    policy = _some(random, schedulingPolicy=_some(random, 0.9, queue=random.choice(("a", "b", "", None))))
    spec = {"pytorchReplicaSpecs": {}, "runPolicy": policy}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "a"}, "spec": spec}


_SIZES = ("1Gi", "1024Mi", "1073741824", "1G", "2Gi", "1.5Gi", 1073741824, "1Mi", "1073741824.5")
_SOURCES = (
    {"kind": "PersistentVolumeClaim", "name": "z"},
    {"kind": "PersistentVolumeClaim", "name": "z", "namespace": ""},
    {"kind": "PersistentVolumeClaim", "name": "z", "namespace": "a"},
    {"kind": "A", "name": "z", "apiGroup": "example.com"},
)


def claim(random: Random) -> dict[str, Any]:
    """A claim, mostly with the same values."""
    requests = {"storage": random.choice(_SIZES), **_some(random, 0.2, cpu=random.choice((None, 0, 1, "1000m")))}
    spec = {
        "accessModes": ["ReadWriteMany"] if random.random() < 0.1 else ["ReadWriteOnce"],
        "resources": {"requests": requests, **_some(random, 0.2, limits=random.choice(({}, None, {"storage": "5Gi"}, {"cpu": None})))},
        **_some(
            random,
            0.15,
            storageClassName=random.choice((None, "", "a", "b")),
            volumeName=random.choice((None, "", "a", "b")),
            volumeMode=random.choice(("Filesystem", "Block", None)),
            volumeAttributesClassName=random.choice((None, "", "a")),
            selector=random.choice((None, {}, {"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "b"}, "matchExpressions": []})),
            dataSource=random.choice(_SOURCES),
            dataSourceRef=random.choice(_SOURCES),
        ),
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "spec": spec}


MAKERS = (trainjob, runtime, jobset, pytorchjob, claim)


def _some(random: Random, chance: float = 0.5, /, **fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if random.random() < chance}


def _shuffled(random: Random, items: list[Any]) -> list[Any]:
    kept = [item for item in items if random.random() < 0.8]
    random.shuffle(kept)
    return kept
