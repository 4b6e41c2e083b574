#!/usr/bin/env bash
# What kustomize changes in the pods of a training job that it has no field paths for.
#
# Expected: nothing below `spec`. kustomize has lists of field paths for Kubernetes' own kinds, and PyTorchJob and TrainJob are
#   custom resources, so `images`, hashed ConfigMap names and labels in pod templates would all need a `configurations` file.
# Happens: `images` does reach the PyTorchJob, because it looks for lists named `containers` at any depth of any kind. The hashed
#   ConfigMap name and the template labels do not reach the same container. So one kustomization rolls out a new image that
#   reads a ConfigMap which does not exist. A TrainJob has its image in `spec.trainer.image`, which `images` does not touch.
# Versions: kustomize 5.8.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN="$work/bin" go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2

cat > kustomization.yaml <<'YAML'
resources: [jobs.yaml]
images:
- {name: train, newTag: "2"}
labels:
- pairs: {team: vision}
  includeTemplates: true
configMapGenerator:
- name: settings
  literals: [lr=0.1]
YAML
cat > jobs.yaml <<'YAML'
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: pytorch
        image: train:1
        envFrom:
        - configMapRef: {name: settings}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: pytorchjob}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          containers:
          - name: pytorch
            image: train:1
            envFrom:
            - configMapRef: {name: settings}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: trainjob}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {image: "train:1"}
YAML
bin/kustomize build . | tee built.yaml
echo '---'
grep -E "^kind: [A-Z]|image: |  name: settings|team: " built.yaml | sed "s/^ *//; s/^- //; s/settings-.*/settings-HASH/" | tee seen
diff seen - <<'SEEN'
kind: ConfigMap
team: vision
name: settings-HASH
kind: Job
team: vision
team: vision
name: settings-HASH
image: train:2
kind: PyTorchJob
team: vision
name: settings
image: train:2
kind: TrainJob
team: vision
image: train:1
SEEN
