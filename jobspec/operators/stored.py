"""A job as the API server stores it, which is what its operator sees: nulls dropped, the defaults of the CRD filled in, a name given.

Follows `filled` in validation/defaults.py, with marks; and `rest.FillObjectMetaSystemFields` and `names.SimpleNameGenerator`,
k8s.io/apiserver pkg/registry/rest and pkg/storage/names, 1.36.
"""

from __future__ import annotations

from jobspec import shapes
from jobspec.diagnostics import Mark
from jobspec.operators.marks import operator_mark, set_by
from jobspec.overlays.marked_tree import MarkedTree, PlainTree, marked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.shapes import Shape
    from jobspec.targets import Target

RANDOM = "<random>"
"""What stands for a text that a cluster makes up."""
UID = "<uid>"
"""What stands for an object's uid."""
SHA1 = "<sha1>"
"""What stands for a hash of a name and a namespace."""
NAMESPACE = "default"
"""Where an object is that names no namespace."""
_MADE_UP = {RANDOM: "x" * 5, UID: "00000000-0000-0000-0000-000000000000", SHA1: "0" * 40}


def stored(document: Document, target: Target) -> MarkedTree:
    """The document as its operator sees it, where a server accepts it."""
    shape = shapes.load(document.api_version, document.kind, target)
    assert shape
    tree = filled(marked(document), shape, Mark(f"the CRD of {document.kind}"))
    return tree.with_value({**tree.value, "metadata": _metadata(tree.value["metadata"], api_server(target))})


def filled(tree: MarkedTree, shape: Shape, crd: Mark) -> MarkedTree:
    """A value of a custom resource without its nulls, and with its defaults, whose place is the *crd*."""
    if isinstance(tree, PlainTree) and _is_filled(tree.plain, shape):
        return tree
    if isinstance(tree.value, dict):
        if shape.fields is not None:
            return tree.with_value(_fields(tree.value, shape, crd))
        if shape.values is not None:
            values = shape.values
            made = {name: _or_default(inner, values, crd) for name, inner in tree.value.items()}
            return tree.with_value({n: filled(each, values, crd) for n, each in made.items() if each.value is not None or values.nullable})
    elif isinstance(tree.value, list) and shape.items is not None:
        items = shape.items
        return tree.with_value([filled(_or_default(item, items, crd), items, crd) for item in tree.value])
    elif isinstance(tree.value, float) and shape.type == "integer":
        return tree.with_value(int(tree.value))
    return tree


def _is_filled(value: Any, shape: Shape) -> bool:
    """Whether a value is without nulls, has all its defaults, and no number that is to be a whole one."""
    if isinstance(value, dict):
        if shape.fields is None:
            values = shape.values
            return values is None or all(each is not None and _is_filled(each, values) for each in value.values())
        fields = shape.fields
        for name, each in value.items():
            field = fields.get(name)
            if field is not None and type(each) is not field.plain and (each is None or not _is_filled(each, field)):
                return False
        return shape.defaulted.keys() <= value.keys()
    if isinstance(value, list) and shape.items is not None:
        items = shape.items
        return all(each is not None and _is_filled(each, items) for each in value)
    return not isinstance(value, float) or shape.type != "integer"


def _or_default(tree: MarkedTree, shape: Shape, crd: Mark) -> MarkedTree:
    return set_by(crd, shape.default) if tree.value is None and not shape.nullable else tree


def _fields(value: dict[str, MarkedTree], shape: Shape, crd: Mark) -> dict[str, MarkedTree]:
    assert shape.fields is not None
    made: dict[str, MarkedTree] = {}
    for name, child in value.items():
        field = shape.fields.get(name)
        if field is None:
            made[name] = child
        elif child.value is not None:
            made[name] = filled(child, field, crd)
        elif field.nullable:
            made[name] = child
    for name, field in shape.defaulted.items():
        if name not in made:
            made[name] = filled(set_by(crd, field.default), field, crd)
    return made


def as_a_cluster_names(tree: MarkedTree) -> Any:
    """The plain data of an object, with texts as a cluster makes them up in place of what stands for them: as long as they will be."""
    if isinstance(tree, PlainTree):
        return tree.plain  # as somebody wrote it
    data = tree.value
    if type(data) is str:
        return _named(data) if "<" in data else data
    if isinstance(data, dict):
        return {name: as_a_cluster_names(each) for name, each in data.items()}
    return [as_a_cluster_names(each) for each in data] if isinstance(data, list) else data


def _named(text: str) -> str:
    for sign, made_up in _MADE_UP.items():
        text = text.replace(sign, made_up)
    return text


def api_server(target: Target) -> Mark:
    """The place of what the API server fills in."""
    return operator_mark("kube-apiserver", target["kubernetes"])


def _metadata(metadata: MarkedTree, server: Mark) -> MarkedTree:
    given = metadata.value
    prefix = given.get("generateName")
    name = given.get("name") or (prefix and prefix.with_value(f"{prefix.value}{RANDOM}"))
    space = given["namespace"] if "namespace" in given and given["namespace"].value else MarkedTree(NAMESPACE, server)
    return metadata.with_value({**given, **({"name": name} if name else {}), "namespace": space})
