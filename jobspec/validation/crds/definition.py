"""What a server has against a CustomResourceDefinition, once it could be decoded."""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.crds import columns, updates
from jobspec.validation.crds import schema as schemas
from jobspec.validation.crds.conversion import bundle_problems, conversion_problems
from jobspec.validation.crds.decode import are_alike, decode_problems, decoded, keywords_of, plain
from jobspec.validation.crds.places import Place, branches, children, nodes, wrong
from jobspec.validation.crds.structure import patterns_not_checked, structural_problems
from jobspec.validation.metadata import bad_dns1035_label, bad_subdomain
from jobspec.validation.structural import Problem
from jobspec.validation.text_formats import is_uri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape

    Schema = dict[str, Any]

_SPEC: Path = ("spec",)
_SCOPES = ("Cluster", "Namespaced")
_PROTECTED = ("k8s.io", "kubernetes.io")
_LONGEST = 63  # characters of a DNS label
_APPROVED = "api-approved.kubernetes.io"
_SCHEMA: Path = ("schema", "openAPIV3Schema")


def problems(data: dict[str, Any], found: list[Problem], shape: Shape, old: Any = None) -> list[Problem]:
    """What stands against a definition, with *old* as an update of that. What cannot be decoded is all.

    *found* is what its structure, *shape*, has against it.
    """
    found = [problem for problem in found if problem.rule != "missing-field"]
    props = shape.at((*_SPEC, "versions", 0, *_SCHEMA))
    assert props
    for path, schema in _schemas(data):
        known = {problem.path for problem in found}
        found += (problem for problem in decode_problems(schema, props, path) if problem.path not in known)
    found += bundle_problems(_dict(data.get("spec")).get("conversion"), (*_SPEC, "conversion"))
    meta = shape.at(("metadata",))
    assert meta
    return found or [*_definition(data, is_new=old is None), *_of_schemas(data, meta), *(updates.problems(data, old) if old else ())]


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[dict[str, Any]]:
    return [_dict(each) for each in value] if isinstance(value, list) else []


def versions_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The versions of a definition, null as empty."""
    return _list(_dict(data.get("spec")).get("versions"))


def _schemas(data: dict[str, Any]) -> Iterator[tuple[Path, Schema]]:
    for index, version in enumerate(versions_of(data)):
        schema = _dict(version.get("schema")).get("openAPIV3Schema")
        if isinstance(schema, dict):
            yield (*_SPEC, "versions", index, *_SCHEMA), schema


def _definition(data: dict[str, Any], *, is_new: bool) -> Iterator[Problem]:
    spec = _dict(data.get("spec"))
    group = spec.get("group") or ""
    yield from _group(group, data)
    yield from _names(_dict(spec.get("names")))
    if is_new and group and _dict(spec.get("names")).get("plural"):
        yield from _own_name(_dict(data.get("metadata")), f"{spec['names']['plural']}.{group}")
    scope = spec.get("scope")
    if scope not in _SCOPES:
        yield wrong((*_SPEC, "scope") if scope else _SPEC, f"`scope` has to be one of {', '.join(_SCOPES)}")
    if spec.get("preserveUnknownFields"):
        hint = "write `x-kubernetes-preserve-unknown-fields: true` in the schema"
        yield wrong((*_SPEC, "preserveUnknownFields"), "`preserveUnknownFields` cannot be true", hint)
    yield from _versions(versions_of(data))
    yield from conversion_problems(spec.get("conversion"), (*_SPEC, "conversion"))


def _group(group: str, data: dict[str, Any]) -> Iterator[Problem]:
    at: Path = (*_SPEC, "group")
    if not group:
        yield wrong(_SPEC, "`group` is missing: a domain such as `example.com`")
    elif why := bad_subdomain(group):
        yield wrong(at, f"`{group}` is no group: {why}")
    elif "." not in group:
        yield wrong(at, f"`{group}` is no group: it has to be a domain with a dot")
    if any(group == domain or group.endswith(f".{domain}") for domain in _PROTECTED):
        yield from _approval(_dict(data.get("metadata")), group)


def _approval(metadata: dict[str, Any], group: str) -> Iterator[Problem]:
    annotations = metadata.get("annotations")
    annotation = _dict(annotations).get(_APPROVED) or ""
    path: Path = ("metadata", "annotations") if annotations else ("metadata",)
    if not annotation:
        hint = f"add the annotation `{_APPROVED}`: the URL of the approval, or a reason that begins with `unapproved`"
        yield wrong(path, f"`{group}` belongs to Kubernetes, and a kind in it needs an approval", hint)
    elif not annotation.startswith("unapproved") and not _is_address(annotation):
        message = f"`{annotation}` is no URL of an approval, and no reason that begins with `unapproved`"
        yield wrong((*path, Key(_APPROVED)), message)


def _is_address(text: str) -> bool:
    from urllib.parse import urlsplit

    return is_uri(text) and bool(urlsplit(text).scheme and urlsplit(text).netloc)


def _names(names: dict[str, Any]) -> Iterator[Problem]:
    at: Path = (*_SPEC, "names")
    plural, kind = names.get("plural") or "", names.get("kind") or ""
    for name, value in (("plural", plural), ("kind", kind)):
        if not value:
            yield wrong(at, f"`{name}` is missing")
    texts = [("plural", plural), ("singular", names.get("singular") or ""), ("kind", kind), ("listKind", names.get("listKind") or "")]
    for name, value in texts:
        if value and (why := bad_dns1035_label(value.lower() if name in ("kind", "listKind") else value)):
            yield wrong((*at, name), f"`{value}` is no {name}: {why}")
    if not names.get("listKind") and kind and len(kind) <= _LONGEST < len(f"{kind}List"):
        yield wrong((*at, "kind"), f"`{kind}List`, the kind of a list, has more than {_LONGEST} characters", "give it a `listKind`")
    if kind and names.get("listKind") == kind:
        yield wrong((*at, "listKind"), f"the kind of a list cannot be `{kind}` as well", f"write `{kind}List`")
    yield from _further_names(names, at)


def _further_names(names: dict[str, Any], path: Path) -> Iterator[Problem]:
    for name in ("shortNames", "categories"):
        for index, value in enumerate(names.get(name) or ()):
            if why := bad_dns1035_label(value or ""):
                yield wrong((*path, name, index), f"`{value or ''}` cannot stand in `{name}`: {why}")


def _own_name(metadata: dict[str, Any], wanted: str) -> Iterator[Problem]:
    own = metadata.get("name")
    if own and own != wanted:
        message = f"the name has to be that of the plural and the group, not `{own}`"
        yield wrong(("metadata", "name"), message, f"write `{wanted}`")
    elif not own and metadata.get("generateName"):
        yield wrong(("metadata", "generateName"), f"the name has to be that of the plural and the group: `{wanted}`")


def _versions(versions: list[dict[str, Any]]) -> Iterator[Problem]:
    at: Path = (*_SPEC, "versions")
    stored = [index for index, version in enumerate(versions) if version.get("storage")]
    if len(stored) != 1:
        number = f"{len(stored)} have" if stored else "none has"
        where = (*at, stored[1], "storage") if stored else at if versions else _SPEC
        yield wrong(where, f"exactly one version needs `storage: true`, and {number} it")
    seen: list[str] = []
    for index, version in enumerate(versions):
        name = version.get("name") or ""
        if name and name in seen:
            yield wrong((*at, index, "name"), f"the version `{name}` stands twice")
        elif why := bad_dns1035_label(name):
            yield wrong((*at, index, "name") if name else (*at, index), f"`{name}` is no name of a version: {why}")
        seen.append(name)
        if _dict(version.get("schema")).get("openAPIV3Schema") is None:
            yield wrong((*at, index), f"the version `{name}` has no schema", "add `schema: {openAPIV3Schema: {type: object}}`, at least")
        yield from _deprecation(version, (*at, index))
    for index, subresources in _each(versions, "subresources"):
        yield from columns.subresource_problems(_dict(subresources), (*at, index, "subresources"))
    for index, listed in _each(versions, "additionalPrinterColumns"):
        yield from columns.column_problems(_list(listed), (*at, index, "additionalPrinterColumns"))
    yield from columns.selectable_problems(versions, at)


def _each(versions: list[dict[str, Any]], name: str) -> list[tuple[int, Any]]:
    """What the versions say of one thing; what is the same in all of them, the server looks at once."""
    values = [plain(version.get(name)) for version in versions]
    return list(enumerate(values[:1] if all(value == values[0] for value in values) else values))


def _deprecation(version: dict[str, Any], path: Path) -> Iterator[Problem]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    at: Path = (*path, "deprecationWarning")
    if not version.get("deprecated"):
        yield wrong(at, "a warning needs `deprecated: true`")
    if not warning or len(warning.encode()) > 256:
        yield wrong(at, "the warning has to have 1 to 256 bytes")
    if any(character != " " and (not character.isprintable() or character.isspace()) for character in warning):
        yield wrong(at, "the warning cannot hold characters that cannot be printed")


def _of_schemas(data: dict[str, Any], meta: Shape) -> Iterator[Problem]:
    """What stands against the schemas; one that all versions share, the server looks at once."""
    versions = versions_of(data)
    found = [(path, schema, decoded(schema)) for path, schema in _schemas(data)]
    shared = len(found) == len(versions) and are_alike([made for _, _, made in found])
    with_status = [_dict(version.get("subresources")).get("status") is not None for version in versions]
    for path, schema, made in found[:1] if shared else found:
        is_beside = any(with_status) if shared else with_status[path[2]]  # type: ignore[index]  # the third step is an index
        beside = list(schemas.beside_status(keywords_of(schema), made)) if is_beside else []
        told = {problem.path for problem in beside}
        yield from (_at(problem, path) for problem in beside)
        yield from (_at(problem, path) for problem in schema_problems(made, meta) if problem.path not in told)


def _at(problem: Problem, path: Path) -> Problem:
    return Problem(problem.rule, (*path, *problem.path), problem.message, problem.hint, at_key=problem.at_key)


def schema_problems(schema: Schema, meta: Shape) -> Iterator[Problem]:
    """What stands against a schema; its defaults are looked at where it is structural, its rules where those fit.

    A server tells that it cannot read a schema as a structural one only where it has nothing else to say.
    """
    found = list(_everywhere(schema, (), Place(is_root=True)))
    readable = all(schemas.is_readable(node) for node, _ in nodes(schema))
    yield from found or schemas.draft_problems(schema)
    yield from patterns_not_checked(schema)
    structure = list(structural_problems(schema)) if readable else []
    told = {(problem.path, problem.message) for problem in found}
    yield from (problem for problem in structure if (problem.path, problem.message) not in told)
    if not readable or structure:
        return
    from jobspec.validation.crds import defaults, rules

    unfit = list(defaults.problems({**schema, "x-kubernetes-embedded-resource": True}, meta))
    yield from unfit
    if not any(problem.rule == "invalid-crd" for problem in unfit):
        yield from rules.problems(schema, [problem.path for problem in found])


def _everywhere(schema: Schema, path: Path, place: Place) -> Iterator[Problem]:
    yield from schemas.node_problems(schema, path, place)
    for child, at, inside in children(schema, path, place):
        yield from _everywhere(child, at, inside)
    for branch, at in branches(schema, path):
        yield from _everywhere(branch, at, place.inside())
