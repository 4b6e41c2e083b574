"""Data: where programs read it from, and what they write it to."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.kinds import CONFIG_MAP, KUSTOMIZATION, PERSISTENT_VOLUME_CLAIM
from jobspec.lint.containers import DEAD_ADDRESSES, DOWNLOADS, flags, mounted_at, tokens, variables
from jobspec.lint.rule import Finding, Rule
from jobspec.workloads import value_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.kinds import GroupKind
    from jobspec.lint.views import JobView
    from jobspec.operators.expansion import ExpandedRole

_FILLED_IN = "*?[{$"
"""What stands in a name that a shell fills in."""
_OUTPUTS = ("output", "save", "checkpoint", "ckpt", "export")
_PARTS = ("", "-dir", "-directory", "-folder", "-path", "-file")
_OUTPUT_FLAGS = (*(f"--{name}{part}" for name in _OUTPUTS for part in _PARTS), "--log-dir", "--log-file", "--logdir", "--out-dir")
#: Kind of an object -> where a volume names it.
_VOLUMES = {PERSISTENT_VOLUME_CLAIM: ("persistentVolumeClaim", "claimName"), CONFIG_MAP: ("configMap", "name")}


def dead_address(job: JobView) -> Iterator[Finding]:
    """A program is told to read a data set from an address that answers no more.

    Why: the server gives 403 or nothing: the program ends before it trains, and so does every restart of it. The address is in many
    examples, and was the default of libraries.
    Instead: a mirror, or better a copy of your own in a volume or an image.
    Before: args: [--url, "http://yann.lecun.com/exdb/mnist/"]
    After: args: [--url, "https://ossci-datasets.s3.amazonaws.com/mnist/"]
    Evidence: kubeflow/trainer#2266, kubeflow/trainer#2499, pytorch/vision#1938
    """
    for role in job.roles:
        for container, _ in role.pods[0].containers():
            said = [*tokens(container), *((text(each, "value"), value) for _, each in variables(container) if (value := each.get("value")))]
            for word, place in said:
                for address, mirror in DEAD_ADDRESSES.items():
                    if address in word:
                        yield Finding(place, f"`{address}` gives nothing any more", f"take a mirror, such as {mirror}")


def download_in_every_pod(job: JobView) -> Iterator[Finding]:
    """Each pod of the job downloads data before it trains.

    Why: all pods ask for the same data at the same moment, again after every restart, and hold their GPUs meanwhile; servers slow them
    down or refuse them, and pods that are done wait for the last one until their timeout.
    Instead: load the data once, into a volume that the pods share: by an initializer of the TrainJob, or a Job before.
    Before: command: [sh, -c, "aws s3 sync s3://data /data && torchrun train.py"]
    After: volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
    Evidence: kubeflow/trainer#2266, kubeflow/pytorch-operator#325, pytorch/vision#8568
    """
    for role in job.training:
        pods = sum(each.count for each in job.training)
        for container, _ in role.pods[0].containers() if pods > 1 and job.is_job else ():
            said = tokens(container)
            found = next((number for number in range(len(said)) if _downloads([word for word, _ in said[number : number + 2]])), None)
            if found is not None and said[found][1].mark.line:
                yield Finding(said[found][1], f"each of {pods} pods downloads by `{said[found][0]}`", "load it once, into a shared volume")


def shared_output(job: JobView) -> Iterator[Finding]:
    """Several pods write to one folder of a volume that they share.

    Why: where not one of the processes alone writes, they write the same files at the same time: a checkpoint is half one's and half
    another's, and nobody notices until it is read.
    Instead: write from rank 0 alone, or give each pod a folder of its own by `subPathExpr`.
    Before: volumeMounts: [{name: out, mountPath: /out}]
    After: volumeMounts: [{name: out, mountPath: /out, subPathExpr: $(POD_NAME)}]
    Evidence: kubeflow/trainer#1971, kubeflow/katib#2232
    """
    pods = sum(role.count for role in job.training)
    for role in job.training if job.is_job and pods > 1 else ():
        container = role.training_container()
        for name, value, place in flags(container) if container else ():
            if container and name in _OUTPUT_FLAGS and _is_shared(role, container, value):
                yield Finding(place, f"{pods} pods write to `{value}` of one volume", "write from rank 0 alone, or set `subPathExpr`")
                break


def unknown_source(job: JobView) -> Iterator[Finding]:
    """A volume of the pods is made of a claim or a ConfigMap that is not among those of their namespace.

    Why: a pod waits, without an end, for a claim or a ConfigMap that is not there.
    Instead: name one of those that are there, or give the file of the other one, too.
    Before: persistentVolumeClaim: {claimName: dta}
    After: persistentVolumeClaim: {claimName: data}
    Evidence: https://kubernetes.io/docs/concepts/storage/volumes/#configmap
    """
    for role in job.roles:
        for volume in items(role.pods[0].tree.get("spec", "volumes")):
            for kind, path in _VOLUMES.items():
                said = volume.get(*path)
                known = _known(job, kind)
                if said and known and text(said) not in (*known, *_made(job, kind)) and text(volume, path[0], "optional") != "True":
                    listed = ", ".join(f"`{each}`" for each in known[:3])
                    yield Finding(said, f"the files have no {kind[1]} `{text(said)}` in the job's namespace", f"there is {listed}")


def unknown_file(job: JobView) -> Iterator[Finding]:
    """A container runs, or is given, a file of a ConfigMap that has none of that name.

    Why: a ConfigMap gives a file for each of its keys, and no other: the program ends at once with "no such file", and so does every
    restart of it.
    Instead: write the name of a key, or put the file into the ConfigMap.
    Before: command: [python, /code/trian.py]
    After: command: [python, /code/train.py]
    Evidence: https://kubernetes.io/docs/concepts/configuration/configmap/
    """
    for role in job.roles:
        volumes = {text(each, "name"): each for each in items(role.pods[0].tree.get("spec", "volumes"))}
        for container, _ in role.pods[0].containers():
            for word, place in tokens(container):
                mount = mounted_at(container, word)
                files = _files(job, volumes.get(text(mount, "name"))) if mount and not text(mount, "subPath") else []
                name = word.removeprefix(text(mount, "mountPath").rstrip("/")).strip("/") if files else ""
                if name and name not in files and not any(sign in name for sign in _FILLED_IN):
                    listed = ", ".join(f"`{each}`" for each in files[:3])
                    yield Finding(place, f"the ConfigMap that is mounted there has no `{name}`", f"it has {listed}")


def _files(job: JobView, volume: MarkedTree | None) -> list[str]:
    """The files of a volume that is a ConfigMap of the files, under the names of its keys; none of another volume."""
    name = text(volume, "configMap", "name")
    found = job.documents.named(job.given, CONFIG_MAP, name) if name and not (volume and volume.get("configMap", "items")) else None
    data = [value_at(found.data, (field,)) for field in ("data", "binaryData")] if found else []
    return sorted(key for each in data if isinstance(each, dict) for key in each)


def _downloads(words: Sequence[str]) -> bool:
    """Whether a command that begins with these words downloads something."""
    program = words[0].rpartition("/")[2]
    return program in DOWNLOADS and DOWNLOADS[program] in ("", *words[1:])


def _is_shared(role: ExpandedRole, container: MarkedTree, folder: str) -> bool:
    """Whether a folder is in a claim that all pods have mounted at the same place, to write to."""
    mount = mounted_at(container, folder)
    if mount is None or text(mount, "subPathExpr") or text(mount, "readOnly") == "True" or "$(" in folder:
        return False
    volumes = items(role.pods[0].tree.get("spec", "volumes"))
    return any(text(each, "name") == text(mount, "name") and each.get("persistentVolumeClaim") for each in volumes)


def _known(job: JobView, kind: GroupKind) -> list[str]:
    """The names of a kind in the job's namespace; none where Kustomize may make further ones."""
    return [] if kind == CONFIG_MAP and KUSTOMIZATION in job.documents.kinds() else [*job.documents.names_beside(job.given, kind)]


def _made(job: JobView, kind: GroupKind) -> list[str]:
    """The names of a kind that operators make for the job."""
    return [text(each, "metadata", "name") for each in job.expanded.of_kind(kind[1])]


RULES = (
    Rule(dead_address, "warning"),
    Rule(download_in_every_pod, "info"),
    Rule(shared_output, "info"),
    Rule(unknown_source, "info", sees="job"),
    Rule(unknown_file, "warning", sees="job"),
)
