#!/usr/bin/env bash
# Which resources of a Ray worker KubeRay counts as GPUs.
#
# Expected: every GPU that NVIDIA's device plugin offers: whole ones, MIG slices, and time-sliced ones, which it can name
#   `nvidia.com/gpu.shared`.
# Happens: a name counts if it ends in `gpu` or is a plain MIG slice. `nvidia.com/gpu.shared`, shared MIG slices and MIG slices
#   with media extensions (`.me`) do not count, nor does Intel's. Where nothing counts, the operator starts Ray without num-gpus.
# Versions: KubeRay 1.6.2
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cat > main.go <<'GO'
package main

import (
	"fmt"

	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
)

func main() {
	for _, name := range []string{
		"nvidia.com/gpu",
		"nvidia.com/gpu.shared",
		"nvidia.com/mig-1g.10gb",
		"nvidia.com/mig-1g.10gb.shared",
		"nvidia.com/mig-1g.10gb.me",
		"amd.com/gpu",
		"gpu.intel.com/i915",
	} {
		fmt.Println(name, utils.IsGPUResourceKey(name))
	}
}
GO
go mod init finding
go get github.com/ray-project/kuberay/ray-operator@v1.6.2
GOFLAGS=-mod=mod go run . | tee seen
diff seen - <<'SEEN'
nvidia.com/gpu true
nvidia.com/gpu.shared false
nvidia.com/mig-1g.10gb true
nvidia.com/mig-1g.10gb.shared false
nvidia.com/mig-1g.10gb.me false
amd.com/gpu true
gpu.intel.com/i915 false
SEEN
