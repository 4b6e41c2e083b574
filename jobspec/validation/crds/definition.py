"""What a server has against a CustomResourceDefinition, once it could be decoded."""

from __future__ import annotations

from jobspec.diagnostics import Key
from jobspec.validation.crds import columns
from jobspec.validation.crds import schema as schemas
from jobspec.validation.crds.conversion import conversion_problems
from jobspec.validation.crds.decode import decode_problems, decoded
from jobspec.validation.metadata import bad_dns1035_label, bad_subdomain
from jobspec.validation.structural import Problem

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


def problems(data: dict[str, Any], found: list[Problem], shape: Shape) -> list[Problem]:
    """What stands against a definition; *found* is what its structure, *shape*, has against it. What cannot be decoded is all."""
    found = [problem for problem in found if problem.rule != "missing-field"]
    props = shape.at((*_SPEC, "versions", 0, *_SCHEMA))
    assert props
    for path, schema in _schemas(data):
        known = {problem.path for problem in found}
        found += (problem for problem in decode_problems(schema, props, path) if problem.path not in known)
    return found or [*_definition(data), *_of_schemas(data)]


def _wrong(path: Path, message: str, hint: str = "") -> Problem:
    return Problem("invalid-crd", path, message, hint)


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


def _definition(data: dict[str, Any]) -> Iterator[Problem]:
    spec = _dict(data.get("spec"))
    group = spec.get("group") or ""
    yield from _group(group, data)
    yield from _names(_dict(spec.get("names")), group, data)
    scope = spec.get("scope")
    if scope not in _SCOPES:
        yield _wrong((*_SPEC, "scope") if scope else _SPEC, f"`scope` has to be one of {', '.join(_SCOPES)}")
    if spec.get("preserveUnknownFields"):
        hint = "write `x-kubernetes-preserve-unknown-fields: true` in the schema"
        yield _wrong((*_SPEC, "preserveUnknownFields"), "`preserveUnknownFields` cannot be true", hint)
    yield from _versions(versions_of(data))
    yield from conversion_problems(spec.get("conversion"), (*_SPEC, "conversion"))


def _group(group: str, data: dict[str, Any]) -> Iterator[Problem]:
    at: Path = (*_SPEC, "group")
    if not group:
        yield _wrong(_SPEC, "`group` is missing: a domain such as `example.com`")
    elif why := bad_subdomain(group):
        yield _wrong(at, f"`{group}` is no group: {why}")
    elif "." not in group:
        yield _wrong(at, f"`{group}` is no group: it has to be a domain with a dot")
    if any(group == domain or group.endswith(f".{domain}") for domain in _PROTECTED):
        yield from _approval(_dict(_dict(data.get("metadata")).get("annotations")).get(_APPROVED) or "", group)


def _approval(annotation: str, group: str) -> Iterator[Problem]:
    from urllib.parse import urlsplit

    if annotation.startswith("unapproved"):
        return
    if not annotation:
        hint = f"add the annotation `{_APPROVED}`: the URL of the approval, or a reason that begins with `unapproved`"
        yield _wrong((*_SPEC, "group"), f"`{group}` belongs to Kubernetes, and a kind in it needs an approval", hint)
    elif not (urlsplit(annotation).scheme and urlsplit(annotation).netloc):
        path = ("metadata", "annotations", Key(_APPROVED))
        yield _wrong(path, f"`{annotation}` is no URL of an approval, and no reason that begins with `unapproved`")


def _names(names: dict[str, Any], group: str, data: dict[str, Any]) -> Iterator[Problem]:
    at: Path = (*_SPEC, "names")
    plural, kind = names.get("plural") or "", names.get("kind") or ""
    for name, value in (("plural", plural), ("kind", kind)):
        if not value:
            yield _wrong(at, f"`{name}` is missing")
    texts = [("plural", plural), ("singular", names.get("singular") or ""), ("kind", kind), ("listKind", names.get("listKind") or "")]
    for name, value in texts:
        if value and (why := bad_dns1035_label(value.lower() if name in ("kind", "listKind") else value)):
            yield _wrong((*at, name), f"`{value}` is no {name}: {why}")
    if not names.get("listKind") and kind and len(kind) < _LONGEST < len(f"{kind}List"):
        yield _wrong((*at, "kind"), f"`{kind}List`, the kind of a list, has more than {_LONGEST} characters", "give it a `listKind`")
    if kind and names.get("listKind") == kind:
        yield _wrong((*at, "listKind"), f"the kind of a list cannot be `{kind}` as well", f"write `{kind}List`")
    yield from _further_names(names, at)
    if plural and group:
        yield from _own_name(_dict(data.get("metadata")), f"{plural}.{group}")


def _further_names(names: dict[str, Any], path: Path) -> Iterator[Problem]:
    for name in ("shortNames", "categories"):
        for index, value in enumerate(names.get(name) or ()):
            if why := bad_dns1035_label(value or ""):
                yield _wrong((*path, name, index), f"`{value or ''}` cannot stand in `{name}`: {why}")


def _own_name(metadata: dict[str, Any], wanted: str) -> Iterator[Problem]:
    own = metadata.get("name")
    if own and own != wanted:
        message = f"the name has to be that of the plural and the group, not `{own}`"
        yield _wrong(("metadata", "name"), message, f"write `{wanted}`")
    elif not own and metadata.get("generateName"):
        yield _wrong(("metadata", "generateName"), f"the name has to be that of the plural and the group: `{wanted}`")


def _versions(versions: list[dict[str, Any]]) -> Iterator[Problem]:
    at: Path = (*_SPEC, "versions")
    stored = [index for index, version in enumerate(versions) if version.get("storage")]
    if len(stored) != 1:
        number = f"{len(stored)} have" if stored else "none has"
        where = (*at, stored[1], "storage") if stored else at if versions else _SPEC
        yield _wrong(where, f"exactly one version needs `storage: true`, and {number} it")
    seen: list[str] = []
    for index, version in enumerate(versions):
        name = version.get("name") or ""
        if name in seen:
            yield _wrong((*at, index, "name"), f"the version `{name}` stands twice")
        elif why := bad_dns1035_label(name):
            yield _wrong((*at, index, "name") if name else (*at, index), f"`{name}` is no name of a version: {why}")
        seen.append(name)
        if _dict(version.get("schema")).get("openAPIV3Schema") is None:
            yield _wrong((*at, index), f"the version `{name}` has no schema", "add `schema: {openAPIV3Schema: {type: object}}`, at least")
        yield from _deprecation(version, (*at, index))
        yield from columns.subresource_problems(_dict(version.get("subresources")), (*at, index, "subresources"))
        yield from columns.column_problems(_list(version.get("additionalPrinterColumns")), (*at, index, "additionalPrinterColumns"))
    yield from columns.selectable_problems(versions, at)


def _deprecation(version: dict[str, Any], path: Path) -> Iterator[Problem]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    at: Path = (*path, "deprecationWarning")
    if not version.get("deprecated"):
        yield _wrong(at, "a warning needs `deprecated: true`")
    if not warning or len(warning.encode()) > 256:
        yield _wrong(at, "the warning has to have 1 to 256 bytes")
    if any(character != " " and (not character.isprintable() or character.isspace()) for character in warning):
        yield _wrong(at, "the warning cannot hold characters that cannot be printed")


def _of_schemas(data: dict[str, Any]) -> Iterator[Problem]:
    """What stands against the schemas; one that all versions share, the server looks at once."""
    versions = versions_of(data)
    schemas = [(path, decoded(schema)) for path, schema in _schemas(data)]
    shared = len(schemas) == len(versions) and all(schema == schemas[0][1] for _, schema in schemas)
    with_status = [_dict(version.get("subresources")).get("status") is not None for version in versions]
    for path, schema in schemas[:1] if shared else schemas:
        has_status = any(with_status) if shared else with_status[path[2]]  # type: ignore[index]  # the third step is an index
        yield from (_at(problem, path) for problem in schema_problems(schema, has_status=has_status))


def _at(problem: Problem, path: Path) -> Problem:
    return Problem(problem.rule, (*path, *problem.path), problem.message, problem.hint, at_key=problem.at_key)


def schema_problems(schema: Schema, *, has_status: bool) -> Iterator[Problem]:
    """What stands against a schema: first its structure; its defaults and rules where that is right."""
    found = [*schemas.root_problems(schema, has_status=has_status), *_everywhere(schema, (), schemas.Place(is_root=True))]
    if not any(keyword in schema for keyword in ("definitions", "patternProperties")):
        found += [*schemas.structure_problems(schema, ()), *schemas.completeness_problems(schema)]
    yield from found
    if not found:
        from jobspec.validation.crds import defaults, rules

        yield from defaults.problems({**schema, "x-kubernetes-embedded-resource": True})
        yield from rules.problems(schema)


def _everywhere(schema: Schema, path: Path, place: schemas.Place) -> Iterator[Problem]:
    yield from schemas.node_problems(schema, path, place)
    for child, at, inside in schemas.children(schema, path, place):
        yield from _everywhere(child, at, inside)
    for branch, at in schemas.branches(schema, path):
        yield from _everywhere(branch, at, place.inside())
