#!/usr/bin/env bash
# What arrives in the pod of the training function that one gives to the Kubeflow SDK.
#
# Expected: its source, byte by byte.
# Happens: the SDK puts the source and the arguments into a here-document whose delimiter is not quoted. The shell of the pod
#   expands `$NAME` and `$1` in strings, docstrings and values of func_args. No error says so, and Python code without dollar
#   signs (f-strings, braces, quotes) arrives as it is.
# Versions: kubeflow 0.5.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet kubeflow==0.5.0
cat > train.py <<'PYTHON'
def train(pattern):
    """Costs $5 a run."""
    print("docstring:", train.__doc__)
    print("argument: ", repr(pattern))
    print("string:   ", "$PRICE per ${HOURS} hours")
    print("f-string: ", f"{1 + 1}")
PYTHON
cat > finding.py <<'PYTHON'
import subprocess
import sys

from kubeflow.trainer import CustomTrainer
from kubeflow.trainer.backends.kubernetes.utils import get_trainer_cr_from_custom_trainer
from kubeflow.trainer.constants.constants import DEFAULT_COMMAND
from kubeflow.trainer.types.types import Runtime, RuntimeKind, RuntimeTrainer, TrainerType
from train import train

trainer = RuntimeTrainer(trainer_type=TrainerType.CUSTOM_TRAINER, framework="plain", image="python")
trainer.set_command(DEFAULT_COMMAND)
runtime = Runtime(name="plain", trainer=trainer, kind=list(RuntimeKind)[0])
job = get_trainer_cr_from_custom_trainer(runtime, CustomTrainer(func=train, func_args={"pattern": "cost: $1"}))
sys.stdout.flush()
subprocess.run(job.command, check=True, env={"PATH": sys.argv[1], "PRICE": "3"})
PYTHON
PATH="$work/venv/bin:$PATH" python finding.py "$work/venv/bin:$PATH" | tee seen
diff seen - <<'SEEN'
docstring: Costs  a run.
argument:  'cost: '
string:    3 per  hours
f-string:  2
SEEN
