"""Variables that containers take from ConfigMaps, as values of their own.

Kubernetes expands `$(NAME)` in the values of `env` alone: a value of a ConfigMap that has one stays where it is.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.operators.mounted_scripts import ConfigMaps


def with_variables(objects: Sequence[MarkedTree], config_maps: ConfigMaps) -> list[MarkedTree]:
    """Return the objects of a job with the values of ConfigMaps in the variables of pods.

    Variables of ConfigMaps that are not known stay as they are.
    """
    return [_in_pod(each, config_maps) if text(each, "kind") == "Pod" else each for each in objects]


def _in_pod(pod: MarkedTree, config_maps: ConfigMaps) -> MarkedTree:
    for field in ("initContainers", "containers"):
        for number, container in enumerate(items(pod.get("spec", field))):
            if changed := _with_values(container, config_maps):
                pod = pod.replace_at(("spec", field, number), lambda _, changed=changed: changed)  # type: ignore[misc]
    return pod


def _with_values(container: MarkedTree, config_maps: ConfigMaps) -> MarkedTree | None:
    """Return a container whose `env` has what ConfigMaps give it. If they give nothing, return None."""
    left, given = list[MarkedTree](), list[MarkedTree]()
    for source in items(container.get("envFrom")):
        found = list(_of_source(source, config_maps))
        given += found
        left += [] if found else [source]
    own = [_with_value(each, config_maps) for each in items(container.get("env"))]
    if not given and all(each is before for each, before in zip(own, items(container.get("env")), strict=True)):
        return None
    fields = {name: each for name, each in container.value.items() if name != "envFrom"}
    place = container.value.get("env") or container
    kept = {"envFrom": container.value["envFrom"].with_value(left)} if left else {}
    return container.with_value({**fields, **kept, "env": place.with_value([*given, *own])})


def _of_source(source: MarkedTree, config_maps: ConfigMaps) -> Iterator[MarkedTree]:
    """Yield the variables of the ConfigMap that an item of `envFrom` names. If a value is not known, yield none."""
    name = source.get("configMapRef", "name")
    data = config_maps(text(name)) if name else {}
    if name and all(_is_plain(each) for each in data.values()):
        for key, value in data.items():
            fields = {"name": name.with_value(f"{text(source, 'prefix')}{key}"), "value": name.with_value(value.value)}
            yield name.with_value(fields)


def _with_value(variable: MarkedTree, config_maps: ConfigMaps) -> MarkedTree:
    """Return a variable with the value that it takes from a key of a ConfigMap."""
    reference = variable.get("valueFrom", "configMapKeyRef")
    value = config_maps(text(reference, "name")).get(text(reference, "key")) if reference else None
    if reference is None or value is None or not _is_plain(value):
        return variable
    return variable.with_value({"name": variable.value["name"], "value": reference.with_value(value.value)})


def _is_plain(value: MarkedTree) -> bool:
    return isinstance(value.value, str) and "$(" not in value.value
