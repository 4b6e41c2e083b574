"""Built-in kinds as the API server judges them: structure, metadata, and for some kinds what its Go code says.

*data* is plain data, so that objects which nobody wrote down, such as the pods that an operator makes, are judged as documents are.
"""

from __future__ import annotations

from jobspec import kinds
from jobspec.kinds import Kind
from jobspec.kubernetes.metadata import metadata_problems, metadata_update_problems
from jobspec.kubernetes.problems import Problem, beside
from jobspec.kubernetes.structural import schema_problems
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from jobspec.kinds import GroupKind
    from jobspec.targets import Target

    #: What stands against an object besides its metadata: from its data, what was found in its structure, its shape, and the stored object.
    GoCode = Callable[[Any, list[Problem], Shape, Any], list[Problem]]


def builtin_problems(
    data: dict[str, Any], api_version: str, kind: str, target: Target, old: Any = None, *, encoded: bool = False
) -> list[Problem]:
    """The problems of an object of a kind that the target's release serves, as an update of the data *old* unless that is None.

    *encoded*: a program in Go has encoded the object from its types, so that its structure is right.
    """
    known = kinds.find(api_version, kind)
    assert known and known.is_builtin, (api_version, kind)
    shape = shapes.load(api_version, kind, target)
    assert shape, (api_version, kind, target)
    found = [] if encoded else schema_problems(data, shape, typed=True)
    if found:
        from jobspec.kubernetes.hints import lost_parent

        if lost := lost_parent(found, data, shape):
            return [lost]
        from jobspec.kubernetes.hints import with_releases

        found = with_releases(found, data, (api_version, kind), target)
    if old is not None:
        found += metadata_update_problems(data.get("metadata"), old.get("metadata"), builtin=True)
    code = _GO_CODE.get((known.group, known.name))
    if code:
        found = code(data, found, shape, old)
    return [*found, *_of_metadata(data, known)]


def is_judged(kind: Kind) -> bool:
    """Whether the verdict on objects of a kind is whole, since we follow the Go code that the server has for it."""
    return (kind.group, kind.name) in _GO_CODE


def _of_metadata(data: dict[str, Any], kind: Kind) -> list[Problem]:
    meta = data.get("metadata")
    if meta is not None and not isinstance(meta, dict):
        return []
    return list(metadata_problems(meta or {}, names=kind.names, namespaced=kind.namespaced, builtin=kind.needs_domains))


def _claim(data: Any, found: list[Problem], _: Shape, old: Any) -> list[Problem]:
    from jobspec.kubernetes.persistentvolumeclaims import claim_problems

    if old is not None:
        from jobspec.kubernetes.persistentvolumeclaims import claim_update_problems

        reported = {problem.path for problem in found}
        found = [*found, *(problem for problem in claim_update_problems(data, old) if problem.path not in reported)]
    return claim_problems(data, found, is_new=old is None)


def _definition(data: Any, found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    from jobspec.kubernetes.crds.definition import definition_problems

    return definition_problems(data, found, shape, old)


def _pod(data: Any, found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    from jobspec.kubernetes.pods.pod import pod_problems

    return pod_problems(data, found, shape, old)


def _pod_template(data: Any, found: list[Problem], shape: Shape, _: Any) -> list[Problem]:
    from jobspec.kubernetes.pods.pod import stored_template_problems

    return stored_template_problems(data, found, shape)


def _workload(data: Any, found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    from jobspec.kubernetes.workloads import workload_problems

    return workload_problems(data, found, shape, old)


def _of_one_page(data: Any, found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    from jobspec.go.values import typed_value

    return beside(found, list(_page_problems(typed_value(data, shape), data["kind"], typed_value(old, shape))))


def _page_problems(made: dict[str, Any], kind: str, old: dict[str, Any] | None) -> Iterator[Problem]:
    """What the Go code of a kind says, where it fits on a page: of the object, and of what an update cannot change."""
    from jobspec.kubernetes import limits, namespaced_kinds

    generation = made.get("metadata", {}).get("generation", 0)
    if old is None and kind not in _SETS_GENERATION and generation < 0:
        message = f"`generation` cannot be negative, as {generation} is"
        yield Problem("out-of-range", ("metadata", "generation"), message, "leave it out; the server sets it")
    module = limits if kind in ("LimitRange", "ResourceQuota") else namespaced_kinds
    of_any, of_update = module.RULES.get(kind, (None, None))
    if of_any and (old is None or kind not in _ONLY_CHANGES):
        yield from of_any(made, old)
    if of_update and old is not None:
        yield from of_update(made, old)


#: The kinds of which an update looks at what changes, and not at the rest.
_ONLY_CHANGES = ("Namespace", "PriorityClass")
#: The kinds of which the server sets `metadata.generation` itself.
_SETS_GENERATION = ("NetworkPolicy", "PodDisruptionBudget", "PriorityClass")
#: The kinds whose rules besides those of metadata fit on a page, or which have none.
_OF_ONE_PAGE: tuple[GroupKind, ...] = (
    *(("", name) for name in ("ConfigMap", "LimitRange", "Namespace", "ResourceQuota", "Secret", "ServiceAccount")),
    *(("rbac.authorization.k8s.io", name) for name in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
    ("networking.k8s.io", "NetworkPolicy"),
    ("policy", "PodDisruptionBudget"),
    kinds.PRIORITY_CLASS,
)
#: The kinds whose Go code we follow.
_GO_CODE: dict[GroupKind, GoCode] = {
    kinds.PERSISTENT_VOLUME_CLAIM: _claim,
    kinds.CUSTOM_RESOURCE_DEFINITION: _definition,
    kinds.POD: _pod,
    kinds.POD_TEMPLATE: _pod_template,
    **dict.fromkeys(kinds.WORKLOADS, _workload),
    **dict.fromkeys(_OF_ONE_PAGE, _of_one_page),
}
