"""Releases: which exist, and which libraries an operator was built with."""

from __future__ import annotations

from jobspec.diagnostics.errors import JobspecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from typing import TypeAlias

Target: TypeAlias = "Mapping[str, str]"

#: component -> release -> the libraries whose types its CRDs froze, `k8s.io/api` as `kubernetes`; newest last.
#: From the operators' own go.mod at each release.
RELEASES: dict[str, dict[str, dict[str, str]]] = {
    "training-operator": {
        "1.7.0": {"kubernetes": "0.27.3"},
        "1.8.1": {"kubernetes": "0.29.3"},
        "1.9.0": {"kubernetes": "0.31.3"},
        "1.9.4": {"kubernetes": "0.36.3"},
    },
    "trainer": {
        "2.0.0": {"kubernetes": "0.32.2", "jobset": "0.8.2"},
        "2.1.0": {"kubernetes": "0.34.1", "jobset": "0.10.1"},
        "2.2.0": {"kubernetes": "0.35.2", "jobset": "0.11.1"},
        "2.2.1": {"kubernetes": "0.36.0", "jobset": "0.11.1"},
        "2.3.0": {"kubernetes": "0.36.2", "jobset": "0.12.0"},
    },
    "jobset": {
        "0.8.2": {"kubernetes": "0.32.2"},
        "0.10.1": {"kubernetes": "0.34.1"},
        "0.11.1": {"kubernetes": "0.35.0"},
        "0.12.0": {"kubernetes": "0.36.0"},
    },
    "kueue": {
        "0.18.2": {"kubernetes": "0.36.1"},
        "0.19.2": {"kubernetes": "0.36.2"},
    },
    "mpi-operator": {
        "0.6.0": {"kubernetes": "0.31.1"},
        "0.7.0": {"kubernetes": "0.34.1"},
        "0.8.0": {"kubernetes": "0.35.1"},
        "0.8.2": {"kubernetes": "0.35.6"},
    },
    "kuberay": {
        "1.4.2": {"kubernetes": "0.33.1"},
        "1.5.1": {"kubernetes": "0.34.1"},
        "1.6.0": {"kubernetes": "0.35.0"},
        "1.6.2": {"kubernetes": "0.35.0"},
        "1.7.0": {"kubernetes": "0.36.0"},
    },
    "lws": {
        "0.7.0": {"kubernetes": "0.33.3"},
        "0.8.0": {"kubernetes": "0.34.3"},
        "0.9.0": {"kubernetes": "0.36.2"},
        "0.10.0": {"kubernetes": "0.36.3"},
    },
    "kubernetes": {
        "1.30": {"kubernetes": "0.30.14"},
        "1.31": {"kubernetes": "0.31.14"},
        "1.32": {"kubernetes": "0.32.13"},
        "1.33": {"kubernetes": "0.33.13"},
        "1.34": {"kubernetes": "0.34.4"},
        "1.35": {"kubernetes": "0.35.4"},
        "1.36": {"kubernetes": "0.36.3"},
        "1.37": {"kubernetes": "0.37.2"},
    },
    "jobspec": {"1": {"kubernetes": "0.36.3"}},
}

#: apiVersion -> the operator that serves it, its first release that no longer does, and the version to write; by its release notes.
REMOVED_VERSIONS = {"kueue.x-k8s.io/v1beta1": ("kueue", "0.20", "kueue.x-k8s.io/v1beta2")}
#: apiVersion -> the operator that serves it, and its first release that does; by its CRDs.
ADDED_VERSIONS = {"kueue.x-k8s.io/v1beta2": ("kueue", "0.15")}

#: The operators whose kinds have models of ours. JobSet's release follows from the trainer's unless it is chosen, too.
MODELLED = ("training-operator", "trainer", "jobset", "kueue")
#: The operators that a user may choose a release of.
OPERATORS = (*MODELLED, "mpi-operator", "kuberay", "lws")
#: The operator that not every cluster of training jobs has. Only a target that names its release has its webhooks for jobs; its own
#: kinds are those of the newest release without one.
QUEUES = "kueue"
#: All components that a user may choose a release of.
CHOSEN = (*OPERATORS, "kubernetes")


def choose(texts: Iterable[str]) -> Target:
    """Return the target for `OPERATOR=RELEASE` texts. Other operators get their newest release.

    A text may have several releases, with commas between them. Without a text for Kueue, the target has no Kueue. A release may be
    shortened (`1.9` is the newest known patch of it); patches of Kubernetes are ignored. Raises JobspecError for an unknown operator or
    release.
    """
    return complete(parse_targets(texts), options=True)


def complete(asked: Mapping[str, str], *, options: bool = False) -> Target:
    """Complete the *asked* releases to a target, with the newest release of other components.

    Without a release of Kueue, the target has no Kueue. Raises JobspecError for an unknown operator or release, in the words of the
    command line if *options* give the releases.
    """
    if asked.keys() | {QUEUES} == RELEASES.keys():
        return asked
    chosen = {each: _known(each, release, options=options) for each, release in asked.items() if each != "jobspec"}
    target = {component: list(releases)[-1] for component, releases in RELEASES.items() if component != QUEUES}
    target |= RELEASES["trainer"][chosen.get("trainer", target["trainer"])] | {"kubernetes": target["kubernetes"]}
    return target | chosen


#: The newest known release of each component.
NEWEST: Target = {component: list(known)[-1] for component, known in RELEASES.items()}


def release_of(component: str, target: Target) -> str:
    """Return the release of a component in the target, or else the newest known one."""
    return target.get(component) or list(RELEASES[component])[-1]


def parse_targets(texts: Iterable[str]) -> dict[str, str]:
    """Return the releases in `OPERATOR=RELEASE` texts.

    A text may have several, with commas between them. Raises JobspecError for a text of another form.
    """
    found = {}
    for text in (each for several in texts for each in several.split(",")):
        operator, equals, release = text.strip().partition("=")
        if not equals or operator not in CHOSEN:
            raise JobspecError(f"--target {text}: write OPERATOR=RELEASE with one of {', '.join(CHOSEN)}")
        found[operator] = release
    return found


def _known(component: str, release: str, *, options: bool) -> str:
    """The newest known patch of a release; of Kubernetes, the release of a patch."""
    if component not in CHOSEN:
        raise JobspecError(f"unknown operator `{component}`: the operators are {', '.join(OPERATORS)}, and `kubernetes`")
    if not isinstance(release, str):
        raise JobspecError(f'{component}: a release is a string, such as "{list(RELEASES[component])[-1]}", not {release!r}')
    known = known_releases(component, release)
    if known:
        return known[-1]
    crds = "with --crd" if options else "as `crds`"
    way_out = f"; for a later one, give its CRDs {crds}" if component in OPERATORS and is_later(component, release) else ""
    asked = f"{'--target ' if options else ''}{component}={release}"
    raise JobspecError(f"{asked}: the known releases of {component} are {', '.join(RELEASES[component])}{way_out}")


def known_releases(component: str, release: str) -> list[str]:
    """Return the known releases that a release means.

    A release without a patch means all of its patches. Patches of Kubernetes are ignored.
    """
    if component == "kubernetes":
        release = ".".join(release.removeprefix("v").split(".")[:2])
    return [each for each in RELEASES[component] if each == release or each.startswith(release + ".")]


def is_later(operator: str, release: str) -> bool:
    """True if a release of an operator came after all known ones."""
    return is_release(release) and _numbers(release) > _numbers(list(RELEASES[operator])[-1])


def is_release(text: str) -> bool:
    """True if a text is the name of a release, such as `0.19.2`."""
    return all(part.isdecimal() and part.isascii() for part in text.split("."))


def nearest_known(releases: Mapping[str, str]) -> dict[str, str]:
    """Replace each release that came after the known ones by the newest known one.

    A cluster may have any release of Kueue: a known patch of the same release replaces an unknown one, and a release without any is left
    out.
    """
    found = {}
    for each, release in releases.items():
        known = known_releases(each, release)
        if not known and is_later(each, release):
            found[each] = list(RELEASES[each])[-1]
        elif known or each != QUEUES:
            found[each] = release
        elif known := known_releases(each, ".".join(release.split(".")[:2])):
            found[each] = known[-1]
    return found


def reported(target: Target, met: Container[str] = ()) -> dict[str, str]:
    """Return the releases that a report names.

    Those are of the training operators, of the operators that the files have *met*, and others if chosen. JobSet counts as chosen if it is
    not the trainer's own release, other components if it is not the newest.
    """
    of_training = ("training-operator", "trainer", QUEUES)
    usual = {**NEWEST, **RELEASES["trainer"][target["trainer"]], "kubernetes": NEWEST["kubernetes"]}
    named = [each for each in CHOSEN if each in target]
    return {each: target[each] for each in named if each in of_training or each in met or target[each] != usual[each]}


def is_at_least(release: str, other: str) -> bool:
    """True if *release* equals *other* or came after it."""
    return _numbers(release) >= _numbers(other)


_parsed: dict[str, list[int]] = {}


def _numbers(release: str) -> list[int]:
    if release not in _parsed:
        _parsed[release] = [int(part) for part in release.split(".")]
    return _parsed[release]
