"""The objects that operators create, as trees of values with their places: stored by the API server, or sent by Go programs.

The place of a value that an operator sets is the operator, not a line of a file. A number that a server takes may be more than anybody
could read, or a machine hold.
"""

from __future__ import annotations

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import (
    MarkedTree,
    PlainTree,
    changed,
    each_item,
    field_value,
    items,
    marked,
    set_by,
    with_data,
    with_fields,
    with_mappings,
    with_missing,
)
from jobspec.go.codec import decode_as_go, encode_as_go
from jobspec.kubernetes.structural import filled
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from jobspec.apis.releases import Target


MOST = 100_000


class Expansion(Record):
    """The objects that an operator creates for one job, and the diagnostics of what it does not create."""

    objects: Sequence[MarkedTree] = ()
    """Whole objects, with `apiVersion`, `kind`, `metadata` and `spec`; those that a server may refuse are there, too."""
    diagnostics: Sequence[Diagnostic] = ()
    counts: Mapping[str, int] = {}
    """The number of pods of each role: replica types in small letters, replicated jobs by name, the role of a Job without one."""


def indices(count: int, what: str, *, first_and_last_only: bool = False) -> Iterable[int]:
    """The numbers of *count* objects, from 0. *first_and_last_only*: the first and the last alone, which stand for all between.

    Raises JobspecError as `at_most` does, unless only the ends are wanted.
    """
    if first_and_last_only:
        return range(count) if count < 3 else (0, count - 1)
    return range(at_most(count, what))


def at_most(number: int, what: str) -> int:
    """A number of objects, where they are few enough. Raises JobspecError otherwise; *what*: such as ``pods of Job `a` ``."""
    if number > MOST:
        raise JobspecError(f"{number} {what} are too many to expand: the limit is {MOST}")
    return number


def operator_mark(operator: str, release: str) -> Mark:
    """The place of what an operator of a release sets itself, such as `training-operator 1.9.4`."""
    return Mark(f"{operator} {release}")


def owner_references(operator: Mark, api_version: str, kind: str, name: MarkedTree) -> MarkedTree:
    """The owner references of what an operator makes for an object, which it controls."""
    owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": UID, "controller": True, "blockOwnerDeletion": True}
    return set_by(operator, [owner])


# Lists whose items the trainer distinguishes by some of their fields.


#: The fields by which the trainer identifies the items of a list: two items count as one if any of these is equal or absent in both.
IDENTITIES: Mapping[str, tuple[str, ...]] = {
    "env": ("name",),
    "ports": ("containerPort", "name"),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}


def with_items(tree: MarkedTree, name: str, new: Iterable[MarkedTree]) -> MarkedTree:
    """A mapping with items in its list *name*: each replaces the first with the same identity, or is added at the end."""
    found = list(new)
    if not found:
        return tree
    old = tree.value.get(name)
    kept = items(old)
    known = [_identifying_keys(each, name) for each in kept]
    for item in found:
        own = _identifying_keys(item, name)
        at = next((index for index, each in enumerate(known) if not each.isdisjoint(own)), len(kept))
        kept[at : at + 1] = [item]
        known[at : at + 1] = [own]
    return tree.with_value({**tree.value, name: (old or found[0]).with_value(kept)})


def _identifying_keys(item: MarkedTree, name: str) -> set[tuple[str, Any]]:
    """The keys that identify an item of a list: items that share one of these count as the same."""
    return {(field, field_value(item, field)) for field in IDENTITIES[name]}


# A job as the API server stores it, which is what its operator sees: nulls dropped, the defaults of the CRD filled in, a name given.
#
# Follows `rest.FillObjectMetaSystemFields` and `names.SimpleNameGenerator`,
# k8s.io/apiserver pkg/registry/rest and pkg/storage/names, 1.36.


RANDOM = "<random>"
"""What stands for a text that a cluster makes up."""
UID = "<uid>"
"""What stands for an object's uid."""
SHA1 = "<sha1>"
"""What stands for a hash of a name and a namespace."""
REVISION = "<revision>"
"""What stands for the hash of a revision of a pod template."""
MINUTES = "<minutes>"
"""What stands for a time in minutes since 1970, by which a CronJob numbers its Jobs."""
NAMESPACE = "default"
"""Where an object is that names no namespace."""
TIME = "<time>"
"""What stands for a moment."""
_MADE_UP = {
    RANDOM: "x" * 5,
    UID: "00000000-0000-0000-0000-000000000000",
    SHA1: "0" * 40,
    REVISION: "x" * 10,
    MINUTES: "0" * 8,
    TIME: "1970-01-01T00:00:00Z",
}


def stored(document: Document, target: Target) -> MarkedTree:
    """The document as its operator sees it, where a server accepts it."""
    shape = shapes.part(document.api_version, document.kind, target)
    tree = with_crd_defaults(marked(document), shape, Mark(f"the CRD of {document.kind}"))
    return _created(tree, target)


def as_sent(document: Document, target: Target) -> MarkedTree:
    """Return the document of a built-in kind as Go decodes it.

    The result has a name and a namespace, but not the defaults of its type.
    """
    shape, tree = shapes.part(document.api_version, document.kind, target), marked(document)
    return _created(with_data(tree, decode_as_go(document.data, shape), tree.mark), target)


def _created(tree: MarkedTree, target: Target) -> MarkedTree:
    """An object with the metadata that a server gives a new one."""
    return tree.with_value({**tree.value, "metadata": _created_metadata(tree.value["metadata"], api_server(target))})


def with_crd_defaults(tree: MarkedTree, shape: Shape, crd: Mark) -> MarkedTree:
    """A value of a custom resource without its nulls, and with its defaults, whose place is the *crd*; a server refuses unknown fields."""
    return with_data(tree, filled(tree.data(), shape, prune=False), crd)


def with_generated_names(tree: MarkedTree) -> Any:
    """Return the plain data of an object, with texts in place of its placeholders.

    The placeholders stand for generated names, UIDs and hashes. The texts have the right length.
    """
    if isinstance(tree, PlainTree):
        return tree.plain  # as somebody wrote it
    data = tree.value
    if type(data) is str:
        return _named(data) if "<" in data else data
    if isinstance(data, dict):
        return {name: with_generated_names(each) for name, each in data.items()}
    return [with_generated_names(each) for each in data] if isinstance(data, list) else data


def _named(text: str) -> str:
    for sign, made_up in _MADE_UP.items():
        text = text.replace(sign, made_up)
    return text


def api_server(target: Target) -> Mark:
    """The place of what the API server fills in."""
    return operator_mark("kube-apiserver", target["kubernetes"])


def _created_metadata(metadata: MarkedTree, server: Mark) -> MarkedTree:
    given = metadata.value
    prefix = given.get("generateName")
    name = given.get("name") or (prefix and prefix.with_value(f"{prefix.value}{RANDOM}"))
    space = given["namespace"] if "namespace" in given and given["namespace"].value else MarkedTree(NAMESPACE, server)
    return metadata.with_value({**given, **({"name": name} if name else {}), "namespace": space})


# A value as operators written in Go send it (`encode_as_go`), with its marks.


def as_go_writes(tree: MarkedTree, shape: Shape | None) -> MarkedTree:
    """A value of a *shape* in its canonical form."""
    return with_data(tree, encode_as_go(tree.data(), shape), tree.mark)


# How the trainer writes what it sends: a JobSet's spec, which has some objects always, even empty ones, and variables, which lose some.
#
# Follows the types of k8s.io/api batch/v1 and core/v1, 0.32 to 0.36, and of JobSet 0.8.2 to 0.12.0; and `FromTypedObjWithFields`, `EnvVar`
# and `UpsertEnvVars`, github.com/kubeflow/trainer pkg/apply, 2.0.0 to 2.3.0.


#: The sources of a variable that the trainer knows -> the fields that it copies, with what it writes where they are absent.
_SOURCES: Mapping[str, Mapping[str, str | None]] = {
    "fieldRef": {"fieldPath": ""},
    "resourceFieldRef": {"containerName": "", "resource": "", "divisor": "0"},
    "configMapKeyRef": {"key": "", "name": "", "optional": None},
    "secretKeyRef": {"key": "", "name": "", "optional": None},
}


def as_typed(spec: MarkedTree, shape: Shape) -> MarkedTree:
    """The spec of a JobSet in Go's form."""
    written = as_go_writes(spec, shape)
    written = each_item(written, "replicatedJobs", _replicated_job)
    parts = (("metadata",), ("status",), ("spec", "resources"))
    return each_item(written, "volumeClaimPolicies", lambda each: each_item(each, "templates", lambda claim: with_mappings(claim, *parts)))


def as_applied(tree: MarkedTree) -> MarkedTree:
    """A value without its empty lists, even those of required fields: an apply configuration cannot distinguish them from absent ones."""
    if isinstance(tree.value, list):
        return tree.with_value(list(map(as_applied, tree.value)))
    if not isinstance(tree.value, dict):
        return tree
    return tree.with_value({name: as_applied(each) for name, each in tree.value.items() if each.value != []})


def _replicated_job(replicated: MarkedTree) -> MarkedTree:
    replicated = with_mappings(replicated, ("template", "metadata"))
    return changed(
        replicated, ("template", "spec", "template"), lambda each: changed(with_mappings(each, ("metadata",)), ("spec",), with_structs)
    )


def with_structs(spec: MarkedTree) -> MarkedTree:
    """A pod's spec with the objects that Go's types write even if these are empty."""
    for name in ("containers", "initContainers"):
        spec = each_item(spec, name, lambda container: each_item(with_mappings(container, ("resources",)), "env", _with_divisor))
    return each_item(spec, "volumes", _volume)


def _with_divisor(variable: MarkedTree) -> MarkedTree:
    path = ("valueFrom", "resourceFieldRef")
    source = variable.get(*path)
    return changed(variable, path, lambda each: with_missing(each, {"divisor": "0"}, each.mark)) if source else variable


def _volume(volume: MarkedTree) -> MarkedTree:
    template = ("ephemeral", "volumeClaimTemplate")
    return with_mappings(volume, (*template, "metadata"), (*template, "spec", "resources")) if volume.get(*template) else volume


def with_variables(container: MarkedTree, variables: MarkedTree | None) -> MarkedTree:
    """A container with a TrainJob's variables; one without a value has the empty text."""
    return with_items(container, "env", map(_copied, items(variables)))


def _copied(given: MarkedTree) -> MarkedTree:
    """A variable of a TrainJob as the trainer writes it: a source hides its value, and of sources it knows four."""
    source, empty = given.get("valueFrom"), given.with_value("")
    own = source.with_value(_env_source(source)) if source else None
    fields = {"valueFrom": own, "value": None if source else given.get("value") or empty}
    return with_fields(given.with_value({"name": given.get("name") or empty}), fields)  # a webhook adds absent names


def _env_source(source: MarkedTree) -> dict[str, MarkedTree]:
    found = {}
    for name, fields in _SOURCES.items():
        given = source.get(name)
        if given:
            always = {field: given.with_value(empty) for field, empty in fields.items() if empty is not None}
            own = {field: child for field in fields if (child := given.get(field))}
            found[name] = given.with_value({**always, **own})
    return found
