"""What the label selectors of a pod's placement choose among the pods of its own job.

Operators label their pods in words of their own, so that the same selector may choose other pods after a migration.
"""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.migration.facts import Fact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.migration.facts import Key
    from jobspec.migration.nodes import JobNode

#: The label with the name of the job, by who writes it.
OLD_NAME, NEW_NAME = "training.kubeflow.org/job-name", "jobset.sigs.k8s.io/jobset-name"
_THE_NAME = "<label with the job's name>"
_FIELDS = ("affinity", "topologySpreadConstraints")


def selector_facts(node: JobNode, nodes: Sequence[JobNode]) -> Iterator[tuple[Key, Fact]]:
    """For each label selector that places a pod, the nodes of its own job that it chooses."""
    spec = node.pod.tree.value["spec"]
    found = [each for field in _FIELDS if field in spec.value for each in _selectors(spec.value[field])]
    for number, selector in enumerate(found):
        chosen = [each.name for each in nodes if _matches(selector, _labels(each))]
        yield (node.name, "pod", f"labelSelector {number}"), Fact(chosen, selector.place())


def _selectors(tree: MarkedTree) -> Iterator[MarkedTree]:
    for name, child in tree.value.items() if isinstance(tree.value, dict) else ():
        if name == "labelSelector":
            yield child
        else:
            yield from _selectors(child)
    for child in items(tree):
        yield from _selectors(child)


def _labels(node: JobNode) -> dict[str, str]:
    return {name: str(each.value) for name, each in node.pod.tree.value["metadata"].entries("labels")}


def _matches(selector: MarkedTree, labels: Mapping[str, str]) -> bool:
    wanted = all(labels.get(name) == str(each.value) for name, each in selector.entries("matchLabels"))
    return wanted and all(_fits(each.data(), labels) for each in items(selector.get("matchExpressions")))


def _fits(expression: dict[str, object], labels: Mapping[str, str]) -> bool:
    key, operator, values = str(expression["key"]), expression["operator"], expression.get("values") or []
    assert isinstance(values, list)
    if operator in ("Exists", "DoesNotExist"):
        return (key in labels) == (operator == "Exists")
    return (labels.get(key) in values) == (operator == "In")


def with_neutral_names(tree: MarkedTree) -> MarkedTree:
    """A pod's spec in which selectors call the label with the job's name the same, whichever operator writes it."""
    return _renamed(tree, dict.fromkeys((OLD_NAME, NEW_NAME), _THE_NAME))


def with_new_names(tree: MarkedTree) -> MarkedTree:
    """A pod's spec in which selectors use JobSet's label for the job's name in place of training-operator's."""
    return _renamed(tree, {OLD_NAME: NEW_NAME})


def _renamed(tree: MarkedTree, names: Mapping[str, str]) -> MarkedTree:
    if isinstance(tree.value, list):
        return tree.with_value([_renamed(each, names) for each in tree.value])
    if not isinstance(tree.value, dict):
        return tree
    return tree.with_value({name: _in_field(name, each, names) for name, each in tree.value.items()})


def _in_field(name: str, tree: MarkedTree, names: Mapping[str, str]) -> MarkedTree:
    if name == "matchLabels":
        return tree.with_value({names.get(key, key): each for key, each in tree.value.items()})
    if name == "matchExpressions":
        return tree.with_value([_expression(each, names) for each in items(tree)])
    return _renamed(tree, names)


def _expression(tree: MarkedTree, names: Mapping[str, str]) -> MarkedTree:
    key = tree.value["key"]
    return tree.with_value({**tree.value, "key": key.with_value(names.get(key.value, key.value))})
