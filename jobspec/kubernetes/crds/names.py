"""Check the group, names, versions and conversion of a CustomResourceDefinition.

Follows `validateCustomResourceDefinitionSpec`, `ValidateCustomResourceDefinitionNames` and `validateAPIApproval`,
k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, 1.36.
"""

from __future__ import annotations

from typing import Any

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problems
from jobspec.go.text_formats import is_uri
from jobspec.go.values import mapping, structs
from jobspec.kubernetes.crds.conversion import conversion_problems
from jobspec.kubernetes.crds.decoding import plain
from jobspec.kubernetes.crds.schema_walk import invalid
from jobspec.kubernetes.crds.versions import column_problems, selectable_problems, subresource_problems
from jobspec.kubernetes.metadata import bad_dns1035_label, bad_subdomain
from jobspec.kubernetes.problems import field_items

_SPEC: Path = ("spec",)
_SCOPES = ("Cluster", "Namespaced")
_PROTECTED = ("k8s.io", "kubernetes.io")
_LONGEST = 63  # characters of a DNS label
_APPROVED = "api-approved.kubernetes.io"


def spec_problems(data: Data, release: str, *, is_new: bool) -> Problems:
    """Yield the problems of a definition, except those of its schemas.

    The name is checked only if the definition *is_new*.
    """
    spec = mapping(data, "spec")
    group = spec.get("group") or ""
    yield from _group(group, data)
    yield from _name_problems(mapping(spec, "names"))
    if is_new and group and mapping(spec, "names").get("plural"):
        yield from _own_name(mapping(data, "metadata"), f"{spec['names']['plural']}.{group}")
    scope = spec.get("scope")
    if scope not in _SCOPES:
        yield invalid((*_SPEC, "scope") if scope else _SPEC, f"`scope` must be one of {', '.join(_SCOPES)}")
    if spec.get("preserveUnknownFields"):
        hint = "write `x-kubernetes-preserve-unknown-fields: true` in the schema"
        yield invalid((*_SPEC, "preserveUnknownFields"), "`preserveUnknownFields` cannot be true", hint)
    yield from _versions(versions_of(data), release)
    yield from conversion_problems(spec.get("conversion"), (*_SPEC, "conversion"))


def _group(group: str, data: Data) -> Problems:
    at: Path = (*_SPEC, "group")
    if not group:
        yield invalid(_SPEC, "`group` is missing: a domain such as `example.com`")
    elif why := bad_subdomain(group):
        yield invalid(at, f"`{group}` is not a group: {why}")
    elif "." not in group:
        yield invalid(at, f"`{group}` is not a group: it must be a domain with a dot")
    if any(group == domain or group.endswith(f".{domain}") for domain in _PROTECTED):
        yield from _approval(mapping(data, "metadata"), group)


def _approval(metadata: Data, group: str) -> Problems:
    annotations = metadata.get("annotations")
    annotation = mapping(annotations).get(_APPROVED) or ""
    path: Path = ("metadata", "annotations") if annotations else ("metadata",)
    if not annotation:
        hint = f"add the annotation `{_APPROVED}`: the URL of the approval, or a reason that starts with `unapproved`"
        yield invalid(path, f"`{group}` belongs to Kubernetes, and a kind in it needs an approval", hint)
    elif not annotation.startswith("unapproved") and not _is_address(annotation):
        message = f"`{annotation}` is not a URL of an approval, and no reason that starts with `unapproved`"
        yield invalid((*path, Key(_APPROVED)), message)


def _is_address(text: str) -> bool:
    from urllib.parse import urlsplit

    return is_uri(text) and bool(urlsplit(text).scheme and urlsplit(text).netloc)


def _name_problems(names: Data) -> Problems:
    at: Path = (*_SPEC, "names")
    kind = names.get("kind") or ""
    yield from (invalid(at, f"`{name}` is missing") for name in ("plural", "kind") if not names.get(name))
    for name in ("plural", "singular", "kind", "listKind"):
        value = names.get(name) or ""
        if value and (why := bad_dns1035_label(value.lower() if name in ("kind", "listKind") else value)):
            yield invalid((*at, name), f"`{value}` is not a valid {name}: {why}")
    if not names.get("listKind") and kind and len(kind) <= _LONGEST < len(f"{kind}List"):
        yield invalid((*at, "kind"), f"`{kind}List`, the kind of a list, has more than {_LONGEST} characters", "give it a `listKind`")
    if kind and names.get("listKind") == kind:
        yield invalid((*at, "listKind"), f"the kind of a list cannot be `{kind}` as well", f"write `{kind}List`")
    for name in ("shortNames", "categories"):
        for place, value in field_items(names, name, at):
            if why := bad_dns1035_label(value or ""):
                yield invalid(place, f"`{value or ''}` is not valid in `{name}`: {why}")


def _own_name(metadata: Data, wanted: str) -> Problems:
    own = metadata.get("name")
    if own and own != wanted:
        message = f"the name must be that of the plural and the group, not `{own}`"
        yield invalid(("metadata", "name"), message, f"write `{wanted}`")
    elif not own and metadata.get("generateName"):
        yield invalid(("metadata", "generateName"), f"the name must be that of the plural and the group: `{wanted}`")


def _versions(versions: list[Data], release: str) -> Problems:
    at: Path = (*_SPEC, "versions")
    stored = [index for index, version in enumerate(versions) if version.get("storage")]
    if len(stored) != 1:
        number = f"{len(stored)} have" if stored else "none has"
        where = (*at, stored[1], "storage") if stored else at if versions else _SPEC
        yield invalid(where, f"exactly one version needs `storage: true`, and {number} it")
    seen: list[str] = []
    for index, version in enumerate(versions):
        name = version.get("name") or ""
        if name and name in seen:
            yield invalid((*at, index, "name"), f"duplicate version `{name}`")
        elif why := bad_dns1035_label(name):
            yield invalid((*at, index, "name") if name else (*at, index), f"`{name}` is not a name of a version: {why}")
        seen.append(name)
        if mapping(version, "schema").get("openAPIV3Schema") is None:
            yield invalid((*at, index), f"the version `{name}` has no schema", "add `schema: {openAPIV3Schema: {type: object}}`, at least")
        yield from _deprecation(version, (*at, index))
    for index, subresources in _each(versions, "subresources"):
        yield from subresource_problems(mapping(subresources), (*at, index, "subresources"))
    for index, listed in _each(versions, "additionalPrinterColumns"):
        yield from column_problems(structs(listed), (*at, index, "additionalPrinterColumns"))
    if is_at_least(release, "1.31"):  # before, the server drops them
        yield from selectable_problems(versions, at)


def _each(versions: list[Data], name: str) -> list[tuple[int, Any]]:
    """Return one field of each version, with the version's index.

    If all versions share the field, return only the first, since it is checked once.
    """
    values = [plain(version.get(name)) for version in versions]
    return list(enumerate(values[:1] if all(value == values[0] for value in values) else values))


def _deprecation(version: Data, path: Path) -> Problems:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    at: Path = (*path, "deprecationWarning")
    if not version.get("deprecated"):
        yield invalid(at, "a warning needs `deprecated: true`")
    if not warning or len(warning.encode()) > 256:
        yield invalid(at, "the warning must have 1 to 256 bytes")
    if any(character != " " and (not character.isprintable() or character.isspace()) for character in warning):
        yield invalid(at, "the warning cannot contain characters that cannot be printed")


def versions_of(data: Data) -> list[Data]:
    """Return the versions of a definition; null equals an empty mapping."""
    return structs(data, "spec", "versions")
