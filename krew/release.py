"""Write what a release adds for krew and SchemaStore: the plugin's archive, its manifest, and the entry of the project file.

    python krew/release.py OWNER/NAME FOLDER

The version is the one in `krew/kubectl-jobspec`. Copy `jobspec.yaml` to `plugins/` of krew-index, and the object in `schemastore.json` to
`src/api/json/catalog.json` of SchemaStore.
"""

import gzip
import hashlib
import io
import json
import re
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLUGIN = ROOT / "krew" / "kubectl-jobspec"
SCHEMA = "schemas/jobspec-1/jobspec.dev/project_v1alpha1.json"

MANIFEST = """\
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: jobspec
spec:
  version: v{version}
  homepage: https://github.com/{repository}
  shortDescription: Check training jobs as the server and operators would
  description: |
    Validates, lints and expands training jobs offline: PyTorchJob, TrainJob, JobSet, Job, Kueue's queues, kustomizations, charts.
    It says what the API server and the operators' webhooks refuse, what never runs, and what is slow, costly or fragile.
  caveats: |
    The plugin runs `jobspec` of your PATH, or else the release of this version with `uvx` or `pipx`, which need Python 3.11 or newer.
  platforms:
    - selector: {{matchExpressions: [{{key: os, operator: In, values: [linux, darwin]}}]}}
      uri: https://github.com/{repository}/releases/download/v{version}/{archive}
      sha256: {sha256}
      bin: kubectl-jobspec
"""


def main(repository: str, folder: str) -> None:
    """Write the three files into a folder."""
    version = re.findall(r"^version=(.+)$", PLUGIN.read_text(), re.MULTILINE)[0]
    archive, content = f"kubectl-jobspec-v{version}.tar.gz", packed([PLUGIN, ROOT / "LICENSE"])
    manifest = MANIFEST.format(repository=repository, version=version, archive=archive, sha256=hashlib.sha256(content).hexdigest())
    entry = {
        "name": "jobspec project",
        "description": "Variants of Kubernetes training jobs, as jobspec renders them",
        "fileMatch": ["jobspec.yaml"],
        "url": f"https://raw.githubusercontent.com/{repository}/main/{SCHEMA}",
    }
    to = Path(folder)
    to.mkdir(parents=True, exist_ok=True)
    (to / archive).write_bytes(content)
    (to / "jobspec.yaml").write_text(manifest)
    (to / "schemastore.json").write_text(json.dumps(entry, indent=2) + "\n")


def packed(paths: list[Path]) -> bytes:
    """Pack files into an archive that is the same for the same files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in paths:
            entry = tarfile.TarInfo(path.name)
            entry.size, entry.mode = path.stat().st_size, 0o755 if path == PLUGIN else 0o644
            archive.addfile(entry, io.BytesIO(path.read_bytes()))
    return gzip.compress(packed.getvalue(), mtime=0)


if __name__ == "__main__":
    main(*sys.argv[1:])
