#!/usr/bin/env bash
# What kustomize makes of fields of a kustomization in another letter case.
#
# Expected: `Resources` and `namePREFIX` are unknown fields, which kustomize refuses, as it refuses `resource`.
# Happens: they count as `resources` and `namePrefix`. Of `Resources` and `resources` in one kustomization, whichever comes first, the list
#   in lower case counts, and what the other one lists is missing from the build without a word.
# Versions: kustomize 5.8.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN="$work/bin" go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2

for each in unknown other lower-last lower-first; do
  mkdir "$each"
  for name in master worker; do
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n' "$name" > "$each/$name.yaml"
  done
done
printf 'resource: [master.yaml, worker.yaml]\n' > unknown/kustomization.yaml
printf 'Resources: [master.yaml, worker.yaml]\nnamePREFIX: train-\n' > other/kustomization.yaml
printf 'Resources: [master.yaml]\nresources: [worker.yaml]\n' > lower-last/kustomization.yaml
printf 'resources: [worker.yaml]\nResources: [master.yaml]\n' > lower-first/kustomization.yaml
for each in unknown other lower-last lower-first; do
  bin/kustomize build "$each" 2>&1 | grep -oE 'name: .*|unknown field .*' | sed "s/^/$each: /" || true
done | tee seen
diff seen - <<'SEEN'
unknown: unknown field "resource"
other: name: train-master
other: name: train-worker
lower-last: name: worker
lower-first: name: worker
SEEN
