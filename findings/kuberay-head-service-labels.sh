#!/usr/bin/env bash
# Which pods the Services of a Ray head select, if the head's template has labels of its own.
#
# Expected: the labels of the head's template are the user's. Both Services, that of the cluster and that of a RayService, find the head.
# Happens: `app.kubernetes.io/name` on the template replaces KubeRay's own value `kuberay` on the pod. The Service of the cluster follows
#   that label; the one of the RayService (`NAME-head-svc`) is built without labels, selects `kuberay`, and has no endpoint.
# Versions: github.com/ray-project/kuberay/ray-operator 1.6.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go <<'GO'
package main

import (
	"context"
	"fmt"

	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/common"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func main() {
	const label = "app.kubernetes.io/name"
	container := corev1.Container{Name: "ray-head", Image: "rayproject/ray:2.46.0"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{label: "serving"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{container}},
	}
	cluster := rayv1.RayCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "serve-x", Namespace: "team"},
		Spec:       rayv1.RayClusterSpec{HeadGroupSpec: rayv1.HeadGroupSpec{RayStartParams: map[string]string{}, Template: template}},
	}
	service := rayv1.RayService{ObjectMeta: metav1.ObjectMeta{Name: "serve", Namespace: "team"}}
	ctx := context.Background()
	own, err := common.BuildServiceForHeadPod(ctx, cluster, template.Labels, nil)
	if err != nil {
		panic(err)
	}
	stable, err := common.BuildHeadServiceForRayService(ctx, service, cluster)
	if err != nil {
		panic(err)
	}
	pod := common.DefaultHeadPodTemplate(ctx, cluster, cluster.Spec.HeadGroupSpec, "serve-x-head", "6379")
	fmt.Printf("pod: %s\n", pod.Labels[label])
	fmt.Printf("%s: %s\n%s: %s\n", own.Name, own.Spec.Selector[label], stable.Name, stable.Spec.Selector[label])
}
GO
go mod init finding >/dev/null 2>&1
go get github.com/ray-project/kuberay/ray-operator@v1.6.2 >/dev/null 2>&1
go mod tidy >/dev/null 2>&1
said=$(go run .)
printf '%s\n' "$said"
[ "$said" = "$(printf 'pod: serving\nserve-x-head-svc: serving\nserve-head-svc: kuberay')" ]
