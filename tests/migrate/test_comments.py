"""A migrated file keeps its comments, and the bytes of what is not migrated."""

import pytest

from jobspec.documents.comments import comments_of
from jobspec.migrate.jobs import MigratedJob, migrate_to_trainjob
from jobspec.migrate.text import place_of, replaced
from tests.migrate.jobs import accepted, cluster, corpus, documents_of, jobs_among
from tests.support.reference import folder

BEFORE = """\
# Example Inc.
apiVersion: kubeflow.org/v1  # the old line
kind: PyTorchJob
metadata:
  name: mnist
  # who pays
  labels: {team: a}  # billing
spec:
  nprocPerNode: "1"
  pytorchReplicaSpecs:  # the pods
    Master: &pods
      replicas: 1
      restartPolicy: Never  # once
      template:
        spec:
          containers:
            - name: pytorch  # this one trains
              image: train:1
              # all flags
              args:
                - "--lr"  # rate
                - "0.1"
    Worker:
      <<: *pods
      replicas: 3  # three more
# the end
---
apiVersion: v1
kind: ConfigMap
metadata:   {name: x}   # as it is
"""
AFTER = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata:
  name: mnist
  labels:
    trainer.kubeflow.org/framework: torch
spec:
  mlPolicy:
    numNodes: 4
    torch: {}
  template:
    spec:
      replicatedJobs:
      - name: node
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: trainer
          spec:
            backoffLimit: 0
            template:
              spec:
                restartPolicy: Never  # once
                containers:
                - name: node  # this one trains
---
# Example Inc.
apiVersion: trainer.kubeflow.org/v1alpha1  # the old line
kind: TrainJob
metadata:
  name: mnist
  # who pays
  labels:  # billing
    team: a
spec:
  runtimeRef:
    apiGroup: trainer.kubeflow.org
    kind: TrainingRuntime
    name: mnist
  # pytorchReplicaSpecs:  # the pods
  trainer:
    numNodes: 4  # three more
    numProcPerNode: 1
    image: train:1
    # all flags
    args:
    - --lr  # rate
    - "0.1"
    env:
    - name: TRAINJOB_NAME
      valueFrom:
        fieldRef:
          fieldPath: "metadata.labels['jobset.sigs.k8s.io/jobset-name']"
    - name: PYTHONUNBUFFERED
      value: "1"
    - name: MASTER_PORT
      value: "29500"
    - name: MASTER_ADDR
      value: $(TRAINJOB_NAME)-node-0-0.$(TRAINJOB_NAME)
    - name: WORLD_SIZE
      value: "4"
    - name: RANK
      valueFrom:
        fieldRef:
          fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"
# the end
---
apiVersion: v1
kind: ConfigMap
metadata:   {name: x}   # as it is
"""


def _migrated(text: str) -> str:
    documents = accepted(text)
    found = {place_of(each): migrate_to_trainjob(each, documents, cluster()) for each in jobs_among(documents)}
    return replaced(text, documents, {place: each.trees for place, each in found.items() if isinstance(each, MigratedJob)})


def test_comments_go_with_their_values() -> None:
    assert _migrated(BEFORE) == AFTER


@pytest.mark.slow
def test_no_comment_of_a_public_job_is_lost() -> None:
    found = 0
    for path in corpus(folder("corpus", "manifests")):
        text = path.read_text().replace("\r\n", "\n")
        documents, result = documents_of(text)
        if result.valid and jobs_among(documents):
            found += 1
            migrated = _migrated(text)
            assert [each for each in comments_of(text) if each not in migrated] == [], path
    assert found > 70
