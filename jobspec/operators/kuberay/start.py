"""The `ray start` command of a pod: the parameters of its group, and those that KubeRay adds from the container and the cluster.

Follows `setMissingRayStartParams`, `updateRayStartParamsResources`, `updateRayStartParamsLabels`, `generateRayStartCommand`,
`addWellKnownAcceleratorResources` and `convertParamMap`, github.com/ray-project/kuberay ray-operator/controllers/ray/common, and
`IsGPUResourceKey`, ray-operator/controllers/ray/utils, 1.4.2 to 1.7.0.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.go.formats import is_parsed_quantity
from jobspec.go.quantities import quantity, whole_number
from jobspec.operators.kuberay import HEAD, PORTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Parameters = dict[str, str]

AGENT_PORT = 52365
"""The port of the dashboard's agent, which answers KubeRay's probes."""
#: Resources of a container -> what Ray calls them.
_ACCELERATORS = {"aws.amazon.com/neuroncore": "neuron_cores", "google.com/tpu": "TPU"}
_SLICE_OF_GPU = r"nvidia\.com/mig-\d+g\.\d+gb$"
#: Options that take `true` and `false` as values, and the release of KubeRay since which they do; all others that are `true` have none.
_WITH_VALUE = {"log-color": "1.4.0", "include-dashboard": "1.4.0", "include-log-monitor": "1.7.0"}


def is_gpu(resource: str) -> bool:
    """Whether KubeRay takes a resource of a container for GPUs."""
    import re

    return resource.endswith("gpu") or bool(re.search(_SLICE_OF_GPU, resource))


def head_parameters(group: Mapping[str, Any], further: Parameters) -> Parameters:
    """The parameters of the head group, with *further* ones of its cluster."""
    found = _of_group(group)
    found.setdefault("dashboard-host", "0.0.0.0")  # noqa: S104 (the value is KubeRay's)
    return {**_with_common(found), **further}


def worker_parameters(group: Mapping[str, Any], address: str) -> Parameters:
    """The parameters of a group of workers that find the head at an *address* with a port."""
    found = _of_group(group)
    found.setdefault("address", address)
    return _with_common(found)


def _of_group(group: Mapping[str, Any]) -> Parameters:
    """The parameters that a group writes, with its resources and labels."""
    found = {**(group.get("rayStartParams") or {}), **_of_resources(group.get("resources") or {})}
    labels = group.get("labels") or {}
    return {**found, "labels": ",".join(f"{name}={labels[name]}" for name in sorted(labels))} if labels else found


def _of_resources(resources: Mapping[str, str]) -> Parameters:
    """The parameters that the resources of a group replace; a text that is no quantity is left out."""
    found, others = dict[str, str](), dict[str, float]()
    for name, text in resources.items():
        if not is_parsed_quantity(text):
            continue
        known = {"cpu": "num-cpus", "memory": "memory"}.get(name.lower(), "num-gpus" if is_gpu(name.lower()) else "")
        if known:
            found[known] = str(whole_number(text))
        else:
            others[name] = quantity(text).nanos / 1e9
    return {**found, **({"resources": _quoted(others)} if others else {})}


def _with_common(parameters: Parameters) -> Parameters:
    """Parameters with those that the head and workers have alike."""
    given = {"metrics-export-port": str(PORTS["metrics"]), "dashboard-agent-listen-port": str(AGENT_PORT)}
    return {**given, **parameters, "block": "true"}


def command(node_type: str, parameters: Parameters, resources: Mapping[str, Any], release: str) -> tuple[str, Parameters]:
    """The command by which KubeRay of a *release* starts Ray in a container with *resources*, and the parameters with what they add."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    found = dict(parameters)
    cpus = _amount(limits, "cpu") or _amount(requests, "cpu")
    if "num-cpus" not in found and cpus:
        found["num-cpus"] = str(cpus)
    if "memory" not in found and (memory := _amount(limits, "memory")):
        found["memory"] = str(memory)
    found |= _of_accelerators(found, limits)
    return f"ray start {'--head ' if node_type == HEAD else ''}{_options(found, release)}", found


def _amount(amounts: Mapping[str, Any], name: str) -> int:
    """A whole amount, rounded up; 0 where there is none."""
    return whole_number(str(amounts[name])) if name in amounts else 0


def _of_accelerators(parameters: Parameters, limits: Mapping[str, Any]) -> Parameters:
    """The GPUs of a container, and the first of its other accelerators, where no parameter names them."""
    named = custom_resources(parameters) if limits else None
    if named is None:
        return {}
    found, has_custom = dict[str, str](), bool(named.keys() & _ACCELERATORS.values())
    for name in sorted(limits):
        number = _amount(limits, name)
        if is_gpu(name) and number and "num-gpus" not in parameters:
            found.setdefault("num-gpus", str(number))
        if name in _ACCELERATORS and number and not has_custom:
            found["resources"] = _quoted({**named, _ACCELERATORS[name]: quantity(str(limits[name])).nanos / 1e9})
            has_custom = True
    return found


def custom_resources(parameters: Parameters) -> dict[str, float] | None:
    """The parameter `resources`, a JSON object in quotes. If KubeRay cannot read it, return None."""
    import json

    if "resources" not in parameters:
        return {}
    try:
        found = json.loads(parameters["resources"].strip("'\"` "))
    except ValueError:
        return None
    is_read = isinstance(found, dict) and all(isinstance(each, int | float) and not isinstance(each, bool) for each in found.values())
    return found if is_read else {} if found is None else None


def _quoted(resources: Mapping[str, float]) -> str:
    """Resources as Go writes them in JSON, in quotes for the shell."""
    from jobspec.operators.kuberay.go_text import json_text

    return f"'{json_text(dict(resources))}'"


def _options(parameters: Parameters, release: str) -> str:
    """The parameters as options; one that is `true` has no value, one that is `false` is left out."""
    found = ""
    for name in sorted(parameters):
        value = parameters[name]
        takes_value = name in _WITH_VALUE and is_at_least(release, _WITH_VALUE[name])
        if value.lower() in ("true", "false") and not takes_value:
            found += f" --{name} " if value.lower() == "true" else ""
        else:
            found += f" --{name}={value} "
    return found


# Versions of Ray as KubeRay reads them.
#
# Follows `ParseGeneric`, k8s.io/apimachinery pkg/util/version.


_VERSION = r"\s*v?([0-9]+(?:\.[0-9]+)*)"


def ray_version(text: str) -> tuple[int, ...] | None:
    """Return the numbers of a version of Ray.

    If KubeRay does not read the text as a version, return None.
    """
    import re

    found = re.match(_VERSION, text)
    parts = found[1].split(".") if found else []
    if len(parts) < 2 or (parts[0][0] == "0" and parts[0] != "0"):
        return None
    return tuple(map(int, parts))


def is_ray_at_least(text: str, other: tuple[int, ...]) -> bool:
    """Whether a text is a version of Ray, and no older than another one."""
    found = ray_version(text)
    if found is None:
        return False
    size = max(len(found), len(other))
    return (*found, *[0] * (size - len(found))) >= (*other, *[0] * (size - len(other)))
