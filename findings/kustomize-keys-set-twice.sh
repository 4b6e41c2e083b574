#!/usr/bin/env bash
# What kustomize makes of a kustomization that sets a key twice.
#
# Expected: it refuses the file, as it refuses an unknown field there, and as it refuses a manifest that sets a key twice.
# Happens: the last key counts, at the top and inside of a generator. What the first `resources` lists is not built, without a word;
#   a manifest with a key twice is an error.
# Versions: kustomize 5.8.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN="$work/bin" go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2

mkdir files manifest
cat > files/job.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
YAML
cat > files/evaluate.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: evaluate}
YAML
cat > files/kustomization.yaml <<'YAML'
resources: [job.yaml]
configMapGenerator:
- name: settings
  literals: [epochs=1]
  literals: [lr=0.1]
resources: [evaluate.yaml]
YAML
cat > manifest/kustomization.yaml <<'YAML'
resources: [job.yaml]
YAML
cat > manifest/job.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
metadata: {name: evaluate}
YAML
{
  bin/kustomize build files
  bin/kustomize build manifest 2>&1 | grep -o 'mapping key .* already defined' || true
} | tee seen
diff seen - <<'SEEN'
apiVersion: v1
data:
  lr: "0.1"
kind: ConfigMap
metadata:
  name: settings-cgc742g668
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: evaluate
mapping key "metadata" already defined
SEEN
