#!/usr/bin/env bash
# Which of Kubernetes' quantities the Python libraries lightkube and Hera can read.
#
# Expected: all that Kubernetes takes, as the official client does.
# Happens: lightkube reads `1e3` and not `1E3`, and neither `u` nor `n`, in which metrics servers report CPUs. Hera takes memory
#   only with a binary unit, so `4G`, `1e9` and a plain number of bytes are refused, and CPUs only without an exponent.
# Versions: lightkube 1.0.1, hera 7.1.0, kubernetes 35.0.0
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet lightkube==1.0.1 hera==7.1.0 kubernetes==35.0.0
cat > finding.py <<'PYTHON'
from hera.workflows import Resources
from kubernetes.utils.quantity import parse_quantity as official
from lightkube.utils.quantity import parse_quantity as lightkube

READERS = {
    "kubernetes": official,
    "lightkube": lightkube,
    "hera cpu": lambda text: Resources(cpu_request=text),
    "hera memory": lambda text: Resources(memory_request=text),
}


def refuses(read, text):
    try:
        read(text)
    except ValueError:
        return True
    return False


for text in ("500m", "1.5Gi", "4G", "1e3", "1E3", "2000000000", "250u", "165000000n"):
    print(text, "refused by", ", ".join(name for name, read in READERS.items() if refuses(read, text)) or "none")
PYTHON
venv/bin/python finding.py | tee seen
diff seen - <<'SEEN'
500m refused by hera memory
1.5Gi refused by hera cpu
4G refused by hera memory
1e3 refused by hera cpu, hera memory
1E3 refused by lightkube, hera cpu, hera memory
2000000000 refused by hera memory
250u refused by lightkube, hera cpu, hera memory
165000000n refused by lightkube, hera cpu, hera memory
SEEN
