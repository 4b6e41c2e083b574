"""The structure of every kind of the operators, whether jobspec has a model of the kind, makes it of PyTorchJob's, or compiled its CRD."""

from __future__ import annotations

from jobspec import models
from jobspec.apis import sibling_kinds
from jobspec.apis.kinds import Kind
from jobspec.apis.releases import RELEASES
from jobspec.models import PyTorchJob
from jobspec.schemas import shapes
from jobspec.schemas.files import sibling_structure
from jobspec.schemas.shapes import SIZES, Shape
from jobspec.schemas.structure import Structure, structure_of


def releases_with(kind: Kind, api_version: str) -> list[str]:
    """Return the known releases of a kind's operator that serve a version of the kind, oldest first."""
    return list(RELEASES[kind.component]) if kind.has_model else shapes.releases(api_version, kind.name)


def structure_of_kind(kind: Kind, api_version: str, release: str) -> Structure:
    """Return the structure of a version of a kind at a release of its operator, which must serve the version."""
    if kind.has_model:
        return structure_of(getattr(models, kind.name), release, api_version.rpartition("/")[2])
    if sibling_kinds.find(api_version, kind.name):
        return sibling_structure(kind.name, structure_of(PyTorchJob, release))
    shape = shapes.load(api_version, kind.name, {kind.component: release})
    assert shape, (api_version, kind.name, release)
    return structure_of_shape(shape)


#: The attributes of a shape that a structure has under the same names.
_SAME = ("type", "name", "required", "format", "pattern", "enum", "minimum", "maximum", "default", "keys", "unique", "merge", "unset")
_SAME_TOO = ("pointer", "one_of", "use", "nullable", "open", "rules", "conditions", "embedded", "meta")


def structure_of_shape(shape: Shape) -> Structure:
    """Return the structure of a compiled shape, which has no descriptions."""
    own = shape.__dict__
    made: Structure = {"description": ""} | {name: own[name] for name in (*_SAME, *_SAME_TOO) if name in own and own[name] is not None}
    if shape.type in SIZES:
        limits = {f"min{SIZES[shape.type]}": shape.least, f"max{SIZES[shape.type]}": shape.most}
        made |= {name: value for name, value in limits.items() if value is not None}
    if shape.fields is not None:
        made["fields"] = {name: structure_of_shape(each) for name, each in shape.fields.items()}
    if shape.values is not None:
        made["values"] = structure_of_shape(shape.values)
    if shape.items is not None:
        made["items"] = structure_of_shape(shape.items)
    return made
