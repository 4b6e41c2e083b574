#!/usr/bin/env bash
# Which resources of a Ray worker KubeRay counts as GPUs.
#
# Expected: every GPU that NVIDIA's device plugin offers: whole ones, MIG slices, and time-sliced ones, which it can name
#   `nvidia.com/gpu.shared`.
# Happens: a name counts if it ends in `gpu` or is a plain MIG slice. `nvidia.com/gpu.shared`, shared MIG slices and MIG slices
#   with media extensions (`.me`) do not count, nor does Intel's. The operator starts Ray without --num-gpus then.
# Versions: KubeRay 1.6.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"
	"strings"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/common"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func main() {
	for _, name := range []corev1.ResourceName{
		"nvidia.com/gpu",
		"nvidia.com/gpu.shared",
		"nvidia.com/mig-1g.10gb",
		"nvidia.com/mig-1g.10gb.shared",
		"nvidia.com/mig-1g.10gb.me",
		"amd.com/gpu",
		"gpu.intel.com/i915",
	} {
		limits := corev1.ResourceList{name: resource.MustParse("1")}
		ray := corev1.Container{Name: "ray", Resources: corev1.ResourceRequirements{Limits: limits}}
		template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{ray}}}
		pod := common.BuildPod(context.Background(), template, rayv1.WorkerNode, map[string]string{}, "6379", false, "", "head", nil, "")
		_, start, _ := strings.Cut(pod.Spec.Containers[0].Args[0], "; ")
		fmt.Println(name, "->", strings.Join(strings.Fields(start), " "))
	}
}
GO
go mod init finding
go get github.com/ray-project/kuberay/ray-operator@v1.6.2
GOFLAGS=-mod=mod go run . | tee seen
diff seen - <<'SEEN'
nvidia.com/gpu -> ray start --num-gpus=1
nvidia.com/gpu.shared -> ray start
nvidia.com/mig-1g.10gb -> ray start --num-gpus=1
nvidia.com/mig-1g.10gb.shared -> ray start
nvidia.com/mig-1g.10gb.me -> ray start
amd.com/gpu -> ray start --num-gpus=1
gpu.intel.com/i915 -> ray start
SEEN
