"""CustomResourceDefinitions at random: `validate` and a server say the same to them, and name the same places."""

import http.client
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from jobspec.diagnostics import Diagnostic
from jobspec.documents.reader import read
from jobspec.kubernetes.verdict import verdict
from jobspec.targets import choose
from tests.hunt.finds import Find, bug
from tests.hunt.objects import CASES, START, document
from tests.support import cel_growth, crd_documents, crd_growth, crd_mutants
from tests.support.reference import folder
from tests.support.server import CRDS, STRICT, Answer, Server

Definition = dict[str, Any]

#: What the server names besides, because of a mistake that stands elsewhere.
_FOLLOWS = {
    "spec.names.listKind": ("spec.names.kind",),
    "spec.names.singular": ("spec.names.kind",),
    "metadata.name": ("spec", "spec.group", "spec.names", "spec.names.plural", "metadata.generateName"),
    "metadata.generateName": ("spec", "spec.group", "spec.names", "spec.names.plural"),
    "status.storedVersions": ("spec", "spec.versions", *(f"spec.versions[{index}].storage" for index in range(4))),
}
#: Of a rule that does not compile the server says that it does not use `oldSelf`, of a default that it is of no type that there is;
#: of an embedded object with a wrong `apiVersion` it says nothing more.
_SECOND = ((".rule", ".optionalOldSelf"), (".type", ".default"), (".apiVersion", ".kind"))


def grown(random: Random, *, count: int = 800) -> list[Definition]:
    """Definitions with one part that is made from all that a server looks at."""
    return [crd_growth.definition(random) for _ in range(count)]


def with_rules(random: Random, *, count: int = 150) -> list[Definition]:
    """Definitions with one CEL expression each."""
    return [ruled({"rule": cel_growth.expression(random)}) for _ in range(count)]


def changed(random: Random, *, count: int = 480) -> list[Definition]:
    """Definitions of the cases and of the reference data after changes."""
    texts = [START.split(path.read_text())[0] for path in CASES]
    texts += [path.read_text() for path in sorted(folder("crds").glob("*.yaml")) if path.stat().st_size < 50_000]
    bases = [*(document(text).data for text in texts), *(definition for definition, _ in crd_documents.cases())]
    return [crd_mutants.changed(random.choice(bases), random) for _ in range(count)]


def ruled(*rules: dict[str, Any]) -> Definition:
    """A definition with rules on a value of many fields."""
    schema = {**cel_growth.schema(), "x-kubernetes-validations": list(rules)}
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
    found = verdict(documents[0], choose([]), old=documents[1] if old else None)
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
        elif "budget" in answer.message or "cost" in answer.message:
            tally["too costly for the server"] += 1
        elif answer.accepted and crd_documents.is_refused_on_purpose(found):
            tally["refused on purpose"] += 1
        elif answer.accepted != (status == "valid") or (places and not answer.accepted and not _names_the_same(found, answer)):
            yield Find(text, str(found), str(answer), "control-plane", answer.accepted)


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
