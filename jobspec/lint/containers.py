"""What a container asks for and what it runs, as rules ask about it."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.go.quantities import quantity
from jobspec.programs import torchrun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeVar

    from jobspec.operators.expansion import Pod

    #: A flag's name, its value, and the place of the value, which is the flag's own where it is joined to it or there is none.
    Flag = tuple[str, str, MarkedTree]
    R = TypeVar("R")

#: Parts of resource names that are accelerators, but no GPUs to the trainer.
OTHER_ACCELERATORS = ("/mig-", "/tpu", "/ascend", "/neuron", "/gaudi", "/npu", "/mlu", "/dcu")
#: What names of resources have that count memory or cores of a GPU, for pods that share one.
_PARTS = ("mem", "core", "percentage", "ratio")
DEAD_ADDRESSES = {"yann.lecun.com/exdb/mnist": "https://ossci-datasets.s3.amazonaws.com/mnist"}
"""Addresses of data sets that answer no more, each with another one that does."""
DOWNLOADS = {
    "wget": "",
    "curl": "",
    "s5cmd": "",
    "aws": "s3",
    "gsutil": "",
    "gcloud": "storage",
    "azcopy": "",
    "rclone": "",
    "hf": "download",
    "huggingface-cli": "download",
    "kaggle": "datasets",
}
"""Programs that download, each with the word behind it that makes it do so; empty where it does nothing else."""
TOKENS = ("hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "glpat-", "AKIA")
"""How tokens of Hugging Face, GitHub, GitLab and AWS begin."""
_SHELLS = ("sh", "bash", "ash", "dash", "zsh")
_ONE = 1_000_000_000
_FEW = 16
"""As many containers have the pods of a job, which most rules ask about the same."""


def _remembering(find: Callable[[MarkedTree], R]) -> Callable[[MarkedTree], R]:
    """A function that remembers what it has found for the last containers; to load `functools` takes longer than to lint a job."""
    found: dict[MarkedTree, R] = {}

    def remembered(container: MarkedTree) -> R:
        known = found.get(container)
        if known is None:
            if len(found) == _FEW:
                found.clear()
            known = found[container] = find(container)
        return known

    return remembered


def written(*trees: MarkedTree | None) -> MarkedTree:
    """The first of some values that a file says; the last one where none does, which has to be there."""
    last = trees[-1]
    assert last
    return next((each for each in trees if each and each.mark.line), last)


def amount(container: MarkedTree, resource: str) -> int:
    """How much of a resource is asked for, by its limit or else its request, in billionths; 0 where nothing is said."""
    for field in ("limits", "requests"):
        said = text(container, "resources", field, resource)
        if said:
            return _nanos(said)
    return 0


def bytes_of(said: str) -> int:
    """A quantity of memory in bytes; 0 where the text is none."""
    return _nanos(said) // _ONE


def _nanos(said: str) -> int:
    try:
        return quantity(said).nanos
    except ValueError:
        return 0


def resources(container: MarkedTree) -> dict[str, MarkedTree]:
    """The names of what is asked for, each with its limit or else its request."""
    found: dict[str, MarkedTree] = {}
    for field in ("requests", "limits"):
        found.update((container.get("resources") or container.with_value({})).entries(field))
    return found


@_remembering
def gpus(container: MarkedTree) -> int:
    """The number of whole GPUs."""
    return sum(amount(container, name) // _ONE for name in resources(container) if is_gpu(name))


def is_gpu(resource: str) -> bool:
    """Whether a resource is a GPU as the trainer counts them, and no memory or cores of one, which are not counted in GPUs."""
    name = resource.lower()
    return "gpu" in name and "/" in name and not any(part in name.rpartition("/")[2] for part in _PARTS)


def other_accelerators(container: MarkedTree) -> list[tuple[str, MarkedTree, int]]:
    """Accelerators that are no whole GPUs: name, place and number."""
    found = resources(container).items()
    named = [(name, tree) for name, tree in found if any(part in name.lower() for part in OTHER_ACCELERATORS)]
    return [(name, tree, amount(container, name) // _ONE) for name, tree in named]


def gpu_place(container: MarkedTree) -> MarkedTree:
    """Where the GPUs are asked for."""
    return next((tree for name, tree in resources(container).items() if is_gpu(name)), container)


def variables(container: MarkedTree) -> Iterator[tuple[str, MarkedTree]]:
    """The environment variables in their order, with those that the operator sets."""
    for each in items(container.get("env")):
        yield text(each, "name"), each


def variable(container: MarkedTree, name: str) -> MarkedTree | None:
    """The variable that counts: the last of its name."""
    return next((each for each in reversed(items(container.get("env"))) if text(each, "name") == name), None)


def words(container: MarkedTree) -> list[MarkedTree]:
    """The words that the container runs, of `command` and `args`; empty where the image decides what runs."""
    return [each for field in ("command", "args") for each in items(container.get(field)) if isinstance(each.value, (str, int, float))]


@_remembering
def tokens(container: MarkedTree) -> Sequence[tuple[str, MarkedTree]]:
    """The words of what is run, those of a shell's command string each on its own, with the place of each."""
    found: list[tuple[str, MarkedTree]] = []
    all_words = words(container)
    in_shell = bool(all_words) and str(all_words[0].value).rpartition("/")[2] in _SHELLS
    for each in all_words:
        said = str(each.value)
        found += [(word, each) for word in _in_shell(said)] if in_shell else [(said, each)]
    return found


def _in_shell(said: str) -> Iterator[str]:
    """The words of a shell's text, without quotes, comments and what separates commands."""
    for line in said.splitlines():
        for part in line.split():
            if part.startswith("#"):
                break
            word = part.lstrip("(").rstrip(";&|)\\").strip("\"'")
            if word:
                yield word


@_remembering
def launcher(container: MarkedTree) -> str:
    """What starts the processes, as far as the words say it: `torchrun`, `other`, or empty where the image decides or a script may."""
    said = [token for token, _ in tokens(container)]
    if not items(container.get("command")):
        return ""
    if any(token.rpartition("/")[2] in torchrun.NAMES for token in said):
        return "torchrun"
    return "other" if any(token.rpartition("/")[2].startswith("python") for token in said) else ""


def flags(container: MarkedTree) -> list[Flag]:
    """The flags of what is run, with `-` in place of `_`; the value is empty where none follows."""
    return _flags_in(tokens(container))


def torchrun_flags(container: MarkedTree) -> list[Flag]:
    """The options between `torchrun` and the program that it starts, by their full names."""
    if launcher(container) != "torchrun":
        return []
    said = tokens(container)
    start = next(number for number, (word, _) in enumerate(said, 1) if word.rpartition("/")[2] in torchrun.NAMES)
    told = torchrun.options_of([word for word, _ in said[start:]])
    return [(each.option, (each.value or "").strip("\"'"), said[start + each.value_at][1]) for each in told if each.option]


def _flags_in(said: Sequence[tuple[str, MarkedTree]]) -> list[Flag]:
    found = []
    for number, (word, tree) in enumerate(said):
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word.partition("=")
            follows, behind = said[number + 1] if number + 1 < len(said) else ("", tree)
            if not equals and follows and not follows.startswith("-"):
                value, tree = follows, behind
            found.append((name.replace("_", "-"), value.strip("\"'"), tree))
    return found


def volume_at(pod: Pod, container: MarkedTree, path: str) -> MarkedTree | None:
    """The volume that is mounted at a path of a container, None where there is none."""
    mounted = next((text(each, "name") for each in items(container.get("volumeMounts")) if text(each, "mountPath").rstrip("/") == path), "")
    return next((each for each in items(pod.tree.get("spec", "volumes")) if mounted and text(each, "name") == mounted), None)


def mounted_at(container: MarkedTree, path: str) -> MarkedTree | None:
    """The volume mount that a path of a container is in, the innermost; None where it is in none."""
    mounts = [(text(each, "mountPath").rstrip("/"), each) for each in items(container.get("volumeMounts"))]
    around = [(len(place), each) for place, each in mounts if place and f"{path.rstrip('/')}/".startswith(f"{place}/")]
    return max(around, key=lambda each: each[0])[1] if around else None


def requested(pod: MarkedTree, resource: str) -> int:
    """What a pod asks for of a resource, in billionths: the sum of its containers, or the most of an init container."""
    together = sum(_request(each, resource) for each in items(pod.get("spec", "containers")))
    return max([together, *(_request(each, resource) for each in items(pod.get("spec", "initContainers")))])


def requests_of(pod: MarkedTree) -> set[str]:
    """The names of the resources that a pod asks for, in containers that no operator has added."""
    containers = [*items(pod.get("spec", "containers")), *items(pod.get("spec", "initContainers"))]
    return {name for each in containers if each.mark.line for name in resources(each) if requested(pod, name)}


def _request(container: MarkedTree, resource: str) -> int:
    for field in ("requests", "limits"):
        said = text(container, "resources", field, resource)
        if said:
            return _nanos(said)
    return 0
