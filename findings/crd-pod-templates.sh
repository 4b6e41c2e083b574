#!/usr/bin/env bash
# Pod templates that are valid in a Job and not in a JobSet.
#
# Expected: the CRD of JobSet takes the pod template of a Job as it is, because its schema is generated from the same Go types.
# Happens: `cpu: 0.5` without quotes is valid in a Job and refused in a JobSet and a TrainJob, whose schema has "integer or
#   string"; `4.0` is valid in all of them. A variable that stands twice in `env` is valid in a Job (the last one counts) and
#   refused in a JobSet, whose schema has a list with unique names. The Kubeflow SDK takes resources_per_node={"cpu": 0.5} and
#   writes such a TrainJob.
# Versions: k8s.io/apiextensions-apiserver 0.36.2 (the API server's validation of custom resources), JobSet 0.12.0, Trainer 2.3.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
module() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }
cat > main.go <<'GO'
package main

import (
	"fmt"
	"os"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func answer(failed bool) string {
	if failed {
		return "invalid"
	}
	return "valid"
}

// custom says whether the CRD in the file takes the object.
func custom(file, text string) string {
	raw, err := os.ReadFile(file)
	must(err)
	var crd v1.CustomResourceDefinition
	must(yaml.Unmarshal(raw, &crd))
	var props apiextensions.JSONSchemaProps
	must(v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil))
	validator, _, err := validation.NewSchemaValidator(&props)
	must(err)
	structural, err := schema.NewStructural(&props)
	must(err)
	var object map[string]any
	must(json.Unmarshal([]byte(text), &object))
	errs := append(validation.ValidateCustomResource(nil, object, validator), listtype.ValidateListSetsAndMaps(nil, structural, object)...)
	return answer(len(errs) > 0)
}

func main() {
	jobset, trainjob := os.Args[1], os.Args[2]
	for _, container := range []string{
		`{"name":"node","resources":{"limits":{"cpu":"0.5"}}}`,
		`{"name":"node","resources":{"limits":{"cpu":0.5}}}`,
		`{"name":"node","resources":{"limits":{"cpu":4.0}}}`,
		`{"name":"node","env":[{"name":"A","value":"1"},{"name":"A","value":"2"}]}`,
	} {
		spec := `{"template":{"spec":{"containers":[` + container + `]}}}`
		fmt.Println(container)
		fmt.Println("  Job:", answer(json.Unmarshal([]byte(`{"spec":`+spec+`}`), &batchv1.Job{}) != nil))
		fmt.Println("  JobSet:", custom(jobset, `{"spec":{"replicatedJobs":[{"name":"node","template":{"spec":`+spec+`}}]}}`))
	}
	for _, cpu := range []string{"4.0", "0.5"} {
		job := `{"spec":{"runtimeRef":{"name":"torch"},"trainer":{"resourcesPerNode":{"limits":{"cpu":` + cpu + `}}}}}`
		fmt.Println("TrainJob", cpu+":", custom(trainjob, job))
	}
}
GO
go mod init finding
go get k8s.io/apiextensions-apiserver@v0.36.2 k8s.io/api@v0.36.2 k8s.io/apimachinery@v0.36.2
jobset="$(cd / && module sigs.k8s.io/jobset@v0.12.0)/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml"
trainjob="$(cd / && module github.com/kubeflow/trainer/v2@v2.3.0)/manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml"
GOFLAGS=-mod=mod go run . "$jobset" "$trainjob" | tee seen
diff seen - <<'SEEN'
{"name":"node","resources":{"limits":{"cpu":"0.5"}}}
  Job: valid
  JobSet: valid
{"name":"node","resources":{"limits":{"cpu":0.5}}}
  Job: valid
  JobSet: invalid
{"name":"node","resources":{"limits":{"cpu":4.0}}}
  Job: valid
  JobSet: valid
{"name":"node","env":[{"name":"A","value":"1"},{"name":"A","value":"2"}]}
  Job: valid
  JobSet: invalid
TrainJob 4.0: valid
TrainJob 0.5: invalid
SEEN
