#!/usr/bin/env bash
# What TorchX asks of Kubernetes for the resources of a role.
#
# Expected: requests equal to limits, in binary megabytes as other launchers write: cpu=4, memMB=1024 is 4 CPUs and 1024Mi.
# Happens: only the limits are what was asked for, and memory is in decimal megabytes (1024M, 50 MB less). The requests are
#   100m CPU and 1024M memory smaller, a reserve for the node, so a role of 1024 MB or less requests no memory at all. The pod is
#   Burstable, not Guaranteed, and quotas by requests count less than it may use.
# Versions: torchx 0.7.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet 'torchx[kubernetes]==0.7.0'
cat > finding.py <<'PYTHON'
from torchx.schedulers.kubernetes_scheduler import role_to_pod
from torchx.specs import Resource, Role

for size in (8192, 1024):
    role = Role(name="trainer", image="train", resource=Resource(cpu=4, gpu=1, memMB=size))
    resources = role_to_pod("trainer", role, None).spec.containers[0].resources
    print(size, "limits:  ", resources.limits)
    print(size, "requests:", resources.requests)
PYTHON
venv/bin/python finding.py | tee seen
diff seen - <<'SEEN'
8192 limits:   {'cpu': '4000m', 'memory': '8192M', 'nvidia.com/gpu': '1'}
8192 requests: {'cpu': '3900m', 'memory': '7168M', 'nvidia.com/gpu': '1'}
1024 limits:   {'cpu': '4000m', 'memory': '1024M', 'nvidia.com/gpu': '1'}
1024 requests: {'cpu': '3900m', 'memory': '0M', 'nvidia.com/gpu': '1'}
SEEN
