"""Filesystems of containers: what a program writes outside of volumes is lost with its pod, or refused."""

from __future__ import annotations

from itertools import pairwise

from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, text
from jobspec.lint.container import LintedContainer, volumes_of
from jobspec.lint.data import OUTPUT_FLAGS
from jobspec.lint.linted import LintedJob

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


#: The folders in which Python makes temporary files, behind those of the variables; the last is the working folder.
_TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 (in containers)


_TEMPORARY_VARIABLES = ("TMPDIR", "TEMP", "TMP")


#: The volumes that a container can never write to.
_READ_ONLY_VOLUMES = ("configMap", "secret", "projected", "downwardAPI", "image")


#: The flags whose folder is surely written: a checkpoint that is a file may be one of the image, with which a program begins.
_WRITTEN = tuple(
    each for each in OUTPUT_FLAGS if not each.startswith(("--checkpoint", "--ckpt")) or each.endswith(("-dir", "-directory", "-folder"))
)


#: Where nothing is kept that anybody misses.
_PASSING = (*_TEMPORARY, "/dev", "/proc", "/run")


def read_only_temporary(job: LintedJob) -> Iterator[Finding]:
    """Torchrun, accelerate or Ray cannot write to /tmp: the root filesystem is read-only.

    Why: torchrun, which accelerate runs for several processes, makes a folder `torchelastic_*` for the logs of its processes, in TMPDIR,
    /tmp, /var/tmp or the working folder. Where it can write to none of them, it ends with "No usable temporary directory found". With
    `--log-dir`, that folder has to be writable. Ray makes the folder of its session in /tmp/ray, or in that of `--temp-dir`.
    Instead: mount an `emptyDir` at /tmp.
    Before: securityContext: {readOnlyRootFilesystem: true}
    After:
        securityContext: {readOnlyRootFilesystem: true}
        volumeMounts: [{name: tmp, mountPath: /tmp}]
        volumes: [{name: tmp, emptyDir: {}}]
    Evidence: kubeflow/mcp-server#33, opendatahub-io/ilab-on-ocp#26, huggingface/inference-benchmarker#47
    """
    for container in job.containers:
        is_read_only = container.tree.get("securityContext", "readOnlyRootFilesystem")
        if is_read_only is None or is_read_only.value is not True:
            continue
        if container.trains and container.launcher == "torchrun":
            program, logs = "torchrun", next((value for name, value, _ in container.torchrun_flags if name == "--log-dir"), "")
            folders = [logs] if logs else _folders_for_temporary_files(container)
        elif container.trains and (other := container.other_launcher) and other[0].starts_several(container.gpus):
            program, option = other[0].name, other[0].option("--log-dir")
            folders = [option.value] if option and option.value else _folders_for_temporary_files(container)
        elif ("ray", "start") in pairwise(word for word, _ in container.words):
            program, folders = "Ray", [next((value for name, value, _ in container.flags if name == "--temp-dir"), "/tmp/ray")]  # noqa: S108
        else:
            continue
        if any("$" in each or _is_writable(container, each) for each in folders):
            continue
        message = f"the root filesystem is read-only, and {program} cannot write to `{folders[0]}`"
        yield Finding(is_read_only, message, f"mount an `emptyDir` at `{folders[0]}`")


def output_in_container(job: LintedJob) -> Iterator[Finding]:
    """A program writes its outputs to a folder that is on no volume.

    Why: what is written into the container itself is lost with the pod: a restart begins anew, and the result is gone at the end. It also
    counts towards the ephemeral storage of the node, which evicts pods when it runs out.
    Instead: mount a volume there.
    Before: "command: [torchrun, train.py, --output-dir=/checkpoints]"
    After:
        volumeMounts: [{name: out, mountPath: /checkpoints}]
        volumes: [{name: out, persistentVolumeClaim: {claimName: out}}]
    Evidence: kubernetes-sigs/jobset#1335, foundation-model-stack/fms-hf-tuning#217
    """
    for container in job.training_containers:
        for name, said, place in _settings(container):
            folder = container.expanded(said).rstrip("/")
            if name not in _WRITTEN or folder[:1] != "/" or "$" in folder or container.mount_around(folder):
                continue
            if not _is_below(folder, _PASSING) and not _is_used_again(container, folder):
                yield Finding(place, f"`{folder}` is on no volume: what is written there is lost with the pod", "mount a volume there")


def _settings(container: LintedContainer) -> Iterator[tuple[str, str, MarkedTree]]:
    """The flags of a container, and what is written in the manner of Hydra, `trainer.output_dir=/out`, as flags."""
    yield from container.flags
    for word, place in container.words:
        name, equals, value = word.partition("=")
        if equals and not name.startswith("-"):
            yield f"--{name.rpartition('.')[2].replace('_', '-')}", value, place


def _is_used_again(container: LintedContainer, folder: str) -> bool:
    """Whether a script has another command about a folder, which may copy it to where it stays."""
    script = container.program.script
    commands = script.commands if script else ()
    return sum(any(folder in container.expanded(word) for word in each.words) for each in commands) > 1


def _folders_for_temporary_files(container: LintedContainer) -> list[str]:
    """Where Python's `tempfile` looks for a folder, as far as a manifest says that."""
    of_variables = [text(container.variable(name), "value") for name in _TEMPORARY_VARIABLES]
    script = container.program.script
    changes = [each.words[-1] for each in script.commands if each.words[0] == "cd"] if script else []
    return [*_TEMPORARY, *(each for each in (*of_variables, text(container.tree, "workingDir"), *changes) if each)]


def _is_writable(container: LintedContainer, folder: str) -> bool:
    """Whether a folder is on a volume to which the container can write."""
    mount = container.mount_around(folder)
    if mount is None or text(mount, "readOnly") == "True":
        return False
    volume = next((each for each in volumes_of(container.role) if text(each, "name") == text(mount, "name")), None)
    if volume is None or text(volume, "persistentVolumeClaim", "readOnly") == "True":
        return volume is None
    return not any(volume.get(kind) for kind in _READ_ONLY_VOLUMES)


def _is_below(folder: str, others: tuple[str, ...]) -> bool:
    return any(f"{folder}/".startswith(f"{each}/") for each in others)


RULES = (
    Rule(read_only_temporary, "warning", sees="any pods", reads=["readOnlyRootFilesystem"]),
    Rule(output_in_container, "info", sees="any pods", reads=["out", "save", "checkpoint", "ckpt", "export", "root", "result", "work"]),
)
