#!/usr/bin/env bash
# What the Kubeflow SDK reads from the resources of a training runtime.
#
# Expected: `nvidia.com/gpu: 4` and `nvidia.com/gpu: "4"` are the same quantity, so with `numNodes: 2` both runtimes have 8 devices.
#   A runtime that limits only memory has an unknown device.
# Happens: quoted, it is "8"; unquoted, as most manifests have it, it is "4.0": of one node, and no integer. One runtime that
#   limits only memory makes list_runtimes raise, so that no other runtime is listed either; so does `amd.com/gpu` alone.
# Versions: kubeflow 0.5.0, kubeflow_trainer_api 2.3.0. The API server is replaced by its reply, so that no cluster is needed.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet kubeflow==0.5.0 kubeflow_trainer_api==2.3.0
cat > finding.py <<'PYTHON'
import logging
from types import SimpleNamespace

from kubeflow.trainer.backends.kubernetes.backend import KubernetesBackend

logging.disable(logging.CRITICAL)


def runtime(name, limits):
    container = {"name": "node", "image": "train", "resources": {"limits": limits}}
    template = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {
            "mlPolicy": {"numNodes": 2, "torch": {}},
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}},
        },
    }


def listed(*runtimes):
    def reply(items):
        return lambda *_, **__: SimpleNamespace(get=lambda timeout: {"items": items})

    backend = object.__new__(KubernetesBackend)
    backend.namespace = "team"
    backend.custom_api = SimpleNamespace(
        list_cluster_custom_object=reply(list(runtimes)), list_namespaced_custom_object=reply([])
    )
    try:
        return [(each.name, each.trainer.device, each.trainer.device_count) for each in backend.list_runtimes()]
    except Exception as error:
        return "raised: " + str(error).split(":")[0]


good = runtime("quoted", {"nvidia.com/gpu": "4"})
print(listed(good))
print(listed(runtime("unquoted", {"nvidia.com/gpu": 4})))
print(listed(good, runtime("memory", {"memory": "4Gi"})))
print(listed(good, runtime("amd", {"amd.com/gpu": "4"})))
PYTHON
venv/bin/python finding.py | tee seen
diff seen - <<'SEEN'
[('quoted', 'gpu', '8')]
[('unquoted', 'gpu', '4.0')]
raised: Unknown device type in the container resources
raised: Unknown device type in the container resources
SEEN
