"""What real servers said to manifests, and how our verdict compares with it."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jobspec.apis.releases import RELEASES, choose
from jobspec.diagnostics.results import DocumentResult, FileResult
from jobspec.world.world import Cluster
from tests.agreement import known
from tests.support.checking import result

_ERRORS = "Invalid value|Required value|Unsupported value|Forbidden|Duplicate value|Too many|Too long"
_FIELD = re.compile(rf"(?:^|\[|, |: )\.?((?:metadata|spec|status)[^\s:]*): ({_ERRORS})")
_UNKNOWN = re.compile(r'unknown field "([^"]*)"')
_UNDECODABLE = re.compile(r"Go struct field \w+\.(\S+) of type")
_OUT_OF_RANGE = re.compile(r"with format \w+ in (\S+)")
_ABSENT = ("missing-field", "missing-name")


@dataclass(frozen=True)
class Record:
    """The replies of one release's server to the documents of one file."""

    release: str
    name: str
    manifest: Path
    replies: list[dict[str, Any]]


def releases(golden: Path) -> list[str]:
    """The folders of records, in the order of the releases."""
    known = [f"{component}-{release}" for component, every in RELEASES.items() for release in every]
    return [folder for folder in known if (golden / folder).is_dir()]


def target_of(release: str) -> Mapping[str, str]:
    """The target that a folder of records is named after."""
    component, _, number = release.rpartition("-")
    return choose([f"{component}={number}", "kubernetes=1.36"])


def records(golden: Path, release: str) -> Iterator[Record]:
    """All records of a release."""
    folders = {"probes": golden / "probes", "corpus": golden.parent / "corpus" / "manifests"}
    for path in sorted((golden / release).rglob("*.json")):
        part, *rest = path.relative_to(golden / release).with_suffix("").parts
        inside = folders[part].joinpath(*rest)
        manifest = next(file for ending in (".yaml", ".yml", ".json") if (file := Path(f"{inside}{ending}")).is_file())
        yield Record(release, "/".join((part, *rest)), manifest, json.loads(path.read_text())["documents"])


@cache
def reported(golden: Path, release: str) -> list[tuple[Record, list[str]]]:
    """All records of a release, each with our disagreements about it."""
    return [(record, disagreements(record)) for record in records(golden, release)]


def disagreements(record: Record) -> list[str]:
    """Where our verdict on a file differs from the server's: accepted or refused, and the fields that a refusal names.

    A document of a kind that the server did not have says nothing.
    """
    ours = result(record.manifest, Cluster(target_of(record.release), closed=True))
    rows = ours.documents
    assert [row.index for row in rows] == [reply["index"] for reply in record.replies], record
    return [
        difference
        for row, reply in zip(rows, record.replies, strict=True)
        if reply["code"] is not None
        for difference in _differences(row, reply, ours)
    ]


def _differences(row: DocumentResult, reply: dict[str, Any], ours: FileResult) -> Iterator[str]:
    accepted = row.status in ("valid", "partly")
    which = f"document {row.index}, {row.kind} {row.name}"
    said = [each for each in ours.diagnostics if each.document == row.index]
    if accepted != (reply["code"] == 201):
        why = "; ".join(each.message for each in said)
        yield f"{which}: the server says {reply['code']} {reply.get('message', '')}, we say {row.status} {why}"
        return
    if accepted:
        warned = {_flat(each.field) for each in said if each.severity == "warning"}
        for warning in reply.get("warnings", ()):
            if _flat(warning.split()[0]) not in warned:
                yield f"{which}: the server warns: {warning}"
        return
    ours = {_flat(each.field) for each in said if each.severity == "error"}
    around = {_flat(each.field) for each in said if each.rule in _ABSENT}  # we point at the object that lacks a field
    theirs = set(named_fields(reply["message"]))
    lacking = {field for field, absent in theirs if field not in ours and not (absent and field.rpartition(".")[0] in around)}
    lacking |= {
        field for field in _UNDECODABLE.findall(reply["message"]) if not any(_without_items(each).startswith(field) for each in ours)
    }
    if lacking:
        yield f"{which}: the server names {', '.join(sorted(lacking))}, we name {', '.join(sorted(ours))}"
    if reply["code"] == 403 and theirs and (more := ours - {field for field, _ in theirs}):
        yield f"{which}: we name {', '.join(sorted(more))}, the webhook does not"


def named_fields(message: str) -> Iterator[tuple[str, bool]]:
    """The fields that a refusal names, with one spelling, and whether each is said to be absent.

    Servers spell a map's key both `.key` and `[key]`.
    """
    for pattern in (_UNKNOWN, _OUT_OF_RANGE):
        yield from ((_flat(field), False) for field in pattern.findall(message))
    yield from ((_flat(field), error == "Required value") for field, error in _FIELD.findall(message))


def _flat(field: str) -> str:
    """A field in one spelling. The trainer's webhook names a reference by its field in Go, which no manifest has."""
    field = re.sub(r"^spec\.RuntimeRef\b", "spec.runtimeRef", field)
    return re.sub(r"\[(?!\d+\])([^\]]*)\]", r".\1", field)


def _without_items(field: str) -> str:
    """A field as a webhook spells it that cannot decode a value: without indices."""
    return re.sub(r"\[\d+\]", "", field)


def is_known(record: Record) -> bool:
    """Whether a disagreement about the record stands in `known.yaml`."""
    named = known.records().get(record.name)
    return named is not None and (not named or record.release in named)
