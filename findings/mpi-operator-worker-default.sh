#!/usr/bin/env bash
# An MPIJob whose workers have no `replicas`.
#
# Expected: one worker, as `replicas` is 1 by default for the launcher beside it, for the workers of a PyTorchJob and for
#   Kubernetes' own kinds.
# Happens: the default is 0, and the operator's validation refuses it: "must be greater than or equal to 1", of a number that
#   is not in the manifest.
# Versions: mpi-operator 0.8.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go <<'GO'
package main

import (
	"fmt"

	kubeflow "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	"github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/validation"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	pods := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mpi", Image: "train"}}}}
	launcher, worker := &kubeflow.ReplicaSpec{Template: pods}, &kubeflow.ReplicaSpec{Template: pods}
	job := &kubeflow.MPIJob{
		ObjectMeta: metav1.ObjectMeta{Name: "train"},
		Spec: kubeflow.MPIJobSpec{MPIReplicaSpecs: map[kubeflow.MPIReplicaType]*kubeflow.ReplicaSpec{
			kubeflow.MPIReplicaTypeLauncher: launcher,
			kubeflow.MPIReplicaTypeWorker:   worker,
		}},
	}
	kubeflow.SetDefaults_MPIJob(job)
	fmt.Println("launcher:", *launcher.Replicas)
	fmt.Println("worker:", *worker.Replicas)
	fmt.Println(validation.ValidateMPIJob(job).ToAggregate())
}
GO
go mod init finding
go get github.com/kubeflow/mpi-operator@v0.8.2
GOFLAGS=-mod=mod go run . | tee seen
diff seen - <<'SEEN'
launcher: 1
worker: 0
spec.mpiReplicaSpecs[Worker].replicas: Invalid value: 0: must be greater than or equal to 1
SEEN
