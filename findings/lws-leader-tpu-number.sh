#!/usr/bin/env bash
# Which TPU worker a leader with TPUs is, in a LeaderWorkerSet whose groups are divided into subgroups.
#
# Expected: the leader is the first pod of the first subgroup, so that its `TPU_WORKER_ID` is 0, as without subgroups.
# Happens: it is -1. LeaderWorkerSet counts the leader only if the annotation `leader-requests-tpus` is on the pod, and writes that
#   annotation on workers alone. In Go, -1 modulo 2 is -1. Without subgroups another branch asks for the index of the pod, and gives 0.
# Versions: sigs.k8s.io/lws 0.9.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go <<'GO'
package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	accelerators "sigs.k8s.io/lws/pkg/utils/accelerators"
)

// leader is the first pod of a group of four, as the webhook of LeaderWorkerSet has labelled it.
func leader(annotations map[string]string) *corev1.Pod {
	const prefix = "leaderworkerset.sigs.k8s.io/"
	labels := map[string]string{prefix + "worker-index": "0", prefix + "subgroup-index": "0"}
	limits := corev1.ResourceList{"google.com/tpu": resource.MustParse("4")}
	container := corev1.Container{Name: "train", Resources: corev1.ResourceRequirements{Limits: limits}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "train-0", Labels: labels, Annotations: annotations},
		Spec:       corev1.PodSpec{Subdomain: "train", Containers: []corev1.Container{container}},
	}
}

func main() {
	for name, annotations := range map[string]map[string]string{
		"one group":        {},
		"subgroups of two": {"leaderworkerset.sigs.k8s.io/subgroup-size": "2"},
	} {
		pod := leader(annotations)
		if err := accelerators.AddTPUVariables(pod, 4); err != nil {
			panic(err)
		}
		for _, each := range pod.Spec.Containers[0].Env {
			if each.Name == "TPU_WORKER_ID" {
				fmt.Printf("%s: TPU_WORKER_ID=%s\n", name, each.Value)
			}
		}
	}
}
GO
go mod init finding >/dev/null 2>&1
go get sigs.k8s.io/lws@v0.9.0 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
said=$(go run . | sort)
printf '%s\n' "$said"
[ "$said" = "$(printf 'one group: TPU_WORKER_ID=0\nsubgroups of two: TPU_WORKER_ID=-1')" ]
