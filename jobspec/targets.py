"""Releases: which exist, which kinds they define, and which Kubernetes libraries an operator was built with."""

from __future__ import annotations

from jobspec.diagnostics import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Target = Mapping[str, str]

#: component -> release -> the release of the Kubernetes libraries that froze the pod schema inside its CRDs; newest last.
RELEASES: dict[str, dict[str, str]] = {
    "training-operator": {"1.9.0": "0.31.3", "1.9.4": "0.36.3"},
    "kubernetes": {"1.36": "0.36.3"},
    "jobspec": {"1": "0.36.3"},
}

#: (apiVersion, kind) -> the component whose release decides about its schema.
KINDS: dict[tuple[str, str], str] = {
    ("kubeflow.org/v1", "PyTorchJob"): "training-operator",
    ("v1", "PersistentVolumeClaim"): "kubernetes",
    ("jobspec.dev/v1alpha1", "Overlay"): "jobspec",
}

#: The components that a user may choose a release of.
OPERATORS = ("training-operator",)


def choose(wishes: Iterable[str]) -> Target:
    """The target for `OPERATOR=RELEASE` texts: the newest release of each operator unless a wish says otherwise.

    A release may be shortened (`1.9` is the newest known patch of it). Raises JobspecError for what is not known.
    """
    target = {component: list(releases)[-1] for component, releases in RELEASES.items()}
    for wish in wishes:
        operator, equals, release = wish.partition("=")
        if not equals or operator not in OPERATORS:
            raise JobspecError(f"--target {wish}: write OPERATOR=RELEASE with one of {', '.join(OPERATORS)}")
        known = RELEASES[operator]
        matching = [each for each in known if each == release or each.startswith(release + ".")]
        if not matching:
            raise JobspecError(f"--target {wish}: the known releases of {operator} are {', '.join(known)}")
        target[operator] = matching[-1]
    return target


def schema_path(component: str, release: str, api_version: str, kind: str) -> str:
    """Where a kind's schema stands below `schemas/` or `schemas/compiled/`, with `/` between the parts."""
    group, _, version = api_version.rpartition("/")
    return f"{component}-{release}/{group or 'core'}/{kind.lower()}_{version}.json"
