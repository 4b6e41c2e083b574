#!/usr/bin/env bash
# What TorchX makes of dollar signs in the arguments and variables of a role.
#
# Expected: it replaces its own macros, as `${app_id}`, and leaves everything else to the shell and to Kubernetes.
# Happens: `$$` becomes `$`. The shell's process number is gone, and so is Kubernetes' escape `$$(POD_IP)`, which arrives as
#   `$(POD_IP)` and is expanded by the kubelet. `$HOME` and `${HOME}` are left alone, but a shell variable with the name of a
#   macro, `$replica_id`, is replaced without braces, too.
# Versions: torchx 0.7.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet 'torchx[kubernetes]==0.7.0'
cat > finding.py <<'PYTHON'
from torchx.schedulers.kubernetes_scheduler import app_to_resource
from torchx.specs import AppDef, Resource, Role

role = Role(
    name="trainer",
    image="train",
    entrypoint="echo",
    args=["$$", "$$(POD_IP)", "$HOME ${HOME}", "$replica_id ${replica_id}"],
    env={"ADDRESS": "$$(POD_IP)"},
    resource=Resource(cpu=1, gpu=0, memMB=2048),
)
job = app_to_resource(AppDef(name="train", roles=[role]), "queue", None)
container = job["spec"]["tasks"][0]["template"].spec.containers[0]
print(container.command)
print(next(each.value for each in container.env if each.name == "ADDRESS"))
PYTHON
venv/bin/python finding.py | tee seen
diff seen - <<'SEEN'
['echo', '$', '$(POD_IP)', '$HOME ${HOME}', '0 0']
$(POD_IP)
SEEN
