"""CustomResourceDefinitions at random: `validate` and a server say the same to them, and name the same places."""

import http.client
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.reader import read
from jobspec.kubernetes.cel.types import SchemaTypes
from jobspec.kubernetes.crds.rules import BUDGET
from jobspec.kubernetes.verdict import verdict
from jobspec.schemas.shapes import VALIDATIONS
from tests.hunt.finds import Find, bug
from tests.hunt.objects import CASES, START, document
from tests.support import cel_growth, crd_documents, crd_growth, crd_mutants
from tests.support.reference import folder
from tests.support.server import CRDS, STRICT, Answer, Server, target

Definition = dict[str, Any]

#: What the server and we say of costs.
_COST = re.compile(r"estimated (rule|messageExpression) cost exceeds (?:the )?budget by (?:a )?factor of ([\d.]+|more than 100)")
_OUR_TOTAL = re.compile(r"estimated cost of all rules together exceeds the budget by a factor of ([\d.]+|more than 100)")
_THEIR_TOTAL = re.compile(r"estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of ([\d.]+|more than 100)")
_CONTRIBUTED = re.compile(r"(\S+): Forbidden: contributed to estimated rule cost total")

#: What the server names besides, because of a mistake that stands elsewhere.
_FOLLOWS = {
    "spec.names.listKind": ("spec.names.kind",),
    "spec.names.singular": ("spec.names.kind",),
    "metadata.name": ("spec", "spec.group", "spec.names", "spec.names.plural", "metadata.generateName"),
    "metadata.generateName": ("spec", "spec.group", "spec.names", "spec.names.plural"),
    "status.storedVersions": ("spec", "spec.versions", *(f"spec.versions[{index}].storage" for index in range(4))),
}
#: Of a rule that does not compile the server says that it does not use `oldSelf`, of a default that it is of no type that there is;
#: of an embedded object with a wrong `apiVersion` no output more.
_SECOND = ((".rule", ".optionalOldSelf"), (".type", ".default"), (".apiVersion", ".kind"))


def grown(random: Random, *, count: int = 800) -> list[Definition]:
    """Definitions with one part that is made from all that a server looks at."""
    return [crd_growth.definition(random) for _ in range(count)]


def with_rules(random: Random, *, count: int = 150) -> list[Definition]:
    """Definitions with one CEL expression each."""
    return [ruled({"rule": cel_growth.expression(random)}) for _ in range(count)]


def costly(random: Random, *, count: int = 150) -> list[Definition]:
    """Definitions with expressions, most of which cost about as much as a server lets them: below lists and maps of many sizes."""
    return [_costly(random) for _ in range(count)]


def _costly(random: Random) -> Definition:
    rules = [_costly_rule(random) for _ in range(random.choice((1, 2, 3, 12)))]
    together = random.random() < 0.2  # cheap enough alone
    if together:
        rules = rules[:1] * 14
    schema: dict[str, Any] = {**cel_growth.limited(random), VALIDATIONS: rules}
    types = SchemaTypes(schema, target()["kubernetes"], is_resource=False)
    compiled = [types.compile(each["rule"], schema, result="bool", optional_old_self="optionalOldSelf" in each) for each in rules]
    most = max((each.estimate({}).cost for each in compiled if each.estimate), default=0)
    number = int(BUDGET / most * random.uniform(0.5, 1 if together else 2)) if 0 < most < BUDGET else random.randrange(9)
    for size in (number, *random.choices((0, 1, 2, 10, None), k=0 if together else random.choice((0, 0, 1, 2)))):
        schema = _around(schema, size if together or random.random() < 0.9 else None, random)
    return _definition(schema)


def _costly_rule(random: Random) -> dict[str, Any]:
    rule: dict[str, Any] = {"rule": cel_growth.expression(random)}
    if random.random() < 0.3:
        rule["messageExpression"] = cel_growth.expression(random, "string")
    if random.random() < 0.1:
        rule |= {"rule": f"{rule['rule']} || oldSelf.hasValue()", "optionalOldSelf": True}
    return rule


def _around(schema: dict[str, Any], size: int | None, random: Random) -> dict[str, Any]:
    """The schema of lists or maps of values of a schema, or of an object that has one."""
    kind, inside, limit = random.choice(
        [("array", "items", "maxItems"), ("array", "items", "maxItems"), ("object", "additionalProperties", "maxProperties")]
    )
    more = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["i"]} if "properties" in schema and kind == "array" else {}
    if more:
        schema = {**schema, "required": sorted({"i", *schema.get("required", ())})}
    made = {"type": kind, inside: schema, **({} if size is None else {limit: size}), **more}
    return {"type": "object", "properties": {"i": {"type": "integer"}, "inner": made}} if random.random() < 0.3 else made


def changed(random: Random, *, count: int = 480) -> list[Definition]:
    """Definitions of the cases and of the reference data after changes."""
    texts = [START.split(path.read_text())[0] for path in CASES]
    texts += [path.read_text() for path in sorted(folder("crds").glob("*.yaml")) if path.stat().st_size < 50_000]
    bases = [*(document(text).data for text in texts), *(definition for definition, _ in crd_documents.cases())]
    return [crd_mutants.changed(random.choice(bases), random) for _ in range(count)]


def ruled(*rules: dict[str, Any]) -> Definition:
    """A definition with rules on a value of many fields."""
    return _definition({**cel_growth.schema(), VALIDATIONS: list(rules)})


def _definition(schema: dict[str, Any]) -> Definition:
    whole = {"type": "object", "properties": {"a": schema}}
    return crd_growth.plain_definition(
        {"versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": whole}}]}
    )


def asked(server: Server, method: str, path: str, definition: Definition) -> Answer:
    """What a server says to a definition, without storing it."""
    try:
        return server.call(method, path + STRICT, json.dumps(definition, ensure_ascii=False))
    except http.client.RemoteDisconnected:  # a panic: some definitions, wrong ones, make the server's code fall over
        return Answer(500)


def said(definition: Definition, old: Definition | None = None) -> tuple[str, list[Diagnostic]]:
    """What we say to a definition: its status, and what is wrong."""
    documents = [read(json.dumps(each, ensure_ascii=False), file="crd.json")[0][0] for each in (definition, old) if each]
    found = verdict(documents[0], target(), old=documents[1] if old else None)
    return found.status, found.diagnostics


def finds(server: Server, definitions: Iterable[Definition], tally: Counter[str], *, places: bool = True) -> Iterator[Find]:
    """The definitions on which a server and we disagree, about the *places* that are wrong, too; the tally counts what was not decided."""
    for definition in definitions:
        answer = asked(server, "POST", CRDS, definition)
        text = json.dumps(definition, ensure_ascii=False)
        tally["compared"] += 1
        try:
            status, found = said(definition)
        except Exception:
            yield Find(text, bug(), str(answer), "control-plane", answer.accepted)
            continue
        if status == "valid" and found:
            tally["not evaluated"] += 1
        elif answer.accepted and crd_documents.is_refused_on_purpose(found):
            tally["refused on purpose"] += 1
        elif answer.accepted != (status == "valid") or (places and not answer.accepted and not _says_the_same(found, answer)):
            yield Find(text, str(found), str(answer), "control-plane", answer.accepted)


def _says_the_same(found: list[Diagnostic], answer: Answer) -> bool:
    """Whether we name the places that the server names, and say as it does how far costs are above their budgets.

    It says of all rules of a schema that they cost too much together, even where single ones do and we say so of them alone.
    """
    if not answer.message:  # it fell over
        return True
    messages = "; ".join(each.message for each in found)
    ours, theirs = (sorted(map("".join, _COST.findall(text))) for text in (messages, answer.message))
    if ours != theirs or (not ours and _OUR_TOTAL.findall(messages) != _THEIR_TOTAL.findall(answer.message)):
        return False
    others = Counter(answer.fields) - Counter(_CONTRIBUTED.findall(answer.message))
    return _names_the_same(found, replace(answer, fields=tuple(others)))


def _names_the_same(found: list[Diagnostic], answer: Answer) -> bool:
    """Whether we name the places that the server names; those of a reply without places are not known."""
    ours, theirs = {_place(each.field) for each in found}, {_place(field) for field in answer.fields}
    return not theirs or (_covers(ours, _without_followers(theirs)) and _covers(theirs | _causes(theirs), ours))


def _place(field: str) -> str:
    """A place as it is spelt in a document; the server means the first of what all versions share, and has names of its own."""
    field = re.sub(r"^spec\.validation(?=$|[.[])", "spec.versions[0].schema", field)
    field = re.sub(r"^spec\.(subresources|additionalPrinterColumns|selectableFields)", r"spec.versions[0].\1", field)
    field = re.sub(r"^spec\.conversion\.webhookClientConfig", "spec.conversion.webhook.clientConfig", field)
    field = re.sub(r"^spec\.conversion\.conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions", field)
    field = re.sub(r"^spec\.version$", "spec.versions[0].name", field).replace(".JSONPath", ".jsonPath").replace(".[", "[")
    before, default, inside = field.partition(".default")
    return before + default + re.sub(r"\[([^\]]*[^\]\d][^\]]*|)\]", r".\1", inside) if default else field


def _without_followers(theirs: set[str]) -> set[str]:
    """Without defaults in whose schema a type or a keyword is refused: the server judges them by what it refuses, too."""
    refused = [field for field in theirs if field.endswith((".uniqueItems", ".type", ".additionalProperties"))]
    return {
        field
        for field in theirs
        if ".default" not in field or not any(_is_inside(each, field.partition(".default")[0]) for each in refused)
    }


def _is_inside(inner: str, outer: str) -> bool:
    return inner.startswith(outer) and inner[len(outer)] in ".["


def _causes(theirs: set[str]) -> set[str]:
    return {cause for field in theirs for cause in _FOLLOWS.get(field, ())}


def _covers(some: set[str], others: set[str]) -> bool:
    """Whether each place is near one of the others: the same, around it, or inside it."""
    return all(any(_is_near(one, other) for one in some) or some & set(_FOLLOWS.get(other, ())) for other in others)


def _is_near(one: str, other: str) -> bool:
    if any(second in other and one == other.partition(second)[0] + first for first, second in _SECOND):
        return True
    inner, outer = sorted((one, other), key=len, reverse=True)
    return inner == outer or not outer or _is_inside(inner, outer)
