"""Lint of more documents calls no more functions for each: no rule looks through all of them for each of them."""

import sys
from types import FrameType

from jobspec.journey.checking import checked
from jobspec.journey.references import resolve
from jobspec.journey.steps import Source
from jobspec.lint.linting import lint
from jobspec.world.world import Cluster

#: A job of each kind, with what they refer to and what looks for pods, numbered.
DOCUMENTS = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: job-NUMBER, namespace: team, labels: {app: job-NUMBER, kueue.x-k8s.io/queue-name: queue-NUMBER}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: Never
      template:
        spec:
          serviceAccountName: account-NUMBER
          volumes: [{name: code, configMap: {name: code-NUMBER}}, {name: data, persistentVolumeClaim: {claimName: data-NUMBER}}]
          containers:
            - name: pytorch
              image: train:1.4
              command: [python, /code/train.py]
              volumeMounts: [{name: code, mountPath: /code}, {name: data, mountPath: /data}]
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: other-NUMBER, namespace: team}
spec: {runtimeRef: {name: runtime-NUMBER, kind: TrainingRuntime}, trainer: {command: [torchrun, train.py], numNodes: 2}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: runtime-NUMBER, namespace: team}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {containers: [{name: node, image: "train:1.4"}]}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: code-NUMBER, namespace: team}, data: {train.py: ""}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: account-NUMBER, namespace: team}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-NUMBER, namespace: team}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Service
metadata: {name: service-NUMBER, namespace: team}
spec: {selector: {app: service-NUMBER}, ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: policy-NUMBER, namespace: team}
spec: {podSelector: {matchLabels: {app: policy-NUMBER}}, policyTypes: [Ingress]}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: queue-NUMBER, namespace: team}, spec: {clusterQueue: all-NUMBER}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: all-NUMBER}, spec: {resourceGroups: []}}
"""


def _calls(number: int) -> int:
    """How many functions lint calls for so many sets of documents."""
    cluster = Cluster()
    texts = [(f"{each}.yaml", DOCUMENTS.replace("NUMBER", str(each))) for each in range(10, 10 + number)]
    files = resolve([checked(Source(name, text, skip_unknown=True), (), cluster) for name, text in texts], cluster)
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        lint(files, cluster)
    finally:
        sys.setprofile(None)
    return calls


def test_more_documents_take_no_more_calls_each() -> None:
    _calls(2)  # what is loaded or remembered once
    few, many = _calls(10) / 10, _calls(40) / 40
    assert many < 1.01 * few, (few, many)
