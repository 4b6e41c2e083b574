"""Images: which one will run is known, and it is made for what the pod has."""

from __future__ import annotations

from jobspec.lint.rule import Finding, Rule
from jobspec.operators.pods import text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.lint.views import JobView
    from jobspec.overlays.marked_tree import MarkedTree


def unpinned_image(job: JobView) -> Iterator[Finding]:
    """An image has no tag, or `latest`: the registry decides at every start what it is.

    Why: the nodes of one job can run different images, where some have an old one in their cache; a restarted pod can get another one
    than it began with; and nobody can say later what a model was trained with.
    Instead: name a fixed tag or, better, a digest.
    Before: image: ghcr.io/acme/train:latest
    After: image: ghcr.io/acme/train:1.4.2
    Evidence: https://kubernetes.io/docs/concepts/containers/images/#image-names
    """
    for image in _images(job):
        name = text(image)
        if "@" not in name and _tag(name) in ("", "latest"):
            yield Finding(image, f"`{name}` is another image whenever somebody pushes one", "name a fixed tag, or a digest")


def _images(job: JobView) -> Iterator[MarkedTree]:
    """The images of all containers, of each role once."""
    for role in job.roles:
        for container, _ in role.pods[0].containers():
            image = container.get("image")
            if image and text(image):
                yield image


def _tag(image: str) -> str:
    return image.rpartition("/")[2].partition("@")[0].partition(":")[2]


RULES = (Rule(unpinned_image, "warning"),)
