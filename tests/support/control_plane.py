"""Run a command with `JOBSPEC_TEST_KUBECONFIG` naming a fresh API server that has the operators' CRDs.

    python -m tests.support.control_plane pytest tests/server/test_dry_run.py

etcd and kube-apiserver come from `KUBEBUILDER_ASSETS`; see CONTRIBUTING.md.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from jobspec.apis.kinds import MODELS
from jobspec.apis.releases import choose
from jobspec.server.api_server import ApiServer
from jobspec.server.client import Client
from jobspec.server.local import control_plane
from jobspec.server.preparation import install_kinds


def kubeconfig(client: Client) -> str:
    """A kubeconfig for a client's server."""
    configuration = client.api.configuration
    token = configuration.auth_settings()["BearerToken"]["value"].removeprefix("Bearer ")
    cluster = {"server": client.url, "certificate-authority": configuration.ssl_ca_cert}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "tests",
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "tests"}}],
            "clusters": [{"name": "tests", "cluster": cluster}],
            "users": [{"name": "tests", "user": {"token": token}}],
        }
    )


def main(command: list[str]) -> int:
    """Run the command; returns its exit code."""
    with control_plane(os.environ.get("KUBEBUILDER_ASSETS", "")) as client, tempfile.TemporaryDirectory() as folder:
        install_kinds(ApiServer(client), MODELS, choose([]))
        file = Path(folder, "kubeconfig")
        file.write_text(kubeconfig(client))
        return subprocess.run(command, env={**os.environ, "JOBSPEC_TEST_KUBECONFIG": str(file)}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
