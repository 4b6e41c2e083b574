"""Images: pinned, valid, and built for the devices of the pod."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from jobspec.apis.kinds import MPIJOB
from jobspec.diagnostics.places import Path
from jobspec.diagnostics.problems import remove
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.go.values import structs, text
from jobspec.kubernetes.pods.defaults import ALL_CONTAINERS, image_name
from jobspec.lint.container import LintedContainer
from jobspec.lint.linted import LintedDocument, LintedJob
from jobspec.lint.replaced_images import containers_with_replaced_image
from jobspec.programs.command_lines import LAUNCHERS, file_name, is_shell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.diagnostics.diagnostic import Severity


_LONGEST_TAG = 128
_LONGEST_WORD = 40
PLACEHOLDERS = frozenset(("placeholder", "replaceme", "changeme"))
REPLACED = frozenset(("replace", "replaced", "overridden", "overwritten", "patched", "set", "filled", "injected", "change"))
REPLACED_BY = frozenset(("by", "with", "in", "me", "via"))
_OF_PROGRAMS = "${_"
"""What placeholders begin with that programs fill in; a person fills in `<name>`."""
_OF_KO = "ko://"
"""What the import path of a Go program begins with that `ko` builds, and replaces by its image."""


def unpinned_image(job: LintedJob) -> Iterator[Finding]:
    """Mutable tag: an image has no tag, or `latest`.

    Why: the nodes of one job can run different images, if some have an old one in their cache; a restarted pod can get another one
    than it began with; and nobody can say later what a model was trained with. Rules about images leave out those that the cluster
    replaces: `auto`, by Istio's injector, and those of OpenShift's image triggers.
    Instead: name a fixed tag or, better, a digest.
    Before: image: ghcr.io/acme/train:latest
    After: image: ghcr.io/acme/train:1.4.2
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for image, _, is_valid in _images(job):
        is_tag = is_valid and "@" not in image.value and _tag(image.value) in ("", "latest")
        if is_tag and not _is_of_operator(image, job) and not _stands_in(image.value):
            tag = "" if _tag(image.value) else ", that is `:latest`,"
            yield Finding(image, f"mutable tag: `{image.value}`{tag} can change under the same name", "pin a version tag or a digest")


def invalid_image(job: LintedJob) -> Iterator[Finding]:
    """The image is not a valid image reference.

    Why: the server takes any text. The kubelet does not: the pod stays in InvalidImageName, forever. Mostly a name has capital letters.
    Instead: a registry, a repository in small letters, and a tag.
    Before: image: ghcr.io/acme/Train:1.4
    After: image: ghcr.io/acme/train:1.4
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for image, _, is_valid in _images(job):
        if not is_valid:
            yield Finding(image, f"`{image.value}` is not a valid image reference", "use lower-case letters, digits, `.`, `_`, `-` and `/`")


def unfilled_placeholder(document: LintedDocument) -> Iterator[Finding]:
    """A placeholder is left in the name of an image, or of a Secret for pulling images.

    Why: Kubernetes fills in nothing there. The kubelet takes `$TRAIN_IMAGE` or `<registry>/train` for no image, and the pod waits in
    InvalidImageName, unless a program fills the placeholder in before. It is a warning for those of guides, such as `<registry>`, and in
    files that Flux fills in: it knows `${NAME}` alone. `replaced-by-kustomize`, which kustomize replaces, and the registry of
    `REGISTRY/train` are placeholders, too.
    Instead: a real name, or a build that fills it in.
    Before: image: $TRAIN_IMAGE
    After: image: ghcr.io/acme/train:1.4
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for path, value in _names_of_images(document):
        what = "Secret" if path[-1] == "name" else "image"
        is_image = what == "image" and _is_image(value)
        placeholder = (value if _stands_in(value) else _registry_to_name(value)) if is_image else _placeholder_in(value)
        if placeholder:
            message = f"placeholder in the name of the {what}: Kubernetes does not fill in `{placeholder}`"
            by_program = placeholder[0] in _OF_PROGRAMS and not document.documents.is_filled_in_by_engine(document.given)
            severity: Severity | None = None if by_program or _stands_in(value) else "warning"
            yield Finding(path, message, "fill it in before the manifest is applied", severity=severity)


def _names_of_images(document: LintedDocument) -> Iterator[tuple[Path, str]]:
    """The names of images, and of Secrets for pulling them, that a document writes, with their paths."""
    replaced = containers_with_replaced_image(document)
    found: list[tuple[Path, Any]] = [(("spec", "trainer", "image"), document.get("spec", "trainer", "image"))]
    for path, spec in document.pod_specs:
        for field in ALL_CONTAINERS:
            containers = [(index, each) for index, each in enumerate(structs(spec, field)) if text(each, "name") not in replaced]
            found += [((*path, field, index, "image"), text(each, "image")) for index, each in containers]
        volumes = [(index, each.get("image")) for index, each in enumerate(structs(spec, "volumes"))]
        found += [((*path, "volumes", index, "image", "reference"), text(each, "reference")) for index, each in volumes if each]
        secrets = enumerate(structs(spec, "imagePullSecrets"))
        found += [((*path, "imagePullSecrets", index, "name"), text(each, "name")) for index, each in secrets]
    yield from ((path, value) for path, value in found if isinstance(value, str) and value)


def image_without_digest(job: LintedJob) -> Iterator[Finding]:
    """An image without a digest: its tag can be moved to another image.

    Why: a tag is a name that its owner can give to another image; a digest is the image itself.
    Instead: write the digest behind the tag.
    Before: image: ghcr.io/acme/train:1.4.2
    After: image: ghcr.io/acme/train:1.4.2@sha256:...
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for image, _, is_valid in _images(job):
        if is_valid and image.mark.line and "@" not in image.value and _tag(image.value) not in ("", "latest"):
            yield Finding(image, f"image without a digest: the tag of `{image.value}` can be moved", "pin it with `@sha256:...`")


def needless_pull(job: LintedJob) -> Iterator[Finding]:
    """`imagePullPolicy: Always` on an image with a digest, where it has no effect.

    Why: a digest cannot mean another image, so that there is nothing to ask; where the registry is away, the pod does not start.
    Instead: leave `imagePullPolicy` out.
    Fix: removes `imagePullPolicy` of the container.
    Before: {image: "train@sha256:...", imagePullPolicy: Always}
    After: {image: "train@sha256:..."}
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy
    """
    for image, container, is_valid in _images(job):
        policy = container.tree.get("imagePullPolicy")
        if is_valid and "@sha256:" in image.value and policy and policy.value == "Always" and policy.mark.line:
            message = "`imagePullPolicy: Always` has no effect on an image with a digest"
            yield Finding(policy, message, "remove it", edits=[(policy, remove())])


def cpu_image_with_gpus(job: LintedJob) -> Iterator[Finding]:
    """A pod with GPUs runs a CPU-only image, by its name.

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
    for image, container, is_valid in _images(job):
        parts = image.value.rpartition("/")[2].replace(":", "-").replace("_", "-").replace(".", "-").lower().split("-")
        if is_valid and container.gpus and "cpu" in parts and not {"gpu", "cuda"} & set(parts):
            yield Finding(image, "CPU-only image (by its name) in a container that requests GPUs", "use the GPU build of the image")


def arguments_alone(job: LintedJob) -> Iterator[Finding]:
    """A container that trains has `args` and no `command`, and the arguments name no program.

    Why: the ENTRYPOINT of the image gets the arguments; no operator adds torchrun or python. An image for training mostly has a shell
    there, or nothing: the container does not start, or one process runs in each node where torchrun would start and connect them all.
    It is a warning where the image is a public one, such as pytorch/pytorch, that starts its arguments as they are.
    Instead: name the program: `command: [torchrun]`.
    Before: "trainer: {args: [/workspace/train.py, --epochs=3]}"
    After: "trainer: {command: [torchrun], args: [/workspace/train.py, --epochs=3]}"
    Evidence: kubeflow/trainer#3492
    """
    from jobspec.programs.public_images import starts_arguments

    is_of_torch = not job.is_pytorchjob and job.in_runtime("spec", "mlPolicy", "torch") is not None
    program = "torchrun" if is_of_torch or job.is_pytorchjob else "python"
    for container in job.training_containers:
        arguments = items(container.tree.get("args"))
        serves_mpi = job.given.group_kind == MPIJOB and container.role.name.lower() == "worker"  # `worker-without-ssh-server` is about it
        if not arguments or items(container.tree.get("command")) or serves_mpi:
            continue
        first, image = str(arguments[0].value), str(container.image.value) if container.image else ""
        is_file = first.endswith(".py")
        if starts_arguments(image) and (first.startswith("-") or (is_file and "/" not in first)):
            message = f"the container does not start: `{image}` runs `{first[:_LONGEST_WORD]}` as a program"
            yield Finding(arguments[0], message, f"write `command: [{program}]`", severity="warning")
        elif is_of_torch and not (file_name(first) in LAUNCHERS or is_shell(first)):
            message = "`args` without a `command`: the image's ENTRYPOINT gets them, no torchrun starts the processes"
            yield Finding(container.tree.value["args"], message, "write `command: [torchrun]`, unless the ENTRYPOINT does that")
        elif is_file:
            message = f"`args` without a `command`: the image's ENTRYPOINT gets `{first[:_LONGEST_WORD]}`, and nothing says what runs it"
            yield Finding(arguments[0], message, f"write `command: [{program}]`, unless the ENTRYPOINT does that")


def _images(job: LintedJob) -> Iterator[tuple[MarkedTree, LintedContainer, bool]]:
    """The image of each container, of each role once, and whether the kubelet takes it for the name of one.

    An image that a program of the cluster replaces is left out.
    """
    replaced = containers_with_replaced_image(job)
    for container in (each for each in job.containers if each.name not in replaced):
        image = container.image
        is_valid = image is not None and _is_image(image.value)
        if image and image.value and (is_valid or not (image.value.startswith(_OF_KO) or _placeholder_in(image.value))):
            yield image, container, is_valid


def _is_of_operator(image: MarkedTree, job: LintedJob) -> bool:
    """Whether training-operator adds the image, which no job can choose."""
    return job.framework is not None and not image.mark.line


def _is_image(name: str) -> bool:
    """Whether the kubelet takes a text for the name of an image."""
    return is_plain(name) or image_name(name) is not None


def _stands_in(image: str) -> bool:
    """Whether the name of an image says that another one takes its place, as `replaced-by-kustomize` does."""
    name = image.partition("@")[0].partition(":")[0]
    words = name.replace("_", "-").split("-")
    says_who = any(first in REPLACED and second in REPLACED_BY for first, second in pairwise(words))
    return "/" not in name and (says_who or not PLACEHOLDERS.isdisjoint(words))


def _registry_to_name(image: str) -> str:
    """Return the registry of an image if it is a word in capital letters, which is no host.

    If it is anything else, return an empty text.
    """
    registry, slash, _ = image.partition("/")
    return registry if slash and registry.isupper() and not {".", ":"} & {*registry} else ""


def _placeholder_in(name: str) -> str:
    """The first placeholder in a name; empty without one, as where all of the name is small letters, digits and usual signs."""
    if name.replace("-", "").replace(".", "").isalnum() and name.islower():
        return ""
    from jobspec.repository.placeholders import placeholder_in

    return placeholder_in(name)


def is_plain(image: str) -> bool:
    """Whether a name needs no parsing: lower-case words with one sign between any two, and perhaps a tag."""
    tag = image.partition(":")[2]
    words = image.replace(":", "/", 1).replace(".", "/").replace("-", "/").split("/")
    return image.isascii() and image.islower() and all(map(str.isalnum, words)) and "/" not in tag and len(tag) <= _LONGEST_TAG


def _tag(image: str) -> str:
    return image.rpartition("/")[2].partition("@")[0].partition(":")[2]


RULES = (
    Rule(unpinned_image, "warning", sees="any pods"),
    Rule(invalid_image, "warning", sees="any pods"),
    Rule(unfilled_placeholder, "info", sees="document"),
    Rule(image_without_digest, "info", sees="any pods", by_default=False),
    Rule(needless_pull, "info", sees="any pods", reads=["@sha256:"], has_unsafe_fix=True),
    Rule(cpu_image_with_gpus, "warning", sees="any pods", reads=["gpu"]),
    Rule(arguments_alone, "info", reads=["args"]),
)
