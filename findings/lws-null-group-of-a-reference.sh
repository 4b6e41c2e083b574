#!/usr/bin/env bash
# What a LeaderWorkerSet is once Go has read and written it, as a mutating webhook does, if a claim template names a source of its data.
#
# Expected: `apiGroup` of a `dataSource` is optional, in Kubernetes and in the CRD; left out, it stays left out. A webhook that only fills in
#   defaults does not make a valid object invalid.
# Happens: the Go type has no `omitempty` there, so that the group is written as null. The schema of the CRD, which is made of the same Go
#   type, takes a string and no null: validation as by an API server accepts the object as it was written, and refuses it afterwards. The
#   same holds for a `projected` volume without `sources`.
# Versions: sigs.k8s.io/lws 0.9.0, k8s.io/api and k8s.io/apiextensions-apiserver as it requires them
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go <<'GO'
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	lws "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/yaml"
)

const object = `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: train}
spec:
  replicas: 1
  startupPolicy: LeaderCreated
  rolloutStrategy: {type: RollingUpdate, rollingUpdateConfiguration: {partition: 0, maxUnavailable: 1, maxSurge: 0}}
  leaderWorkerTemplate:
    size: 2
    volumeClaimTemplates:
    - metadata: {name: data}
      spec:
        accessModes: [ReadWriteOnce]
        resources: {requests: {storage: 1Gi}}
        dataSource: {kind: PersistentVolumeClaim, name: prepared}
    workerTemplate:
      spec:
        containers: [{name: train, image: "train:1"}]
        volumes: [{name: tokens, projected: {defaultMode: 420}}]
`

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(must(os.ReadFile(os.Args[1])), &crd); err != nil {
		panic(err)
	}
	var schema apiextensions.JSONSchemaProps
	props := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &schema, nil); err != nil {
		panic(err)
	}
	validator, _, err := validation.NewSchemaValidator(&schema)
	if err != nil {
		panic(err)
	}
	judge := func(what string, data []byte) {
		var value map[string]any
		if err := json.Unmarshal(data, &value); err != nil {
			panic(err)
		}
		found := validation.ValidateCustomResource(nil, value, validator)
		fmt.Printf("%s: %d errors\n", what, len(found))
		for _, each := range found {
			fmt.Println(" ", each.Field, "is", each.BadValue)
		}
	}
	written := must(yaml.YAMLToJSON([]byte(object)))
	judge("as written", written)
	var read lws.LeaderWorkerSet
	if err := json.Unmarshal(written, &read); err != nil {
		panic(err)
	}
	judge("read and written by Go", must(json.Marshal(read)))
}
GO
go mod init finding >/dev/null 2>&1
go get sigs.k8s.io/lws@v0.9.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
crd=$(go list -m -f '{{.Dir}}' sigs.k8s.io/lws)/config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml
said=$(go run . "$crd")
printf '%s\n' "$said"
in=spec.leaderWorkerTemplate
[ "$said" = "as written: 0 errors
read and written by Go: 2 errors
  $in.volumeClaimTemplates[0].spec.dataSource.apiGroup is null
  $in.workerTemplate.spec.volumes[0].projected.sources is null" ]
