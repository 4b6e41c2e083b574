"""Build an image and run it, with docker, podman or buildah: they share the words of `build`, and differ in those of the rest."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = ("docker", "podman", "buildah")


def program() -> str | None:
    """The first of the three that works here. A docker client without an engine is installed, but does not work."""
    return next((each for each in PROGRAMS if shutil.which(each) and _works(each)), None)


def _works(program: str) -> bool:
    return subprocess.run([program, "info"], capture_output=True, check=False).returncode == 0


def _output(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


@dataclass(frozen=True)
class Image:
    """An image by its *name*, in the store of *program*."""

    program: str
    name: str

    def config(self) -> dict[str, Any]:
        """What the image says of itself: `User`, `WorkingDir`, `Entrypoint`, `Labels` and more."""
        config: dict[str, Any]
        if self.program == "buildah":
            config = json.loads(_output("buildah", "inspect", "--type", "image", self.name))["OCIv1"]["config"]
        else:
            config = json.loads(_output(self.program, "image", "inspect", self.name))[0]["Config"]
        return config

    def run(self, command: Sequence[str], data: Path) -> str:
        """Run *command* in a new container, with the folder *data* at `/data`; gives what it prints. It has to end with 0."""
        volume = ["--volume", f"{data}:/data:ro"]
        if self.program != "buildah":
            return _output(self.program, "run", "--rm", *volume, "--entrypoint", command[0], self.name, *command[1:])
        container = _output("buildah", "from", self.name).strip()
        try:
            return _output("buildah", "run", *volume, container, "--", *command)
        finally:
            _output("buildah", "rm", container)

    def remove(self) -> None:
        """Remove the image from the store, with what an interrupted run left of its containers."""
        _output(self.program, "rmi", "--force", self.name)
