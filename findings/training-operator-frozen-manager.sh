#!/usr/bin/env bash
# Whether an update can hand a running job of training-operator over to another manager, by the webhook of each kind.
#
# Expected: `managedBy` is a field of the run policy, which all kinds share, and its description says that it is immutable. So the webhooks
#   of all kinds that have the field refuse that it changes.
# Happens: those of TFJob, XGBoostJob and PaddleJob refuse it. That of PyTorchJob compares the new job with itself, and that of JAXJob
#   compares nothing, so that both accept it: a job that runs can be handed over while its pods are there.
# Versions: github.com/kubeflow/training-operator 1.9.4
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"

	api "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/webhooks/jax"
	"github.com/kubeflow/training-operator/pkg/webhooks/paddlepaddle"
	"github.com/kubeflow/training-operator/pkg/webhooks/pytorch"
	"github.com/kubeflow/training-operator/pkg/webhooks/tensorflow"
	"github.com/kubeflow/training-operator/pkg/webhooks/xgboost"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func roles(role api.ReplicaType, container string) map[api.ReplicaType]*api.ReplicaSpec {
	one := int32(1)
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: "train:1"}}}
	return map[api.ReplicaType]*api.ReplicaSpec{role: {Replicas: &one, Template: corev1.PodTemplateSpec{Spec: pod}}}
}

func main() {
	other := "kueue.x-k8s.io/multikueue"
	meta := metav1.ObjectMeta{Name: "train"}
	jobs := []struct {
		name string
		hook admission.CustomValidator
		make func(api.RunPolicy) runtime.Object
	}{
		{"PyTorchJob", &pytorch.Webhook{}, func(p api.RunPolicy) runtime.Object {
			return &api.PyTorchJob{ObjectMeta: meta, Spec: api.PyTorchJobSpec{RunPolicy: p, PyTorchReplicaSpecs: roles(api.PyTorchJobReplicaTypeMaster, "pytorch")}}
		}},
		{"TFJob", &tensorflow.Webhook{}, func(p api.RunPolicy) runtime.Object {
			return &api.TFJob{ObjectMeta: meta, Spec: api.TFJobSpec{RunPolicy: p, TFReplicaSpecs: roles(api.TFJobReplicaTypeWorker, "tensorflow")}}
		}},
		{"XGBoostJob", &xgboost.Webhook{}, func(p api.RunPolicy) runtime.Object {
			return &api.XGBoostJob{ObjectMeta: meta, Spec: api.XGBoostJobSpec{RunPolicy: p, XGBReplicaSpecs: roles(api.XGBoostJobReplicaTypeMaster, "xgboost")}}
		}},
		{"PaddleJob", &paddlepaddle.Webhook{}, func(p api.RunPolicy) runtime.Object {
			return &api.PaddleJob{ObjectMeta: meta, Spec: api.PaddleJobSpec{RunPolicy: p, PaddleReplicaSpecs: roles(api.PaddleJobReplicaTypeMaster, "paddle")}}
		}},
		{"JAXJob", &jax.Webhook{}, func(p api.RunPolicy) runtime.Object {
			return &api.JAXJob{ObjectMeta: meta, Spec: api.JAXJobSpec{RunPolicy: p, JAXReplicaSpecs: roles(api.JAXJobReplicaTypeWorker, "jax")}}
		}},
	}
	for _, job := range jobs {
		_, err := job.hook.ValidateUpdate(context.Background(), job.make(api.RunPolicy{}), job.make(api.RunPolicy{ManagedBy: &other}))
		said := "accepted"
		if err != nil {
			said = "refused: " + err.Error()
		}
		fmt.Println(job.name, said)
	}
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/kubeflow/training-operator@v1.9.4 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
seen=$(go run . 2>&1)
echo "$seen"
refused='spec.runPolicy.managedBy: Invalid value: "kueue.x-k8s.io/multikueue": field is immutable'
expected="PyTorchJob accepted
TFJob refused: $refused
XGBoostJob refused: $refused
PaddleJob refused: $refused
JAXJob accepted"
[ "$seen" = "$expected" ] || { echo "the behaviour changed"; exit 1; }
