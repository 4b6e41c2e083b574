"""The CustomResourceDefinitions in `tests/cases/crd-documents`, each with the paths of its mistakes."""

from collections.abc import Sequence
from typing import Any

import yaml

from jobspec.diagnostics.diagnostic import Diagnostic
from tests.support.reference import ROOT

_FOLDER = ROOT / "tests" / "cases" / "crd-documents"
_SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
_VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}
_ROOT = "spec.versions[0].schema.openAPIV3Schema"


def definition(spec: dict[str, Any], *, name: str = "", annotations: dict[str, str] | None = None) -> dict[str, Any]:
    """A valid definition, changed by the arguments."""
    spec = {
        "group": "odd.example.com",
        "names": {"kind": "Odd", "plural": "odds", "singular": "odd"},
        "scope": "Namespaced",
        "versions": [_VERSION],
        **spec,
    }
    own = name or f"{spec['names'].get('plural', 'odds').lower()}.{spec['group']}"
    metadata = {"name": own, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": metadata, "spec": spec}


def cases() -> list[tuple[dict[str, Any], list[str]]]:
    """Each definition with the paths of its mistakes."""
    return [*map(_with_schema, _load("schemas.yaml")), *map(_with_schema, _load("costs.yaml")), *map(_with_spec, _load("specs.yaml"))]


def _load(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.load((_FOLDER / name).read_text(), yaml.CSafeLoader)
    return found


def _with_schema(case: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    at = _ROOT if "root" in case else f"{_ROOT}.properties[a]"
    root = case["root"] if "root" in case else {"type": "object", "properties": {"a": case["schema"]}}
    version = {**_VERSION, "schema": {"openAPIV3Schema": root}, **({"subresources": {"status": {}}} if case.get("status") else {})}
    return definition({"versions": [version]}), [f"{at}.{place}".removesuffix(".") for place in case["wrong"]]


def _with_spec(case: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    spec = dict(case.get("spec", {}))
    if "versions" in case:
        spec["versions"] = [each if {"served", "storage"} <= each.keys() else {**_VERSION, **each} for each in case["versions"]]
    return definition(spec, name=case.get("name", ""), annotations=case.get("annotations")), case["wrong"]


def is_refused_on_purpose(found: Sequence[Diagnostic]) -> bool:
    """Whether the only errors are certificates written as lists of numbers, which Go decodes as bytes and nobody means."""
    return bool(found) and all(each.field.endswith(".caBundle") and each.message.endswith("not a list") for each in found)
