"""Memory volumes, amounts of memory, and paths of the node."""

from __future__ import annotations

from jobspec.lint.storage import LEAST_MEMORY, OF_THE_NODE
from jobspec.operators.kuberay import WAITER
from jobspec.policies.cel import at, in_containers, in_volumes, items, literal
from jobspec.policies.rule import Parameter, PolicyRule
from jobspec.policies.templates import EVERY, OBJECT

IS_MEMORY = f"{at('volume', 'emptyDir', 'medium')}.orValue('') == 'Memory'"
SIZE = at("volume", "emptyDir", "sizeLimit")
_ALLOWED = Parameter("allowed-host-paths", list(OF_THE_NODE), "Folders of the node that may be mounted, each with `/` at the end.")
_IN_ALLOWED = "variables.allowedHostPaths.exists(folder, (volume.hostPath.path + '/').startsWith(folder))"
#: True if no DaemonSet owns the pod: its pods serve nodes.
SERVES_NO_NODE = f"!{items(OBJECT, 'metadata', 'ownerReferences')}.exists(owner, owner.kind == 'DaemonSet')"


def _is_tiny(amount: str) -> str:
    """True if a text is an amount of memory that is not 0, and less than any program needs."""
    return f"!({amount} in ['', '0']) && quantity({amount}).isLessThan(quantity({literal(str(LEAST_MEMORY))}))"


SAID_SIZE = f"string({SIZE}.value())"
_SAID_LIMIT = "string(container.limits.memory)"
_MEMORY = [(field, f"string(container.{field}.memory)") for field in ("limits", "requests")]
_TINY_CONTAINER = " ||\n      ".join(f"('memory' in container.{field} && {_is_tiny(said)})" for field, said in _MEMORY)
_IS_RAY_POD = f"{at(OBJECT, 'metadata', 'labels')}[?'ray.io/cluster'].hasValue()"
#: The volume that KubeRay adds to its pods, which has no limit if the container has no memory limit.
_IS_OF_RAY = f"(volume.name == 'shared-mem' && {_IS_RAY_POD})"
#: The container that KubeRay adds to its pods, with a memory limit of its own, and all volumes of the container of Ray.
_WAITS_FOR_RAY = f"(container.name == {literal(WAITER)} && {_IS_RAY_POD})"
_OVER = (
    f"!{_WAITS_FOR_RAY} &&\n        'memory' in container.limits && container.mounts.exists(mount, mount.name == volume.name) &&\n"
    f"        !quantity({_SAID_LIMIT}).isLessThan(quantity('1')) && !quantity({SAID_SIZE}).isLessThan(quantity({_SAID_LIMIT}))"
)


POLICIES = (
    PolicyRule(
        "unlimited-memory-volume",
        in_volumes(f"{IS_MEMORY} && string({SIZE}.orValue('')) == '' && !{_IS_OF_RAY}", "volume.name"),
        EVERY,
        differs=["it refuses runtimes whose jobs are among the files, too, of which lint says it at the jobs"],
    ),
    PolicyRule(
        "memory-volume-over-limit",
        in_volumes(
            f"{IS_MEMORY} && {SIZE}.hasValue() && !{_IS_OF_RAY} && pod.containers.exists(container,\n        {_OVER})",
            f"volume.name + ' of ' + {SAID_SIZE}",
        ),
        EVERY,
    ),
    PolicyRule(
        "tiny-memory",
        f"{in_containers(_TINY_CONTAINER, 'container.name')} +\n"
        + in_volumes(f"{IS_MEMORY} && {SIZE}.hasValue() && {_is_tiny(SAID_SIZE)}", "volume.name"),
        EVERY,
    ),
    PolicyRule(
        "host-path",
        in_volumes(
            f"{at('volume', 'hostPath', 'path')}.hasValue() && !{_IN_ALLOWED}",
            "volume.name + ' at ' + volume.hostPath.path",
            where=SERVES_NO_NODE,
        ),
        EVERY,
        parameters=[_ALLOWED],
    ),
)
