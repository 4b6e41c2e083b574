"""Where we are known not to agree with servers, each with its cause: what `known.yaml` holds."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from jobspec.diagnostics.diagnostic import Diagnostic

SERVERS = ("control-plane", "operators", "newest-operators")
"""The live servers: one that has CRDs alone, and two with operators and their webhooks, old and newest."""


@dataclass(frozen=True)
class Refusal:
    """What `validate` refuses on purpose although live servers take it."""

    rule: str
    says: str
    """What our message matches."""
    servers: tuple[str, ...]
    cause: str
    kind: str
    witness: str
    """A manifest that shows it, sent as an object of that kind."""

    def is_reported_by(self, error: Diagnostic) -> bool:
        """Whether an error is this refusal."""
        return error.rule == self.rule and re.search(self.says, error.message) is not None


@dataclass(frozen=True)
class Acceptance:
    """A pod that `validate` takes on purpose although a live server refuses it."""

    says: str
    """What the server's message holds."""
    cause: str
    witness: str
    stored: str = ""
    """The pod that the witness replaces, where it is an update."""
    applied: bool = False
    """Whether both are applied."""


@dataclass(frozen=True)
class Unnamed:
    """A field that we name in a refusal, as a live server does of a pod that is replaced, but not of one that is applied."""

    field: str
    cause: str
    stored: str
    witness: str
    """The new state of the stored pod."""


@cache
def _entries() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = yaml.load(Path(__file__).with_name("known.yaml").read_text(), yaml.CSafeLoader)
    return found


def records() -> dict[str, list[str]]:
    """The records that we disagree with, by name: the releases for which that is so, none for all."""
    return {entry["record"]: entry.get("releases", []) for entry in _entries()["records"]}


def parts() -> list[str]:
    """The records that hold only a part of what we expand."""
    return [entry["record"] for entry in _entries()["parts"]]


def trainjob_parts() -> list[str]:
    """The records of TrainJobs that hold only a part of what we expand, in some release."""
    return [entry["record"] for entry in _entries()["trainjob-parts"]]


@cache
def refusals(server: str) -> list[Refusal]:
    """What we refuse and a live server takes."""
    found = [Refusal(**{**entry, "servers": tuple(entry["servers"])}) for entry in _entries()["live"]]
    return [each for each in found if server in each.servers]


def named_servers() -> set[str]:
    """The servers that the entries name."""
    return {server for entry in _entries()["live"] for server in entry["servers"]}


@cache
def pods() -> list[Acceptance]:
    """What we take of pods and a live server refuses."""
    return [Acceptance(**entry) for entry in _entries()["pods"]]


@cache
def unnamed() -> list[Unnamed]:
    """What we name in refusals of pods besides, where they are applied."""
    return [Unnamed(**entry) for entry in _entries()["unnamed"]]
