"""Built-in kinds as the API server judges them: structure, metadata, and for some kinds what its Go code says.

*data* is plain data, so that objects which nobody wrote down, such as the pods that an operator makes, are judged as documents are.
"""

from __future__ import annotations

from itertools import chain, pairwise

from jobspec.apis import kinds
from jobspec.apis.kinds import COMPONENTS, Kind
from jobspec.apis.releases import RELEASES, is_at_least, release_of
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Data, Mark, value_at
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.codec import decode_as_go
from jobspec.go.values import mapping
from jobspec.kubernetes import structural
from jobspec.kubernetes.kind_rules import rules_of, whole_rules_of
from jobspec.kubernetes.metadata import generation_problems, metadata_problems
from jobspec.kubernetes.metadata_updates import metadata_update_problems
from jobspec.kubernetes.problems import merged
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jobspec.apis.releases import Target


def builtin_problems(data: Data, api_version: str, kind: str, target: Target, old: Any = None, *, encoded: bool = False) -> list[Problem]:
    """Return the problems of an object of a built-in kind.

    The target's release must serve the kind. If *old* is given, the object is an update of it. *encoded*: a program in Go has encoded the
    object from its types, so that its structure is right.
    """
    known = kinds.find(api_version, kind)
    assert known and known.is_builtin, (api_version, kind)
    shape = shapes.load(api_version, kind, target)
    assert shape, (api_version, kind, target)
    found = [] if encoded else structural.schema_problems(data, shape, typed=True)
    if found:
        if lost := lost_parent(found, data, shape):
            return [lost]
        found = with_releases(found, data, (api_version, kind), target)
    name, release = (known.group, known.name), target["kubernetes"]
    checks_prefix = old is None or not (known.name in _ANY_PREFIX or (name == kinds.JOB and is_at_least(release, "1.37")))
    if old is not None:
        found += metadata_update_problems(data.get("metadata"), old.get("metadata"), builtin=checks_prefix)
    if is_judged(known, api_version):
        if rules := whole_rules_of(name):
            found = rules(data, found, shape, old, release)
        else:
            found = merged(found, _of_go_code(data, known, shape, old, release, encoded=encoded))
    meta = data.get("metadata")
    if isinstance(meta, dict) and not checks_prefix:
        meta = {field: each for field, each in meta.items() if field != "generateName"}
    names = "old-label" if name == kinds.SERVICE and not is_at_least(release, "1.36") else known.names
    start = _signer(data) if name == kinds.CLUSTER_TRUST_BUNDLE else ""
    return [*found, *metadata_problems(meta, names=names, start=start, namespaced=known.namespaced, builtin=known.needs_domains)]


_ANY_PREFIX = (
    *("CronJob", "CSIDriver", "CustomResourceDefinition", "DaemonSet", "Deployment", "HorizontalPodAutoscaler", "Lease", "NetworkPolicy"),
    *("PodTemplate", "PriorityClass", "ReplicaSet", "ResourceQuota", "ResourceSlice", "Service", "ServiceCIDR", "StatefulSet"),
)
"""The kinds whose `generateName` is validated in new objects only; in updates it has to fit into a URL, as that of custom resources.

From 1.37 on, a Job is one of them."""


def _signer(data: Any) -> str:
    """Return the beginning that the name of a ClusterTrustBundle must have.

    Follows `ValidateClusterTrustBundleName`, k8s.io/kubernetes pkg/apis/core/validation.
    """
    signer = mapping(data, "spec").get("signerName")
    return signer.replace("/", ":") + ":" if isinstance(signer, str) and signer else ""


def is_judged(kind: Kind, api_version: str) -> bool:
    """True if jobspec follows the server's Go code for a kind, so that the verdict is complete."""
    name = (kind.group, kind.name)
    return bool(whole_rules_of(name) or rules_of(name)) and (api_version, kind.name) != _OLD_AUTOSCALER


def _of_go_code(data: Data, known: Kind, shape: Shape, old: Any, release: str, *, encoded: bool) -> Problems:
    """Return the problems that the server's Go code finds in a decoded object."""
    if known.name == "Pod" and old is not None:
        from jobspec.kubernetes.pods.pod import changed_pod_problems

        return changed_pod_problems(data, old, shape, release)
    typed, before = data if encoded else decode_as_go(data, shape), None if old is None else decode_as_go(old, shape)
    rules = rules_of((known.group, known.name))
    assert rules, known.name
    found = rules(typed, before, release)
    is_taken = old is None and known.name in _TAKES_GENERATION
    return chain(generation_problems(typed.get("metadata")), found) if is_taken else found


#: A kind in a version that is not judged, since v1 has metrics in annotations.
_OLD_AUTOSCALER = ("autoscaling/v1", "HorizontalPodAutoscaler")
#: The kinds of which the server takes `metadata.generation` from whoever creates them.
_TAKES_GENERATION = (
    *("ClusterRole", "ClusterRoleBinding", "ConfigMap", "HorizontalPodAutoscaler", "LimitRange", "Namespace", "ResourceQuota"),
    *("Role", "RoleBinding", "Secret", "ServiceAccount"),
)


# Add to problems which other releases have the unknown field, or accept the wrong value.


_ABOUT_VALUES = ("wrong-type", "unsupported-choice", "wrong-size", "out-of-range", "wrong-format")


def with_releases(problems: list[Problem], data: Any, kind: tuple[str, str], target: Target) -> list[Problem]:
    """Add to each problem the releases of the kind's operator in which it does not occur."""
    component = COMPONENTS.get(kind, "kubernetes")
    others = [release for release in RELEASES[component] if release != release_of(component, target)]
    return [_with_releases(problem, data, kind, others, target) for problem in problems] if others else problems


def _with_releases(problem: Problem, data: Any, kind: tuple[str, str], others: list[str], target: Target) -> Problem:
    if problem.rule != "unknown-field" and problem.rule not in _ABOUT_VALUES:
        return problem
    component = COMPONENTS.get(kind, "kubernetes")
    roots = {release: shapes.load(*kind, {**target, component: release}) for release in others}
    known = {release: shape for release, root in roots.items() if root and (shape := root.at(problem.path))}
    if problem.rule == "unknown-field":
        return _other_field(problem, known, kind, target) if known else problem
    value = value_at(data, problem.path)
    problems_at = structural.typed_problems_at if component == "kubernetes" else structural.schema_problems_at
    accepting = [release for release, shape in known.items() if not problems_at(value, shape, problem.path)]
    if not accepting or problem.hint:
        return problem
    own = release_of(component, target)
    accept = f"{component} {_range(accepting, others)} {'accepts' if len(accepting) == 1 else 'accept'} it"
    hint = f"{accept} (`--target {component}={accepting[-1]}`); the target is {own}"
    return Problem(problem.rule, problem.path, problem.message, hint, at_key=problem.at_key, remedy=problem.remedy)


def _other_field(problem: Problem, known: dict[str, Shape], kind: tuple[str, str], target: Target) -> Problem:
    component = COMPONENTS.get(kind, "kubernetes")
    releases, name, own = list(RELEASES[component]), f"`{problem.path[-1]}`", release_of(component, target)
    earlier = [release for release in known if releases.index(release) < releases.index(own)]
    if earlier:
        gone = releases[releases.index(earlier[-1]) + 1]
        message = f"{name} was removed in {component} {gone}"
        hint = f"if the cluster has {component} {earlier[-1]}, pass `--target {component}={earlier[-1]}`"
        if known[earlier[-1]].use:
            message += f"; use {known[earlier[-1]].use}"
    else:
        first = next(iter(known))
        message = f"{name} was added in {component} {first}, and the target is {own}"
        hint = f"remove it, or pass `--target {component}={first}`"
    return Problem(problem.rule, problem.path, message, hint, at_key=problem.at_key)


def _range(releases: list[str], all_others: list[str]) -> str:
    """Releases in words: `2.0.0 to 2.1.0`, or one by one if the range has others."""
    first, last = all_others.index(releases[0]), all_others.index(releases[-1])
    is_range = len(releases) > 1 and last - first + 1 == len(releases)
    return f"{releases[0]} to {releases[-1]}" if is_range else ", ".join(releases)


# Recognise manifests whose indentation was lost, as happens when they are copied from a page.
#
# They have a key without a value, followed by a key of the same depth that belongs inside it. If the YAML can be read, that is an unknown
# field or a wrong type (`lost_parent`); if not, the YAML error is far from the cause, and the lines show it (`lost_indentation`).
_HINT = "indent it, and what follows it, below that key; the indentation of the file seems to be lost"


def lost_parent(found: Sequence[Problem], data: Any, root: Shape) -> Problem | None:
    """Return a `wrong-indentation` problem for the first problem that lost indentation explains.

    If lost indentation explains none of the problems, return None.
    """
    empty: dict[int, list[str]] = {}  # the keys without a value, by the mapping around them
    for problem in found:
        if problem.rule in ("unknown-field", "wrong-type") and problem.path and isinstance(problem.path[-1], str):
            name, around = str(problem.path[-1]), value_at(data, problem.path[:-1])
            if id(around) not in empty:
                empty[id(around)] = [key for key, value in around.items() if value is None]
            parent = empty[id(around)] and _parent_above(name, around, empty[id(around)], root.at(problem.path[:-1]), problem.rule)
            if parent:
                return Problem("wrong-indentation", problem.path, _message(name, parent), _HINT, at_key=True)
    return None


def _parent_above(name: str, data: Data, empty: list[str], shape: Shape | None, rule: str) -> str:
    """Return the last empty key before *name* that has a field *name* in the schema.

    If there is none, return an empty string.
    """
    if shape is None or (rule == "wrong-type") != (shape.fields is None):
        return ""
    children = {key: shape.at((key,)) for key in empty}
    parents = [key for key, child in children.items() if child and child.fields and name in child.fields]
    order = list(data) if parents else []
    return next((key for key in reversed(parents) if order.index(key) < order.index(name)), "")


def _message(name: str, parent: str) -> str:
    return f"`{name}` belongs inside of `{parent}:`, which is empty: lost indentation"


class _YamlLine:
    """A line of YAML: its indentation, its key and the value after the key."""

    def __init__(self, number: int, text: str) -> None:
        self.number = number
        bare = text.rstrip().lstrip(" ")
        self.text = bare
        self.indent = len(text.rstrip()) - len(bare)
        self.item = bare.startswith("- ")
        key, colon, value = bare.removeprefix("- ").partition(":")
        self.key = key.strip("\"' ") if colon else ""
        self.value = value.partition(" #")[0].strip().strip("\"'")


def lost_indentation(text: str, problem: Diagnostic, target: Target) -> Diagnostic | None:
    """Find the first key that stands beside its parent, in the document of a YAML *problem*.

    If the indentation was not lost, return None.
    """
    lines = [line for line in _lines_around(text, problem.mark.line) if line.text and not line.text.startswith("#")]
    top = {line.key: line.value for line in reversed(lines) if line.indent == 0}
    shape = shapes.load(top.get("apiVersion", ""), top.get("kind", ""), target)
    return _first_lost(lines, shape, problem) if shape else None


def _lines_around(text: str, number: int) -> list[_YamlLine]:
    """The lines of the document that contains line *number*."""
    lines = text.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("---")]
    start = max((at for at in starts if at < number), default=-1) + 1
    end = min((at for at in starts if at >= number), default=len(lines))
    return [_YamlLine(start + offset + 1, line) for offset, line in enumerate(lines[start:end])]


def _first_lost(lines: list[_YamlLine], root: Shape, problem: Diagnostic) -> Diagnostic | None:
    open_keys: list[tuple[int, Shape | None]] = [(-1, root)]
    for line, below in pairwise(lines):
        while open_keys[-1][0] >= line.indent:
            open_keys.pop()
        around = open_keys[-1][1]
        if around and around.items:
            around = around.items
        inner = around and around.at((line.key,))
        open_keys.append((line.indent, inner))
        if line.value or not line.key or below.indent != line.indent or below.item or not inner or not inner.fields:
            continue
        if below.key in inner.fields and not (around and around.fields and below.key in around.fields):
            start = below.indent + 1
            mark = Mark(problem.mark.file, below.number, start, below.number, start + len(below.key), problem.mark.layer)
            message = _message(below.key, line.key)
            return Diagnostic("wrong-indentation", message, mark, field=below.key, document=problem.document, hint=_HINT)
    return None
