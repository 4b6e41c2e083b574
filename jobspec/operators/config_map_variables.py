"""Variables that containers take from ConfigMaps.

Kubernetes expands `$(NAME)` in the values of `env` alone: a value of a ConfigMap that has one stays where it is.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text
from jobspec.operators.mounted_scripts import with_containers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.operators.mounted_scripts import ConfigMaps

    #: A variable's name, its value in the ConfigMap, and the place that refers to the ConfigMap.
    Taken = tuple[str, MarkedTree, MarkedTree]


def whole_config_maps(container: MarkedTree, config_maps: ConfigMaps) -> Iterator[Taken]:
    """Yield the variables of the ConfigMaps that `envFrom` names."""
    for source in items(container.get("envFrom")):
        yield from _of_source(source, config_maps)


def keys_of_config_maps(container: MarkedTree, config_maps: ConfigMaps) -> Iterator[Taken]:
    """Yield the variables that take their value from a key of a ConfigMap."""
    for variable in items(container.get("env")):
        if taken := _of_key(variable, config_maps):
            yield taken


def with_variables(objects: Sequence[MarkedTree], config_maps: ConfigMaps) -> list[MarkedTree]:
    """Return the objects of a job with the values of ConfigMaps in the variables of pods.

    Variables of ConfigMaps that are not known stay as they are.
    """
    return [
        with_containers(each, lambda container: _with_values(container, config_maps)) if text(each, "kind") == "Pod" else each
        for each in objects
    ]


def _with_values(container: MarkedTree, config_maps: ConfigMaps) -> MarkedTree | None:
    """Return a container whose `env` has what ConfigMaps give it.

    If they give nothing, return None.
    """
    left, given = list[MarkedTree](), list[MarkedTree]()
    for source in items(container.get("envFrom")):
        found = list(_of_source(source, config_maps))
        is_plain = bool(found) and all(_is_plain(value) for _, value, _ in found)
        given += [
            place.with_value({"name": place.with_value(name), "value": place.with_value(value.value)})
            for name, value, place in found
            if is_plain
        ]
        left += [] if is_plain else [source]
    own = [_with_value(each, config_maps) for each in items(container.get("env"))]
    if not given and all(each is before for each, before in zip(own, items(container.get("env")), strict=True)):
        return None
    fields = {name: each for name, each in container.value.items() if name != "envFrom"}
    place = container.value.get("env") or container
    kept = {"envFrom": container.value["envFrom"].with_value(left)} if left else {}
    return container.with_value({**fields, **kept, "env": place.with_value([*given, *own])})


def _with_value(variable: MarkedTree, config_maps: ConfigMaps) -> MarkedTree:
    """Return a variable with the value that it takes from a key of a ConfigMap."""
    taken = _of_key(variable, config_maps)
    if taken is None or not _is_plain(taken[1]):
        return variable
    _, value, reference = taken
    return variable.with_value({"name": variable.value["name"], "value": reference.with_value(value.value)})


def _of_source(source: MarkedTree, config_maps: ConfigMaps) -> Iterator[Taken]:
    """Yield the variables of the ConfigMap that an item of `envFrom` names."""
    if place := source.get("configMapRef", "name"):
        yield from ((f"{text(source, 'prefix')}{name}", value, place) for name, value in config_maps(text(place)).items())


def _of_key(variable: MarkedTree, config_maps: ConfigMaps) -> Taken | None:
    """Return a variable that takes its value from a key of a ConfigMap."""
    reference = variable.get("valueFrom", "configMapKeyRef")
    value = config_maps(text(reference, "name")).get(text(reference, "key")) if reference else None
    return (text(variable, "name"), value, reference) if reference and value else None


def _is_plain(value: MarkedTree) -> bool:
    return isinstance(value.value, str) and "$(" not in value.value
