"""Variables that containers take from ConfigMaps among the files."""

from __future__ import annotations

from jobspec.documents.marked_tree import items, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobspec.documents.marked_tree import MarkedTree
    from jobspec.lint.container import LintedContainer
    from jobspec.lint.linted import LintedJob

    #: A variable's name, its value in the ConfigMap, and the place that refers to the ConfigMap.
    Taken = tuple[str, MarkedTree, MarkedTree]


def whole_config_maps(job: LintedJob, container: LintedContainer) -> Iterator[Taken]:
    """Yield the variables of the ConfigMaps that `envFrom` names."""
    for source in items(container.tree.get("envFrom")):
        if place := source.get("configMapRef", "name"):
            data = job.documents.data_of_config_map(job.given, text(place))
            yield from ((f"{text(source, 'prefix')}{name}", value, place) for name, value in data.items())


def keys_of_config_maps(job: LintedJob, container: LintedContainer) -> Iterator[Taken]:
    """Yield the variables that take their value from a key of a ConfigMap."""
    for name, variable in container.variables:
        reference = variable.get("valueFrom", "configMapKeyRef")
        data = job.documents.data_of_config_map(job.given, text(reference, "name")) if reference else {}
        if reference and (value := data.get(text(reference, "key"))):
            yield name, value, reference
