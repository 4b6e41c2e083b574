"""What programs read and write: downloads, outputs, files and their sources."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from jobspec.apis.kinds import ANY, CONFIG_MAP, KUSTOMIZATION, PERSISTENT_VOLUME_CLAIM, GroupKind
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.document import KUSTOMIZATIONS
from jobspec.documents.marked_tree import MarkedTree, items, text, tree_at
from jobspec.go.values import mapping
from jobspec.kubernetes.admission.objects import EVERYWHERE, Reference, references
from jobspec.kubernetes.pods.defaults import image_name
from jobspec.kubernetes.problems import closest, listed
from jobspec.lint.container import LintedContainer, volumes_of
from jobspec.lint.linted import LintedJob
from jobspec.operators.mounted_scripts import mounted_file, volumes_of_config_maps
from jobspec.operators.trainer.runtimes import sources_of
from jobspec.programs.command_lines import is_shell
from jobspec.programs.downloads import PROGRAMS, download_in
from jobspec.programs.shells import script_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.operators.expansion import ExpandedRole

_DEAD_ADDRESSES = {"yann.lecun.com/exdb/mnist": "https://ossci-datasets.s3.amazonaws.com/mnist"}
"""Addresses of data sets that answer no more, each with another one that does."""
#: The commands that say whether a file can be executed.
_TESTS = ("[", "[[", "test")
#: The commands after which a relative path begins in another folder.
_MOVES = ("cd", "pushd", "popd")


_FILLED_IN = "*?[{$"
"""What stands in a name that a shell fills in."""


_OUTPUTS = ("output", "save", "checkpoint", "ckpt", "export")
_PARTS = ("", "-dir", "-directory", "-folder", "-path", "-file")
_LOG_FLAGS = ("--log-dir", "--log-file", "--logdir")
OUTPUT_FLAGS = (
    *(f"--{name}{part}" for name in _OUTPUTS for part in _PARTS),
    "--out-dir",
    "--default-root-dir",
    "--results-dir",
    "--work-dir",
)
#: The kinds of what pods refer to and that are usually among the files: Secrets often are not.
_SOURCES = (PERSISTENT_VOLUME_CLAIM, CONFIG_MAP)


def dead_address(job: LintedJob) -> Iterator[Finding]:
    """A program downloads a data set from a dead address.

    Why: the server gives 403 or nothing: the program ends before it trains, and so does every restart of it. The address is in many
    examples, and was the default of libraries.
    Instead: a mirror, or better a copy of your own in a volume or an image.
    Before: args: [--url, "http://yann.lecun.com/exdb/mnist/"]
    After: args: [--url, "https://ossci-datasets.s3.amazonaws.com/mnist/"]
    Evidence: kubeflow/trainer#2266, kubeflow/trainer#2499, pytorch/vision#1938
    """
    for container in job.containers:
        values = [each.get("value") for _, each in container.variables]
        for word, place in [*container.words, *((text(each), each) for each in values if each)]:
            for address, mirror in _DEAD_ADDRESSES.items():
                if address in word:
                    yield Finding(place, f"dead download address: `{address}`", f"use a mirror, such as {mirror}")


def download_in_every_pod(job: LintedJob) -> Iterator[Finding]:
    """Each pod of the job downloads data before it trains.

    Why: all pods ask for the same data at the same moment, again after every restart, and hold their GPUs meanwhile; servers slow them
    down or refuse them, and pods that are done wait for the last one until their timeout.
    Instead: load the data once, into a volume that the pods share: by an initializer of the TrainJob, or a Job before.
    Before: command: [sh, -c, "aws s3 sync s3://data /data && torchrun train.py"]
    After: volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
    Evidence: kubeflow/trainer#2266, kubeflow/pytorch-operator#325, pytorch/vision#8568
    """
    pods = job.training_pods
    for container in job.containers if pods > 1 else ():
        program = download_in(container.program.texts) if container.role.training else ""
        place = next((each for each in container.program.words if program in str(each.value)), None)
        if program and place and place.mark.line:
            yield Finding(place, f"each of {pods} pods downloads the data with `{program}`", "download it once, into a shared volume")


def shared_output(job: LintedJob) -> Iterator[Finding]:
    """Several pods write to the same folder of a shared volume.

    Why: where not one of the processes alone writes, they write the same files at the same time: a checkpoint is half one's and half
    another's, and nobody notices until it is read.
    Instead: write from rank 0 alone, or give each pod a folder of its own by `subPathExpr`.
    Before: volumeMounts: [{name: out, mountPath: /out}]
    After: volumeMounts: [{name: out, mountPath: /out, subPathExpr: $(POD_NAME)}]
    Evidence: kubeflow/trainer#1971, kubeflow/katib#2232
    """
    pods = job.training_pods
    for container in job.training_containers if pods > 1 else ():
        for name, value, place in container.flags:
            if name in (*OUTPUT_FLAGS, *_LOG_FLAGS) and _is_shared(container, value):
                yield Finding(place, f"{pods} pods write to `{value}` of the same volume", "write from rank 0 alone, or set `subPathExpr`")
                break


_HASH = 10  # characters that kustomize adds to the names of what it generates


def unknown_source(job: LintedJob) -> Iterator[Finding]:
    """A volume or a variable uses a claim or ConfigMap that does not exist in the namespace.

    Why: a pod waits forever for a claim or a ConfigMap that is not there.
    Instead: name an existing one, or pass its file, too.
    Before: persistentVolumeClaim: {claimName: dta}
    After: persistentVolumeClaim: {claimName: data}
    Evidence: https://kubernetes.io/docs/concepts/storage/volumes/#configmap
    """
    for said, each in _references(job):
        kind, name = each.kind, each.name
        known = _known(job, kind) if kind in _SOURCES and name != EVERYWHERE else []
        if not known or name in (*known, *_made(job, kind)) or job.documents.may_get_name(kind, name):
            continue
        hint = _hash_hint(name, known) or closest(name, known) or f"known: {listed(known[:3])}"
        yield Finding(said, f"no {kind[1]} `{name}` in {job.called}'s namespace among the files", hint)


def unknown_key(job: LintedJob) -> Iterator[Finding]:
    """A volume or a variable uses a key that its ConfigMap does not have.

    Why: the containers of the pod never start, and the job waits forever: only an event of the pod names the key.
    Instead: write the name of a key, or put the key into the ConfigMap; `optional: true` if the program does without.
    Before: "configMapKeyRef: {name: training, key: lr}, beside data: {learning-rate: '0.1'}"
    After: "configMapKeyRef: {name: training, key: learning-rate}"
    Evidence: https://kubernetes.io/docs/tasks/configure-pod-container/configure-pod-configmap/#restrictions
    """
    if job.documents.cluster.complete.every:  # pod-waits says it
        return
    for role in job.roles:
        for each in _needed(role):
            known = _keys(job, each.name) if each.kind == CONFIG_MAP and each.keys else []
            for key, path in each.keys if known and ANY not in known else ():
                place = tree_at(role.pod_tree, path)
                if place and key not in known and not any(sign in key for sign in _FILLED_IN):
                    message = f"pods wait forever: the ConfigMap `{each.name}` has no key `{key}`"
                    yield Finding(place, message, closest(key, known) or f"it has {listed(known[:3])}")


def _needed(role: ExpandedRole) -> list[Reference]:
    """Return what the pods of a role refer to and do not start without."""
    return [each for each in references(mapping(role.pod_tree.data(), "spec")) if not each.is_optional]


def _references(job: LintedJob) -> Iterator[tuple[MarkedTree, Reference]]:
    """Yield what the pods of a job need, each with the place of its name."""
    for role in job.roles:
        for each in _needed(role):
            if place := tree_at(role.pod_tree, each.path):
                yield place, each


def unsupported_source(job: LintedJob) -> Iterator[Finding]:
    """An initializer of the trainer's gets a URI of a kind that it does not download from.

    Why: the trainer's images know `hf://` and, from trainer 2.1 on, `s3://`, for data sets also `cache://`. With another one the
    initializer ends with an error, and the nodes, which wait for it, never start.
    Instead: put the data where one of them is, or give the initializer an image of your own.
    Before: model: {storageUri: "pvc://models/llama"}
    After: model: {storageUri: "s3://models/llama"}
    Evidence: kubeflow/trainer#3834
    """
    for container in job.containers:
        said = container.variable("STORAGE_URI")
        value, image = said.get("value") if said else None, container.image
        parts = image_name(text(image)) if image and value and value.value else None
        if not parts or not value:
            continue
        tag = (parts["tag"] or "").removeprefix("v")
        known = sources_of(parts["name"], tag if tag[:1].isdecimal() else job.target["trainer"])
        scheme = text(value).partition("://")[0].lower()
        if known and scheme not in known and "$" not in scheme:
            listed_sources = listed([f"{each}://" for each in known])
            message = f"the initializer ends with an error, and no node starts: it does not download from `{scheme}://`"
            yield Finding(value, message, f"it knows {listed_sources}")


def _hash_hint(name: str, known: Sequence[str]) -> str:
    """What to do about a name that kustomize adds a hash to; empty where it does not."""
    alike = (each for each in known if each.startswith(f"{name}-") and len(each) == len(name) + 1 + _HASH)
    hashed = next((each for each in alike if each[-_HASH:].isalnum()), "")
    why = f"kustomize names it `{hashed}`, and changes references in built-in kinds alone"
    return f"{why}: write `generatorOptions: {{disableNameSuffixHash: true}}`" if hashed else ""


def unknown_file(job: LintedJob) -> Iterator[Finding]:
    """A container uses a file of a ConfigMap that has no such key.

    Why: a ConfigMap gives a file for each of its keys, and no other: the program ends at once with "no such file", and so does every
    restart of it.
    Instead: write the name of a key, or put the file into the ConfigMap.
    Before: command: [python, /code/trian.py]
    After: command: [python, /code/train.py]
    Evidence: https://kubernetes.io/docs/concepts/configuration/configmap/
    """
    for container in job.containers:
        volumes = {text(each, "name"): each for each in volumes_of(container.role)}
        for word, place in container.words:
            mount = container.mount_around(word)
            files = _files(job, volumes.get(text(mount, "name"))) if mount and not text(mount, "subPath") else []
            name = word.removeprefix(text(mount, "mountPath").rstrip("/")).strip("/") if files else ""
            if name and name not in files and not any(sign in name for sign in _FILLED_IN):
                yield Finding(place, f"the ConfigMap that is mounted there has no `{name}`", f"it has {listed(files[:3])}")


def file_not_executable(job: LintedJob) -> Iterator[Finding]:
    """A container starts a file of a ConfigMap that is not executable.

    Why: files of a ConfigMap have the mode 0644 unless the volume says another one: the container does not start ("permission denied"), and
    neither does any restart of it.
    Instead: name the shell that runs the file, or set `defaultMode: 0755` at the volume.
    Before: command: [/scripts/train.sh]
    After: command: [bash, /scripts/train.sh]
    Evidence: https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/volume/
    """
    for container in job.containers:
        volumes = volumes_of_config_maps(container.role.pod_tree)
        for name, place in _programs_of(container) if volumes else ():
            file = mounted_file(name, container.tree, volumes)
            keys = _keys(job, file.config_map) if file else ()
            if file and not file.is_executable and (file.key in keys or not keys):
                message = f"the program does not start: `{name}`, a file of a ConfigMap, is not executable"
                yield Finding(place, message, f"name its shell, as in `bash {name}`, or set `defaultMode: 0755`")


def _programs_of(container: LintedContainer) -> Iterator[tuple[str, MarkedTree]]:
    """Yield the paths of the programs that a container starts, each with its place.

    A script that tests a file, or gives the file to a shell, has another way to run it. After `cd`, only absolute paths are known.
    """
    program = container.program
    at = script_at(program.texts)
    commands = program.script.commands if program.script else ()
    other_ways = {word for each in commands if each.words[0] in _TESTS or is_shell(each.words[0]) for word in each.words[1:]}
    is_moved = any(each.words[0] in _MOVES for each in commands)
    names = [each.words[0] for each in commands if not is_moved or each.words[0].startswith("/")]
    found = [(each, program.words[at]) for each in names if at is not None and each not in other_ways]
    found += [(program.texts[0], program.words[0])] if items(container.tree.get("command")) else []
    yield from ((name, place) for name, place in found if "/" in name)


def _files(job: LintedJob, volume: MarkedTree | None) -> list[str]:
    """The files of a volume that is a ConfigMap of the files, under the names of its keys; none of another volume."""
    return [] if volume and volume.get("configMap", "items") else _keys(job, text(volume, "configMap", "name"))


def _keys(job: LintedJob, config_map: str) -> list[str]:
    """Return the sorted keys of the ConfigMap of a name.

    If there is none, or if a kustomization may add more, return none.
    """
    found = job.documents.config_map(job.given, config_map)
    if found is None or (KUSTOMIZATION in job.documents.kinds() and os.path.basename(found.file) not in KUSTOMIZATIONS):
        return []
    data = [value_at(found.data, (field,)) for field in ("data", "binaryData")]
    return sorted(key for each in data if isinstance(each, dict) for key in each)


def _is_shared(container: LintedContainer, folder: str) -> bool:
    """Whether a folder is in a claim that all pods have mounted at the same place, to write to."""
    mount = container.mount_around(folder)
    if mount is None or text(mount, "subPathExpr") or text(mount, "readOnly") == "True" or "$(" in folder:
        return False
    return any(text(each, "name") == text(mount, "name") and each.get("persistentVolumeClaim") for each in volumes_of(container.role))


def _known(job: LintedJob, kind: GroupKind) -> list[str]:
    """The names of a kind in the job's namespace; none where Kustomize may make further ones."""
    if kind == CONFIG_MAP and KUSTOMIZATION in job.documents.kinds():
        return []
    return [*job.documents.names_in_same_namespace(job.given, kind)]


def _made(job: LintedJob, kind: GroupKind) -> list[str]:
    """The names of a kind that operators make for the job."""
    return [text(each, "metadata", "name") for each in job.expanded.of_kind(kind[1])]


RULES = (
    Rule(dead_address, "warning", sees="any pods", reads=_DEAD_ADDRESSES),
    Rule(download_in_every_pod, "info", sees="job", reads=PROGRAMS),
    Rule(shared_output, "info", sees="job", reads=["claim"]),
    Rule(unsupported_source, "warning", reads=["storage"]),
    Rule(unknown_source, "info", sees="any pods in a namespace", reads=["claim", "configMap"]),
    Rule(unknown_key, "warning", sees="any pods in a namespace", reads=["configMap"]),
    Rule(file_not_executable, "warning", sees="any pods", reads=["configMap"]),
    Rule(unknown_file, "warning", sees="any pods in a namespace", reads=["configMap"]),
)
