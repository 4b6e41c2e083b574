#!/usr/bin/env bash
# What becomes of a base's `openapi` schema when an overlay names one of its own.
#
# Expected: each kustomization is built by the schema that it names, so that a base gives the same objects alone and in an overlay.
# Happens: a build has one schema. An overlay that names one replaces that of its base, without a word, and the base's own patches
#   merge by it: the base alone keeps both items of the list, the same base in the overlay loses one. Where the overlay names
#   none, the schema of the base counts for the overlay's patches, too.
# Versions: kustomize 5.8.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
GOBIN="$work/bin" go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2
mkdir base overlay

cat > base/kustomization.yaml <<'YAML'
resources: [widget.yaml]
patches: [{path: patch.yaml}]
openapi: {path: schema.json}
YAML
cat > base/widget.yaml <<'YAML'
apiVersion: example.com/v1
kind: Widget
metadata: {name: widget}
spec: {items: [{name: a, size: 1}, {name: b, size: 1}]}
YAML
cat > base/patch.yaml <<'YAML'
apiVersion: example.com/v1
kind: Widget
metadata: {name: widget}
spec: {items: [{name: a, size: 2}]}
YAML
cat > base/schema.json <<'JSON'
{"definitions": {"Widget": {
  "type": "object",
  "properties": {"spec": {"type": "object", "properties": {"items": {
    "type": "array", "items": {"type": "object"},
    "x-kubernetes-patch-merge-key": "name", "x-kubernetes-patch-strategy": "merge"}}}},
  "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}]}}}
JSON
cat > overlay/kustomization.yaml <<'YAML'
resources: [../base]
openapi: {path: schema.json}
YAML
echo '{"definitions": {}}' > overlay/schema.json

items() { bin/kustomize build "$1" | grep -c 'name: [ab]$'; }
alone=$(items base)
within=$(items overlay)
echo "the base alone: $alone items; in the overlay: $within"
[ "$alone" = 2 ] && [ "$within" = 1 ] || { echo "this has changed" >&2; exit 1; }
