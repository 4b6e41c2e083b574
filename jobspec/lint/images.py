"""Images: which one will run is known, and it is made for what the pod has."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, text
from jobspec.lint.containers import gpus
from jobspec.lint.rule import Edit, Finding, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.lint.views import JobView


_FILLED_IN = "${"  # what stands for a text that a program fills in later
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_NAME = rf"{_PART}(?:/{_PART})*(?::\w[\w.-]{{0,127}})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{{32,}})?"
_LABEL = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?"
_LONGEST_TAG = 128


def unpinned_image(job: JobView) -> Iterator[Finding]:
    """An image has no tag, or `latest`: the registry decides at every start what it is.

    Why: the nodes of one job can run different images, where some have an old one in their cache; a restarted pod can get another one
    than it began with; and nobody can say later what a model was trained with.
    Instead: name a fixed tag or, better, a digest.
    Before: image: ghcr.io/acme/train:latest
    After: image: ghcr.io/acme/train:1.4.2
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for image, _ in _images(job):
        name = text(image)
        if "@" not in name and _tag(name) in ("", "latest"):
            yield Finding(image, f"`{name}` is another image whenever somebody pushes one", "name a fixed tag, or a digest")


def invalid_image(job: JobView) -> Iterator[Finding]:
    """What stands as image is no name of one.

    Why: the server takes any text. The kubelet does not: the pod stays in InvalidImageName, for ever. Mostly a placeholder of a guide was
    left, or a name has capital letters.
    Instead: a registry, a repository in small letters, and a tag.
    Before: image: <registry>/Train:1.4
    After: image: ghcr.io/acme/train:1.4
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for role in job.roles:
        for container, _ in role.pods[0].containers():
            image = container.get("image")
            if image and text(image) and not any(sign in text(image) for sign in _FILLED_IN) and not _is_name(text(image)):
                yield Finding(image, f"`{text(image)}` is no name of an image", "names are of small letters, digits, `.`, `_`, `-` and `/`")


def image_without_digest(job: JobView) -> Iterator[Finding]:
    """An image is named by a tag, which can be moved.

    Why: a tag is a name that its owner can give to another image; a digest is the image itself.
    Instead: write the digest behind the tag.
    Before: image: ghcr.io/acme/train:1.4.2
    After: image: ghcr.io/acme/train:1.4.2@sha256:...
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for image, _ in _images(job):
        if image.mark.line and "@" not in text(image) and _tag(text(image)) not in ("", "latest"):
            yield Finding(image, f"`{text(image)}` is a name that can be given to another image", "add the digest")


def needless_pull(job: JobView) -> Iterator[Finding]:
    """An image that is named by its digest is asked for at every start.

    Why: a digest cannot mean another image, so that there is nothing to ask; where the registry is away, the pod does not start.
    Instead: leave `imagePullPolicy` out.
    Fix: removes `imagePullPolicy` of the container.
    Before: {image: "train@sha256:...", imagePullPolicy: Always}
    After: {image: "train@sha256:..."}
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy
    """
    for image, container in _images(job):
        policy = container.get("imagePullPolicy")
        if "@sha256:" in text(image) and policy and policy.value == "Always" and policy.mark.line:
            yield Finding(
                policy, "a digest is one image for good: nothing is to be asked for", "leave it out", edits=[Edit(policy, removes=True)]
            )


def image_for_cpus(job: JobView) -> Iterator[Finding]:
    """A pod with GPUs runs an image whose name says that it is made for CPUs.

    Why: a PyTorch without CUDA does not see the GPUs: the job trains on the CPU, slowly, and nobody else gets the GPUs.
    Instead: take the image for GPUs, or ask for none.
    Before:
        image: train:2.4-cpu
        limits: {nvidia.com/gpu: 1}
    After:
        image: train:2.4-cuda
        limits: {nvidia.com/gpu: 1}
    Evidence: kubeflow/trainer#2266
    """
    for image, container in _images(job):
        parts = text(image).rpartition("/")[2].replace(":", "-").replace("_", "-").replace(".", "-").lower().split("-")
        if gpus(container) and "cpu" in parts and not {"gpu", "cuda"} & set(parts):
            yield Finding(image, "the image is made for CPUs, by its name, and the container asks for GPUs", "take the image for GPUs")


def _images(job: JobView) -> Iterator[tuple[MarkedTree, MarkedTree]]:
    """The images of all containers, of each role once, and their containers."""
    for role in job.roles:
        for container, _ in role.pods[0].containers():
            image = container.get("image")
            if image and text(image) and not any(sign in text(image) for sign in _FILLED_IN) and _is_name(text(image)):
                yield image, container


def _is_name(image: str) -> bool:
    """Whether the kubelet takes a text for the name of an image."""
    return is_plain(image) or is_reference(image)


def is_plain(image: str) -> bool:
    """Whether a name is as most are, which nobody has to parse: words in small letters with one sign between any two, and a tag or none."""
    tag = image.partition(":")[2]
    words = image.replace(":", "/", 1).replace(".", "/").replace("-", "/").split("/")
    return image.isascii() and image.islower() and all(map(str.isalnum, words)) and "/" not in tag and len(tag) <= _LONGEST_TAG


def is_reference(image: str) -> bool:
    """Whether a text is a name of an image.

    Follows `ParseNormalizedNamed`, github.com/distribution/reference, 0.6.
    """
    import re

    first, slash, rest = image.partition("/")
    is_host = bool(slash) and (any(sign in first for sign in ".:") or first == "localhost" or first.lower() != first)
    host, name = (first, rest) if is_host else ("", image)
    return bool(re.fullmatch(_NAME, name)) and (not host or bool(re.fullmatch(_HOST, host)))


def _tag(image: str) -> str:
    return image.rpartition("/")[2].partition("@")[0].partition(":")[2]


RULES = (
    Rule(unpinned_image, "warning"),
    Rule(invalid_image, "warning"),
    Rule(image_without_digest, "info", by_default=False),
    Rule(needless_pull, "info"),
    Rule(image_for_cpus, "warning"),
)
