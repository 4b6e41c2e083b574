"""Check a CustomResourceDefinition, new or as an update of an old one.

Follows `ValidateCustomResourceDefinition` and `validateCustomResourceDefinitionValidation`, k8s.io/apiextensions-apiserver
pkg/apis/apiextensions/validation/validation.go, 1.30 to 1.37.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.documents.shared_parts import shared
from jobspec.go.values import mapping
from jobspec.kubernetes.crds.decoding import are_alike, decode_problems, decoded, keywords_of
from jobspec.kubernetes.crds.keywords import status_problems
from jobspec.kubernetes.crds.names import spec_problems, versions_of
from jobspec.kubernetes.crds.parts import once_for_each
from jobspec.kubernetes.crds.structural import problems_of_structure
from jobspec.kubernetes.crds.updates import update_problems
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
    schemas = list(_schemas(data))
    for path, schema in schemas:
        known = {problem.path for problem in found}
        found += (problem for problem in decode_problems(schema, path, props) if problem.path not in known)
    meta = shape.at(("metadata",))
    assert meta
    return found or [
        *spec_problems(data, release, is_new=old is None),
        *_schema_problems(data, schemas, meta, old, release),
        *(update_problems(data, old) if old else ()),
    ]


def _schemas(data: Data) -> Iterator[tuple[Path, Schema]]:
    """Yield the schemas of all versions, with their paths. Their equal parts are one value."""
    for index, version in enumerate(versions_of(data)):
        schema = mapping(version, "schema").get("openAPIV3Schema")
        if isinstance(schema, dict):
            yield (*_SPEC, "versions", index, *_SCHEMA), shared(schema)


def _schema_problems(data: Data, schemas: Sequence[tuple[Path, Schema]], meta: Shape, old: Data | None, release: str) -> Problems:
    """Yield the problems of the schemas of all versions. A schema that all versions have is checked once.

    If *old* is given, the definition is an update of it.
    """
    versions = versions_of(data)
    stored = {str(version.get("name")): mapping(version, "schema").get("openAPIV3Schema") for version in versions_of(old or {})}
    found = [(path, schema, decoded(schema)) for path, schema in schemas]
    is_shared = len(found) == len(versions) and are_alike([made for _, _, made in found])
    with_status = [mapping(version, "subresources").get("status") is not None for version in versions]
    for path, schema, made in found[:1] if is_shared else found:
        has_status = any(with_status) if is_shared else with_status[path[2]]  # type: ignore[index]  # the third step is an index
        at_root = list(status_problems(keywords_of(schema), made)) if has_status else []
        reported = {problem.path for problem in at_root}
        before = stored.get(str(versions[path[2]].get("name")))  # type: ignore[index]
        is_stored = before is not None and are_alike([made, decoded(before)])
        inside = (problem for problem in _problems_of_schema(made, meta, release, is_stored=is_stored) if problem.path not in reported)
        yield from (problem.moved_to((*path, *problem.path)) for problem in (*at_root, *inside))


@once_for_each
def _problems_of_schema(schema: Schema, meta: Shape, release: str, *, is_stored: bool) -> list[Problem]:
    """Return the problems of a schema, which repositories often hold in several CRDs, such as one for each release.

    Defaults are checked if it is structural, rules if the defaults are valid, too.
    """
    found, wrong_at = problems_of_structure(schema)
    if wrong_at is None:
        return found
    from jobspec.kubernetes.crds.rules import rule_problems
    from jobspec.kubernetes.crds.values import default_problems
    from jobspec.kubernetes.formats_of_releases import checked_by

    checked = checked_by("1.35" if release == "1.34" else release, schema)  # defaults have the formats of names a release earlier
    invalid_defaults = list(default_problems({**checked, "x-kubernetes-embedded-resource": True}, (), meta))
    found += invalid_defaults
    if not any(problem.rule == "invalid-crd" for problem in invalid_defaults):
        found += rule_problems(schema, wrong_at, release, is_stored=is_stored)
    return found
