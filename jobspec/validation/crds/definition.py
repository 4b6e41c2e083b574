"""Check a CustomResourceDefinition.

Follows `ValidateCustomResourceDefinition` and `validateCustomResourceDefinitionValidation`, k8s.io/apiextensions-apiserver
pkg/apis/apiextensions/validation/validation.go, 1.36.
"""

from __future__ import annotations

from jobspec.validation.crds.conversion import bundle_problems
from jobspec.validation.crds.decode import are_alike, decode_problems, decoded, keywords_of
from jobspec.validation.crds.openapi_schema import draft_problems, is_readable, node_problems, status_problems
from jobspec.validation.crds.schema_nodes import SchemaContext, branches, children, nodes
from jobspec.validation.crds.spec import spec_problems, versions_of
from jobspec.validation.crds.structure import patterns_not_checked, structural_problems
from jobspec.validation.crds.updates import update_problems
from jobspec.validation.problem import Problem
from jobspec.validation.reading import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path
    from jobspec.shapes import Shape

    Schema = dict[str, Any]

_SPEC: Path = ("spec",)
_SCHEMA: Path = ("schema", "openAPIV3Schema")


def definition_problems(data: dict[str, Any], found: list[Problem], shape: Shape, old: Any) -> list[Problem]:
    """The problems of a definition, as an update of *old* unless that is None.

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
    return found or [*spec_problems(data, is_new=old is None), *_schema_problems(data, meta), *(update_problems(data, old) if old else ())]


def _schemas(data: dict[str, Any]) -> Iterator[tuple[Path, Schema]]:
    for index, version in enumerate(versions_of(data)):
        schema = mapping(version, "schema").get("openAPIV3Schema")
        if isinstance(schema, dict):
            yield (*_SPEC, "versions", index, *_SCHEMA), schema


def _schema_problems(data: dict[str, Any], meta: Shape) -> Iterator[Problem]:
    """The problems of the schemas of all versions; a schema that they share is checked once."""
    versions = versions_of(data)
    found = [(path, schema, decoded(schema)) for path, schema in _schemas(data)]
    shared = len(found) == len(versions) and are_alike([made for _, _, made in found])
    with_status = [mapping(version, "subresources").get("status") is not None for version in versions]
    for path, schema, made in found[:1] if shared else found:
        has_status = any(with_status) if shared else with_status[path[2]]  # type: ignore[index]  # the third step is an index
        at_root = list(status_problems(keywords_of(schema), made)) if has_status else []
        reported = {problem.path for problem in at_root}
        yield from (_at(problem, path) for problem in at_root)
        yield from (_at(problem, path) for problem in _one_schema_problems(made, meta) if problem.path not in reported)


def _at(problem: Problem, path: Path) -> Problem:
    return Problem(problem.rule, (*path, *problem.path), problem.message, problem.hint, at_key=problem.at_key)


def _one_schema_problems(schema: Schema, meta: Shape) -> Iterator[Problem]:
    """The problems of a schema. Defaults are checked if it is structural, rules if the defaults are valid too.

    `$schema` is reported only if there is no other problem.
    """
    found = list(_node_problems(schema, (), SchemaContext(is_root=True)))
    readable = all(is_readable(node) for node, _ in nodes(schema))
    yield from found or draft_problems(schema)
    yield from patterns_not_checked(schema)
    structure = list(structural_problems(schema)) if readable else []
    reported = {(problem.path, problem.message) for problem in found}
    yield from (problem for problem in structure if (problem.path, problem.message) not in reported)
    if not readable or structure:
        return
    from jobspec.validation.crds import defaults, rules

    invalid_defaults = list(defaults.default_problems({**schema, "x-kubernetes-embedded-resource": True}, meta))
    yield from invalid_defaults
    if not any(problem.rule == "invalid-crd" for problem in invalid_defaults):
        yield from rules.rule_problems(schema, [problem.path for problem in found])


def _node_problems(schema: Schema, path: Path, context: SchemaContext) -> Iterator[Problem]:
    yield from node_problems(schema, path, context)
    for child, at, inside in children(schema, path, context):
        yield from _node_problems(child, at, inside)
    for branch, at in branches(schema, path):
        yield from _node_problems(branch, at, context.inside())
