"""Every case of other people's CRDs: the lines that a rule is written beside are the lines that the rule is reported for.

A case file holds a CRD, then objects of its kind.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.reader import read
from jobspec.kubernetes.custom_kinds import CustomKinds
from jobspec.kubernetes.verdict import verdict
from tests.support import crd_documents
from tests.support.cases import assert_reported, expectations, target_of
from tests.support.reference import ROOT

CASES = sorted((ROOT / "tests" / "cases" / "crds").glob("*.yaml"))


def judged(path: Path) -> list[Diagnostic]:
    """What is said to the objects of a case, at the release of Kubernetes that its first line may name."""
    documents, problems = read(path.read_text(), file=str(path))
    kinds, target = CustomKinds(documents[:1]), target_of(path.read_text())
    return [*problems, *(each for document in documents[1:] for each in verdict(document, target, custom_kinds=kinds).diagnostics)]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_rule_is_reported_where_it_is_expected_and_nowhere_else(path: Path) -> None:
    assert_reported(expectations(path.read_text()), judged(path))


def _reported(definition: dict[str, Any], stored: dict[str, Any] | None = None) -> tuple[str, list[str]]:
    """The status of a definition, as an update of one that is *stored*, and the fields that are said to be wrong."""
    (document, *old), problems = read("\n---\n".join(map(json.dumps, filter(None, (definition, stored)))), file="crd.yaml")
    assert problems == []
    found = verdict(document, choose([]), old=old[0] if old else None)
    return found.status, sorted(each.field for each in found.diagnostics)


def test_definitions_are_wrong_where_they_are_expected_to_be() -> None:
    cases = list(crd_documents.cases())
    assert len(cases) > 300
    reports = [(definition, wrong, _reported(definition)) for definition, wrong in cases]
    assert [each for each in reports if each[-1] != ("invalid" if each[1] else "valid", sorted(each[1]))] == []


def test_a_stored_schema_may_have_rules_that_cost_too_much() -> None:
    """As long as they do not cost too much together. Versions with one schema are judged as the first of them is."""
    costly = _version("v1", {"rule": "self.startsWith(self)"})
    stored = crd_documents.definition({"versions": [costly]})
    reports = [
        _reported(crd_documents.definition({"versions": versions}), stored)
        for versions in (
            [costly],
            [costly, {**costly, "name": "v2", "storage": False}],
            [costly, {**_version("v2", {"rule": "self.endsWith(self)"}), "storage": False}],
            [_version("v1", {"rule": "self.startsWith(self)", "message": "another"})],
        )
    ]
    rule = "schema.openAPIV3Schema.properties[a].items.x-kubernetes-validations[0].rule"
    assert reports == [("valid", []), ("valid", []), ("invalid", [f"spec.versions[1].{rule}"]), ("invalid", [f"spec.versions[0].{rule}"])]


def _version(name: str, rule: dict[str, str]) -> dict[str, Any]:
    values = {"type": "array", "maxItems": 100, "items": {"type": "string", "x-kubernetes-validations": [rule]}}
    schema = {"type": "object", "properties": {"a": values}}
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
