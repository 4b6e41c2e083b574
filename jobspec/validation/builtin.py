"""Built-in kinds as the API server judges them: structure, metadata, and for some kinds what its Go code says.

*data* is plain data, so that objects which nobody wrote down, such as the pods that an operator makes, are judged as documents are.
"""

from __future__ import annotations

from jobspec import kinds, shapes
from jobspec.validation.metadata import metadata_problems
from jobspec.validation.structural import schema_problems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jobspec.kinds import GroupKind, Kind
    from jobspec.shapes import Shape
    from jobspec.targets import Target
    from jobspec.validation.problem import Problem

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
        from jobspec.validation.indentation import lost_parent

        if lost := lost_parent(found, data, shape):
            return [lost]
        from jobspec.validation.releases import with_releases

        found = with_releases(found, data, (api_version, kind), target)
    if old is not None:
        from jobspec.validation.updates import metadata_update_problems

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
    from jobspec.validation.persistentvolumeclaim import claim_problems

    if old is not None:
        from jobspec.validation.persistentvolumeclaim_update import claim_update_problems

        reported = {problem.path for problem in found}
        found = [*found, *(problem for problem in claim_update_problems(data, old) if problem.path not in reported)]
    return claim_problems(data, found, is_new=old is None)


def _definition(data: Any, found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    from jobspec.validation.crds.definition import definition_problems

    return definition_problems(data, found, shape, old)


def _pod(data: Any, found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    from jobspec.validation.pods.pod import pod_problems

    return pod_problems(data, found, shape, old)


def _pod_template(data: Any, found: list[Problem], shape: Shape, _: Any) -> list[Problem]:
    from jobspec.validation.pods.pod import stored_template_problems

    return stored_template_problems(data, found, shape)


def _workload(data: Any, found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    from jobspec.validation.workloads.workload import workload_problems

    return workload_problems(data, found, shape, old)


def _of_one_page(data: Any, found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    from jobspec.validation.builtin_kinds.code import code_problems

    return code_problems(data, found, shape, old)


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
