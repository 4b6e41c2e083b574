"""Check a CustomResourceDefinition: its names, versions, columns, conversion and updates.

Follows `ValidateCustomResourceDefinition` and `validateCustomResourceDefinitionValidation`, k8s.io/apiextensions-apiserver
pkg/apis/apiextensions/validation/validation.go, 1.30 to 1.37.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Key, Path, value_at
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.text_formats import CHECKS, is_uri
from jobspec.go.values import mapping, structs, text, texts
from jobspec.kubernetes.cel.paths import place_of, tokens_of
from jobspec.kubernetes.crds.structural import (
    are_alike,
    decode_problems,
    decoded,
    invalid,
    keywords_of,
    plain,
    problems_of_structure,
    status_problems,
)
from jobspec.kubernetes.metadata import bad_dns1035_label, bad_subdomain
from jobspec.kubernetes.problems import describe, field_items
from jobspec.schemas.shapes import Shape

Schema = dict[str, Any]
_SPEC: Path = ("spec",)
_SCHEMA: Path = ("schema", "openAPIV3Schema")


def definition_problems(data: Data, found: list[Problem], shape: Shape, old: Any, release: str) -> list[Problem]:
    """Return the problems of a new definition, or of an update of *old*.

    *found* are the problems of its structure, by its *shape*. If the server cannot decode it, only the reasons for that are reported.
    """
    found = [problem for problem in found if problem.rule != "missing-field"]
    props = shape.at((*_SPEC, "versions", 0, *_SCHEMA))
    assert props
    for path, schema in _schemas(data):
        known = {problem.path for problem in found}
        found += (problem for problem in decode_problems(schema, props, path) if problem.path not in known)
    found += bundle_problems(mapping(data, "spec").get("conversion"), (*_SPEC, "conversion"))
    meta = shape.at(("metadata",))
    assert meta
    return found or [
        *spec_problems(data, release, is_new=old is None),
        *_schema_problems(data, meta, old, release),
        *(update_problems(data, old) if old else ()),
    ]


def _schemas(data: Data) -> Iterator[tuple[Path, Schema]]:
    for index, version in enumerate(versions_of(data)):
        schema = mapping(version, "schema").get("openAPIV3Schema")
        if isinstance(schema, dict):
            yield (*_SPEC, "versions", index, *_SCHEMA), schema


def _schema_problems(data: Data, meta: Shape, old: Data | None, release: str) -> Problems:
    """Yield the problems of the schemas of all versions. A shared schema is checked once.

    If *old* is given, the definition is an update of it.
    """
    versions = versions_of(data)
    stored = {str(version.get("name")): mapping(version, "schema").get("openAPIV3Schema") for version in versions_of(old or {})}
    found = [(path, schema, decoded(schema)) for path, schema in _schemas(data)]
    shared = len(found) == len(versions) and are_alike([made for _, _, made in found])
    with_status = [mapping(version, "subresources").get("status") is not None for version in versions]
    for path, schema, made in found[:1] if shared else found:
        has_status = any(with_status) if shared else with_status[path[2]]  # type: ignore[index]  # the third step is an index
        at_root = list(status_problems(keywords_of(schema), made)) if has_status else []
        reported = {problem.path for problem in at_root}
        before = stored.get(str(versions[path[2]].get("name")))  # type: ignore[index]
        is_stored = before is not None and are_alike([made, decoded(before)])
        inside = (problem for problem in _kept_problems(made, meta, release, is_stored=is_stored) if problem.path not in reported)
        yield from (problem.moved_to((*path, *problem.path)) for problem in (*at_root, *inside))


def _kept_problems(schema: Schema, meta: Shape, release: str, *, is_stored: bool) -> list[Problem]:
    """Return the problems of a schema, and keep them for the next call.

    Repositories hold the same CRD for each release, each a megabyte.
    """
    key = sha256(marshal.dumps(schema)).digest(), release, is_stored
    if key not in _kept:
        _kept[key] = list(_one_schema_problems(schema, meta, release, is_stored=is_stored))
    return _kept[key]


_kept: dict[tuple[bytes, str, bool], list[Problem]] = {}


def _one_schema_problems(schema: Schema, meta: Shape, release: str, *, is_stored: bool) -> Problems:
    """Yield the problems of a schema.

    Defaults are checked if it is structural, rules if the defaults are valid, too.
    """
    found, wrong_at = problems_of_structure(schema)
    yield from found
    if wrong_at is None:
        return
    from jobspec.kubernetes.conditions import checked_by
    from jobspec.kubernetes.crds.rules import rule_problems
    from jobspec.kubernetes.crds.values import default_problems

    checked = checked_by("1.35" if release == "1.34" else release, schema)  # defaults have the formats of names a release earlier
    invalid_defaults = list(default_problems({**checked, "x-kubernetes-embedded-resource": True}, meta))
    yield from invalid_defaults
    if not any(problem.rule == "invalid-crd" for problem in invalid_defaults):
        yield from rule_problems(schema, wrong_at, release, is_stored=is_stored)


# Check the group, names, versions and conversion of a CustomResourceDefinition.
#
# Follows `validateCustomResourceDefinitionSpec`, `ValidateCustomResourceDefinitionNames` and `validateAPIApproval`,
# k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, 1.36.


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


# Check the subresources, printer columns and selectable fields of a CRD's versions.
#
# Follows `ValidateCustomResourceDefinitionSubresources`, `ValidateCustomResourceColumnDefinition` and
# `ValidateCustomResourceSelectableFields`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, 1.36.


_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")
_SCALE = (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",)), ("labelSelectorPath", (".spec.", ".status.")))
_MAX_SELECTABLE = 8


def subresource_problems(subresources: Data, path: Path) -> Problems:
    """Yield the problems of the scale subresource."""
    scale = subresources.get("scale")
    if not isinstance(scale, dict):
        return
    for name, starts in _SCALE:
        value = scale.get(name) or ""
        if not value and name != "labelSelectorPath":
            yield invalid((*path, "scale"), f"the scale subresource needs `{name}`")
        elif value and not value.startswith(starts):
            yield invalid((*path, "scale", name), f"`{value}` must start with {' or '.join(f'`{start}`' for start in starts)}")


def column_problems(columns: Sequence[Data], path: Path) -> Problems:
    """Yield the problems of additional printer columns."""
    for index, column in enumerate(columns):
        at: Path = (*path, index)
        yield from (invalid(at, f"a column needs `{name}`") for name in ("name", "type", "jsonPath") if not column.get(name))
        kind, form, place = column.get("type"), column.get("format"), column.get("jsonPath")
        if kind and kind not in _COLUMN_TYPES:
            yield invalid((*at, "type"), f"`{kind}` is not a type of a column; the types are {', '.join(_COLUMN_TYPES)}")
        if form and form not in _COLUMN_FORMATS:
            yield invalid((*at, "format"), f"`{form}` is not a format of a column; the formats are {', '.join(_COLUMN_FORMATS)}")
        if place and not place.startswith("."):
            yield invalid((*at, "jsonPath"), f"`{place}` must start with a dot", f"write `.{place}`")


def selectable_problems(versions: Sequence[Data], path: Path) -> Problems:
    """Yield the problems of the selectable fields of each version.

    Fields that all versions share are checked once.
    """
    fields = [plain(version.get("selectableFields") or []) for version in versions]
    if not any(fields):
        return
    schemas = [decoded((version.get("schema") or {}).get("openAPIV3Schema")) for version in versions]
    shared = all(each == fields[0] for each in fields)
    fits = shared == are_alike(schemas)
    for index, each in enumerate(fields[:1] if shared else fields):
        at: Path = (*path, index, "selectableFields")
        if each and not fits:
            both = "where they and the schemas are the same in all versions, or differ both"
            yield invalid(at, f"the server accepts selectable fields only {both}")
        elif each:
            yield from _selectable(each, schemas[index], at)


def _selectable(fields: Sequence[dict[str, str]], schema: Data, path: Path) -> Problems:
    seen = set()
    for index, field in enumerate(fields):
        text = field.get("jsonPath", "")
        at: Path = (*path, index, "jsonPath")
        tokens = tokens_of(text) if "[" not in text else None
        place = place_of(tokens, schema) if tokens else None
        if not text:
            yield invalid((*path, index), "a selectable field needs `jsonPath`")
        elif place is None:
            yield invalid(at, f"`{text}` is not a path of a field of the schema")
        else:
            steps, found = place
            if steps[0] == "metadata":
                yield invalid(at, "a selectable field cannot be in metadata")
            if found.get("type") not in ("string", "boolean", "integer"):
                yield invalid(at, f"`{text}` must be a string, an integer or a boolean")
            if text in seen:
                yield invalid(at, f"duplicate `{text}`")
            seen.add(text)
    if len(seen) > _MAX_SELECTABLE:
        yield invalid(path, f"there can be at most {_MAX_SELECTABLE} selectable fields, and {len(seen)} are given")


# Check the conversion between a CRD's versions.
#
# Follows `validateCustomResourceConversion`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, and
# `ValidateWebhookURL`, `ValidateWebhookService`, k8s.io/apiserver pkg/util/webhook/validation.go, 1.36.


_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")


def conversion_problems(conversion: Data | None, path: Path) -> Problems:
    """Yield the problems of `conversion`."""
    if conversion is None:
        return
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook")
    if strategy not in _STRATEGIES:
        yield invalid((*path, "strategy") if strategy else path, f"`strategy` must be one of {', '.join(_STRATEGIES)}")
    if strategy == "Webhook":
        yield from _webhook(webhook or {}, (*path, "webhook") if webhook is not None else path)
    elif webhook is not None and (webhook.get("clientConfig") is not None or webhook.get("conversionReviewVersions")):
        yield invalid((*path, "webhook"), "a webhook needs `strategy: Webhook`")


def bundle_problems(conversion: Any, path: Path) -> Problems:
    """Yield a `caBundle` that cannot be decoded from base64."""
    value = value_at(conversion, ("webhook", "clientConfig", "caBundle"))
    if isinstance(value, str) and (text := value.replace("\r", "").replace("\n", "")) and not CHECKS["byte"](text):
        yield Problem("wrong-format", (*path, "webhook", "clientConfig", "caBundle"), "`caBundle`: expected a base64 string")


def _webhook(webhook: Data, path: Path) -> Problems:
    client = webhook.get("clientConfig")
    url, service = mapping(client).get("url"), mapping(client).get("service")
    place = (*path, "clientConfig")
    if client is None:
        yield invalid(path, "the webhook needs a `clientConfig`")
    elif (url is None) == (service is None):
        yield invalid(place, "the webhook needs either a `url` or a `service`")
    elif url is not None:
        yield from _url(url, (*place, "url"))
    elif service is not None:
        yield from _service(service, (*place, "service"))
    yield from _reviews([each or "" for each in webhook.get("conversionReviewVersions") or ()], path)


def _url(url: str, path: Path) -> Problems:
    from urllib.parse import urlsplit

    parts = urlsplit(url) if is_uri(url) else None
    if parts is None or parts.scheme != "https" or not parts.netloc:
        yield invalid(path, f"`{url}` must be a URL such as `https://example.com/convert`")
    elif "@" in parts.netloc or parts.query or parts.fragment:
        yield invalid(path, "the URL cannot contain a user, a query or a fragment")


def _service(service: Data, path: Path) -> Problems:
    yield from (invalid(path, f"the service needs `{name}`") for name in ("name", "namespace") if not service.get(name))
    port = service.get("port")
    if port is not None and not 0 < port < 1 << 16:
        yield invalid((*path, "port"), f"`{port}` is not a port: they go from 1 to 65535")
    text = service.get("path") or ""
    steps = text[1:].removesuffix("/").split("/")
    if text not in ("", "/") and (not text.startswith("/") or any(not step or bad_subdomain(step) for step in steps)):
        yield invalid((*path, "path"), f"`{text}` is not a path such as `/convert`")


def _reviews(versions: list[str], path: Path) -> Problems:
    if not versions:
        yield invalid(path, "the webhook needs `conversionReviewVersions`", "write `conversionReviewVersions: [v1]`")
        return
    at: Path = (*path, "conversionReviewVersions")
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid((*at, index), f"duplicate `{version}`")
        elif why := bad_dns1035_label(version):
            yield invalid((*at, index), f"`{version}` is not a version: {why}")
    if not set(versions) & set(_REVIEWS):
        yield invalid(at, f"one of {', '.join(_REVIEWS)} must be among them")


# Check the update of a CustomResourceDefinition.
#
# Follows `ValidateCustomResourceDefinitionUpdate`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, 1.36. An
# old definition without status is assumed to be established, with objects stored in its storage version.


_ALWAYS: tuple[Path, ...] = (("spec", "group"), ("spec", "names", "plural"))
_WHEN_ESTABLISHED: tuple[Path, ...] = (("spec", "scope"), ("spec", "names", "kind"))
_BUNDLE: Path = ("spec", "conversion", "webhook", "clientConfig", "caBundle")


def update_problems(data: Data, old: Data) -> Problems:
    """Yield the problems of an update of *old* that a new definition does not have."""
    conditions = [each for each in structs(old, "status", "conditions") if each.get("type") == "Established"]
    is_established = [each.get("status") for each in conditions] == ["True"] or not value_at(old, ("status",))
    for path in (*_ALWAYS, *(_WHEN_ESTABLISHED if is_established else ())):
        value, before = value_at(data, path), value_at(old, path)
        if value and before and value != before:
            message = f"`{path[-1]}` cannot change from {describe(before)} to {describe(value)}"
            yield Problem("immutable-field", path, message, "delete the definition, and with it its objects, or define another kind")
    yield from _stored(data, old)
    bundle, before = value_at(data, _BUNDLE), value_at(old, _BUNDLE)
    if is_established and bundle and not _is_bundle(bundle) and (not before or _is_bundle(before)):
        yield invalid(_BUNDLE, "`caBundle` holds no certificate: expected PEM certificates in base64")


def _stored(data: Data, old: Data) -> Problems:
    stored = texts(mapping(old, "status"), "storedVersions") or [text(each, "name") for each in versions_of(old) if each.get("storage")]
    kept = [each.get("name") for each in versions_of(data)]
    for name in stored:
        if name not in kept:
            message = f"the version `{name}` is missing, in which objects may be stored"
            hint = "keep it with `served: false` until the objects are stored in another one, and `status.storedVersions` says so"
            yield Problem("immutable-field", ("spec", "versions"), message, hint)


def _is_bundle(text: str) -> bool:
    """Whether a base64 text holds certificates in PEM."""
    import ssl
    from base64 import b64decode

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=b64decode(text).decode("ascii"))
    except (ssl.SSLError, ValueError):
        return False
    return True
