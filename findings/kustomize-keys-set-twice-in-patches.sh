#!/usr/bin/env bash
# What kustomize makes of patches that set a key twice.
#
# Expected: the last key counts, as in a kustomization, or each patch is refused, as a manifest is.
# Happens: in a merge patch of a mapping that the object has, the first key counts; if the object has no such mapping, the build fails;
#   in a JSON patch, the last key counts.
# Versions: kustomize 5.8.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN="$work/bin" go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2

mkdir merged copied json
for each in merged copied json; do
  cat > "$each/job.yaml" <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec: {runPolicy: {backoffLimit: 1}}
YAML
done
cat > merged/kustomization.yaml <<'YAML'
resources: [job.yaml]
patches:
- target: {kind: PyTorchJob}
  patch: |
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: train}
    spec: {runPolicy: {backoffLimit: 2, backoffLimit: 3}}
YAML
cat > copied/kustomization.yaml <<'YAML'
resources: [job.yaml]
patches:
- target: {kind: PyTorchJob}
  patch: |
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: train}
    spec: {nprocPerNode: auto, elasticPolicy: {maxReplicas: 2, maxReplicas: 3}}
YAML
cat > json/kustomization.yaml <<'YAML'
resources: [job.yaml]
patches:
- target: {kind: PyTorchJob}
  patch: |
    - {op: replace, path: /spec/runPolicy/backoffLimit, value: 2, value: 3}
YAML
for each in merged copied json; do
  bin/kustomize build "$each" 2>&1 | grep -oE 'backoffLimit: .*|mapping key .* already defined' | sed "s/^/$each: /" || true
done | tee seen
diff seen - <<'SEEN'
merged: backoffLimit: 2
copied: mapping key "maxReplicas" already defined
json: backoffLimit: 3
SEEN
