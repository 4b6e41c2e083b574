#!/usr/bin/env bash
# Which file kustomize names as the origin of an object whose annotations a patch sets.
#
# Expected: with `buildMetadata: [originAnnotations]`, the origin of an object is the manifest that it was read from, whatever patches do
#   to the object.
# Happens: kustomize keeps the origin in the annotations of the object while it builds. A JSON patch that sets `/metadata/annotations`
#   removes the origin with them, and the kustomization that has the patch counts as what made the object, as if it were a generator.
# Versions: kustomize 5.8.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN="$work/bin" go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2

mkdir base
cat > base/kustomization.yaml <<'YAML'
resources: [jobs.yaml]
YAML
cat > base/jobs.yaml <<'YAML'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: one}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: two}
YAML
cat > kustomization.yaml <<'YAML'
buildMetadata: [originAnnotations]
resources: [base]
patches:
- target: {name: one}
  patch: |-
    - {op: add, path: /metadata/annotations, value: {team: a}}
- target: {name: two}
  patch: |-
    - {op: add, path: /metadata/annotations/team, value: a}
YAML
bin/kustomize build . | tee seen
diff seen - <<'SEEN'
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  annotations:
    config.kubernetes.io/origin: |
      configuredIn: kustomization.yaml
      configuredBy:
        apiVersion: builtin
        kind: PatchTransformer
    team: a
  name: one
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  annotations:
    config.kubernetes.io/origin: |
      path: base/jobs.yaml
    team: a
  name: two
SEEN
