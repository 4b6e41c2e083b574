"""Decode manifests by kubectl, as every Go client of Kubernetes does."""

import json
import shutil
import subprocess
from typing import Any

import pytest


def decoded(text: str) -> list[Any]:
    """The objects of a stream, with a label `read: back`; skips the test where there is no kubectl."""
    program = shutil.which("kubectl")
    if not program:
        pytest.skip("kubectl is not installed")
    command = [program, "--kubeconfig=/dev/null", "label", "--local", "--filename=-", "--output=json", "read=back"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    decoder, left, found = json.JSONDecoder(), done.stdout.decode(), []
    while left:
        value, end = decoder.raw_decode(left)
        found.append(value)
        left = left[end:].lstrip()
    return found
