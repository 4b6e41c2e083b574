#!/usr/bin/env bash
# The bounds of an elastic PyTorchJob of which one is not given.
#
# Expected: the number of workers. With 4 workers, `minReplicas: 2` alone means 2 to 4, and `maxReplicas: 8` alone means 4 to 8
#   (or 1 to 8).
# Happens: the given bound is copied into the other one. `minReplicas: 2` alone means exactly 2, so that two of the four workers
#   have no place; `maxReplicas: 8` alone means exactly 8, for which four workers wait in vain. Only without both is it the number
#   of workers.
# Versions: training-operator 1.9.4
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go <<'GO'
package main

import (
	"fmt"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
)

func number(n int32) *int32 { return &n }

func main() {
	policies := []struct {
		name   string
		policy kubeflow.ElasticPolicy
	}{
		{"minReplicas: 2", kubeflow.ElasticPolicy{MinReplicas: number(2)}},
		{"maxReplicas: 8", kubeflow.ElasticPolicy{MaxReplicas: number(8)}},
		{"neither", kubeflow.ElasticPolicy{}},
	}
	for _, each := range policies {
		pods := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "pytorch"}}}}
		workers := &kubeflow.ReplicaSpec{Replicas: number(4), Template: pods}
		job := &kubeflow.PyTorchJob{Spec: kubeflow.PyTorchJobSpec{
			ElasticPolicy:       &each.policy,
			PyTorchReplicaSpecs: map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec{kubeflow.PyTorchJobReplicaTypeWorker: workers},
		}}
		kubeflow.SetDefaults_PyTorchJob(job)
		bounds := job.Spec.ElasticPolicy
		fmt.Printf("4 workers, %s -> %d to %d\n", each.name, *bounds.MinReplicas, *bounds.MaxReplicas)
	}
}
GO
go mod init finding
go get github.com/kubeflow/training-operator@v1.9.4
GOFLAGS=-mod=mod go run . | tee seen
diff seen - <<'SEEN'
4 workers, minReplicas: 2 -> 2 to 2
4 workers, maxReplicas: 8 -> 8 to 8
4 workers, neither -> 4 to 4
SEEN
