"""Mutants of manifests on which a model's own validation and the walk differ, but for a closed list of reasons."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from pydantic import ValidationError

from jobspec import models
from jobspec.apis.kinds import MODELS
from jobspec.apis.releases import choose
from jobspec.documents.decoding import decode
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.kubernetes import structural
from jobspec.schemas import shapes
from tests.hunt.finds import Find
from tests.support.mutants import mutant
from tests.support.reference import ROOT, folder

_TARGET = choose([])

#: What a model refuses and the walk takes: why, and what of pydantic's errors is meant.
_STRICTER: dict[str, Callable[[Any], bool]] = {
    "a number such as 1.0 is an integer to the server": lambda error: isinstance(error["input"], float) and error["input"].is_integer(),
    "a null in a map is dropped, and one in place of a default, before the server looks": lambda error: error["input"] is None,
    "a list passes for a time, whose type the server leaves to its format": lambda error: isinstance(error["input"], list),
    "Go's own parser reads the quantities of a built-in kind": lambda error: error["loc"][-1] in ("int", "constrained-str"),
}

#: What the walk refuses and a model takes, by rule.
_WIDER = {
    "duplicate-item": "a model does not compare the items of a list",
    "wrong-format": "a date's, a pattern's and a quantity's form is the walk's",
    "out-of-range": "the scale subresource is the server's, and a limit of some releases is no model's",
    "wrong-size": "a limit of some releases is no model's",
    "wrong-type": "the type of some releases is narrower than a model's",
    "unsupported-choice": "the choices of some releases are fewer than a model's",
    "unknown-field": "a model has the fields of every release",
    "missing-field": "what only some releases require, a model does not",
}


def documents(files: Iterable[Path]) -> Iterator[tuple[Document, str]]:
    for path in files:
        text = decode(path.read_bytes(), path.name)
        if isinstance(text, str):
            for part in re.split(r"^---(?:\s.*)?\n", text, flags=re.MULTILINE):
                documents, problems = read(part, file=path.name)
                kinds = [(document.api_version, document.kind) for document in documents if not problems]
                # The schemas in a CustomResourceDefinition have a decoder of their own.
                if len(kinds) == 1 and kinds[0] in MODELS and kinds[0][1] != "CustomResourceDefinition":
                    yield documents[0], part


def paths() -> Iterator[Path]:
    yield from sorted((ROOT / "tests" / "cases").rglob("*.yaml"))
    if os.environ.get("JOBSPEC_REFERENCE"):
        for part in (("corpus", "manifests"), ("corpus", "companions"), ("golden", "probes")):
            yield from sorted(folder(*part).rglob("*.yaml"))


def differences(document: Document) -> Iterator[str]:
    kind = (document.api_version, document.kind)
    shape = shapes.load(*kind, _TARGET)
    assert shape
    data = {key: value for key, value in document.data.items() if key != "status"}  # what a create drops
    walked = structural.schema_problems(data, shape, typed=MODELS[kind] == "kubernetes")
    refused = _refused(getattr(models, document.kind), data)
    if walked and not refused:
        yield from (f"{problem.rule} at {problem.path}" for problem in walked if problem.rule not in _WIDER)
    elif refused and not walked:
        for error in refused:
            if MODELS[kind] == "kubernetes" and error["type"] == "missing":
                continue  # Go code decides after decoding which fields of a built-in kind are required
            if not any(meant(error) for meant in _STRICTER.values()):
                yield f"the model alone refuses {error['loc']}: {error['type']} {error['input']!r}"


def _refused(model: Any, data: dict[str, Any]) -> list[Any]:
    try:
        model.model_validate(data)
    except ValidationError as error:
        return list(error.errors())
    return []


def finds(random: Random, *, count: int = 1500) -> Iterator[Find]:
    """The mutants on which model and walk differ."""
    bases = [(document, text) for document, text in documents(paths()) if len(text) < 6000 and document.kind != "Overlay"]
    for _ in range(count):
        document, text = random.choice(bases)
        shape = shapes.load(document.api_version, document.kind, _TARGET)
        assert shape
        made = mutant(text, shape, random)
        if said := difference(made):
            yield Find(made, said, "the walk")


def difference(text: str) -> str:
    """Where model and walk differ about a manifest; empty where they do not, or where there is no manifest to ask about."""
    found, problems = read(text, file="mutant.yaml")
    known = [] if problems else [each for each in found if (each.api_version, each.kind) in MODELS and isinstance(each.data, dict)]
    return "; ".join(each for document in known for each in differences(document))
