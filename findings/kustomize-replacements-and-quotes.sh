#!/usr/bin/env bash
# What a kustomize replacement makes of a string of digits that it writes into a new field.
#
# Expected: a string stays a string. `workers: "4"` of a ConfigMap is `value: "4"` in an environment variable, whether the field
#   was there or is made by `create: true`.
# Happens: where the field was there, it keeps its type. A new field gets the digits without quotes: a variable has `value: 4`,
#   and an annotation of a pod template is a number, which the API server refuses. Annotations of the object itself
#   are quoted.
# Versions: kustomize 5.8.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN="$work/bin" go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2

cat > kustomization.yaml <<'YAML'
resources: [jobs.yaml]
replacements:
- source: {kind: ConfigMap, name: sizes, fieldPath: data.workers}
  targets:
  - select: {kind: JobSet}
    fieldPaths:
    - spec.replicatedJobs.0.template.spec.parallelism
    - spec.replicatedJobs.0.template.spec.template.spec.containers.0.env.[name=OLD].value
  - select: {kind: JobSet}
    options: {create: true}
    fieldPaths:
    - metadata.annotations.new
    - spec.replicatedJobs.0.template.spec.template.metadata.annotations.new
    - spec.replicatedJobs.0.template.spec.template.spec.containers.0.env.[name=NEW].value
YAML
cat > jobs.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: sizes}
data: {workers: "4"}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  replicatedJobs:
  - name: worker
    template:
      spec:
        parallelism: 1
        template:
          spec:
            containers:
            - name: trainer
              env:
              - {name: OLD, value: "1"}
YAML
bin/kustomize build . | sed '1,/^---$/d' | tee seen
diff seen - <<'SEEN'
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  annotations:
    new: "4"
  name: train
spec:
  replicatedJobs:
  - name: worker
    template:
      spec:
        parallelism: 4
        template:
          metadata:
            annotations:
              new: 4
          spec:
            containers:
            - env:
              - name: OLD
                value: "4"
              - name: NEW
                value: 4
              name: trainer
SEEN
