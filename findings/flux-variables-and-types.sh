#!/usr/bin/env bash
# What type a value has after Flux put a variable into it.
#
# Expected: the quotes of the manifest decide. `version: "${VERSION}"` is an annotation, so a string, whatever the variable is.
# Happens: Flux writes the object as YAML anew, where `${VERSION}` needs no quotes, then substitutes, then reads it. The version 1.10
#   becomes the number 1.1, the short commit 6e5 becomes 600000, and the API server refuses a number there. A
#   Kustomization without variables substitutes nothing, so the first variable also starts to turn `$$` into `$` everywhere.
# Versions: github.com/fluxcd/pkg/kustomize 1.40.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"

	"github.com/fluxcd/pkg/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/provider"
)

const job = `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  annotations:
    escape: "$$(POD_IP)"
    version: "${VERSION}"
    tag: "v${VERSION}"
`

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	for _, variables := range []map[string]any{{}, {"VERSION": "1.10"}, {"VERSION": "6e5"}, {"VERSION": "latest"}} {
		resource, err := provider.NewDefaultDepProvider().GetResourceFactory().FromBytes([]byte(job))
		must(err)
		postBuild := map[string]any{"substitute": variables}
		owner := unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"postBuild": postBuild}}}
		resource, err = kustomize.SubstituteVariables(context.Background(), nil, owner, resource, kustomize.SubstituteWithDryRun(true))
		must(err)
		text, err := resource.MarshalJSON()
		must(err)
		fmt.Println(variables, string(text))
	}
}
GO
go mod init finding
go get github.com/fluxcd/pkg/kustomize@v1.40.0 sigs.k8s.io/kustomize/api@v0.21.1 sigs.k8s.io/kustomize/kyaml@v0.21.1
GOFLAGS=-mod=mod go run . | sed 's/{"apiVersion.*"annotations":{\(.*\)},"name".*/\1/' | tee seen
diff seen - <<'SEEN'
map[] "escape":"$$(POD_IP)","tag":"v${VERSION}","version":"${VERSION}"
map[VERSION:1.10] "escape":"$(POD_IP)","tag":"v1.10","version":1.1
map[VERSION:6e5] "escape":"$(POD_IP)","tag":"v6e5","version":600000
map[VERSION:latest] "escape":"$(POD_IP)","tag":"vlatest","version":"latest"
SEEN
