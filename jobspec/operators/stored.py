"""A job as the API server stores it, which is what its operator sees: nulls dropped, the defaults of the CRD filled in, a name given.

Follows `filled` in validation/defaults.py, with marks; and `rest.FillObjectMetaSystemFields` and `names.SimpleNameGenerator`,
k8s.io/apiserver pkg/registry/rest and pkg/storage/names, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics import Mark
from jobspec.documents.marked_tree import MarkedTree, PlainTree, marked
from jobspec.operators.objects import operator_mark, set_by
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jobspec.documents.document import Document
    from jobspec.schemas.shapes import Shape
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
    data = tree.data()
    return _with_defaults(tree, _filled(data, shape), data, crd)


def _filled(value: Any, shape: Shape) -> Any:
    """The plain data of a value; the same object where there is nothing to fill in and nothing to drop."""
    if isinstance(value, dict):
        if shape.fields is not None:
            return _fields(value, shape, shape.fields)
        if shape.values is not None:
            values = shape.values
            made = {name: _or_default(each, values) for name, each in value.items()}
            made = {name: _filled(each, values) for name, each in made.items() if each is not None or values.nullable}
            return value if len(made) == len(value) and all(made[name] is each for name, each in value.items()) else made
    elif isinstance(value, list) and shape.items is not None:
        items = shape.items
        listed = [_filled(_or_default(each, items), items) for each in value]
        return listed if any(new is not old for new, old in zip(listed, value, strict=True)) else value
    elif isinstance(value, float) and shape.type == "integer":
        return int(value)
    return value


def _or_default(value: Any, shape: Shape) -> Any:
    return shape.default if value is None and not shape.nullable else value


def _fields(value: dict[str, Any], shape: Shape, fields: dict[str, Shape]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    gone = set()
    for name, each in value.items():
        field = fields.get(name)
        if field is None or type(each) is field.plain:
            continue
        if each is None and not field.nullable:
            gone.add(name)
        elif each is not None and (new := _filled(each, field)) is not each:
            changed[name] = new
    absent = {name: _filled(field.default, field) for name, field in shape.defaulted.items() if name not in value or name in gone}
    if not (changed or gone or absent):
        return value
    return {**{name: changed.get(name, each) for name, each in value.items() if name not in gone}, **absent}


def _with_defaults(tree: MarkedTree, made: Any, before: Any, crd: Mark) -> MarkedTree:
    """A tree, whose data was *before*, with the data that is *made* of it: what was not there has the place of the *crd*."""
    if made is before:
        return tree
    if isinstance(made, dict):
        return tree.with_value({name: _inside(tree, name, each, before.get(name), crd) for name, each in made.items()})
    if isinstance(made, list):
        return tree.with_value([_inside(tree, at, each, before[at], crd) for at, each in enumerate(made)])
    return tree.with_value(made)


def _inside(around: MarkedTree, step: str | int, made: Any, before: Any, crd: Mark) -> MarkedTree:
    return set_by(crd, made) if before is None and made is not None else _with_defaults(around.value[step], made, before, crd)


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
