"""Variables at random in objects that Flux's real kustomize-controller applies: what the server has is what we fill in.

The data of a ControllerRevision may be of any form, so that it shows what is text, a number or null once the YAML is read again.
"""

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import yaml

from jobspec.apis.releases import choose
from jobspec.documents.reader import read
from jobspec.repository.source_files import SourceFiles
from jobspec.repository.substitution import Variables, filled_in
from jobspec.session.source_files import DiskFiles
from tests.hunt.finds import Find
from tests.support.flux import VARIABLE, Synced, served
from tests.support.server import kubeconfig

_VALUES = (
    "bert",
    "",
    "8",
    "8.5",
    "08",
    "0x1f",
    "1e3",
    "true",
    "yes",
    "null",
    "~",
    "a b",
    "a: b",
    "# c",
    "-",
    "x-1",
    "2026-01-01",
    "Große",
    "'q'",
    "$X",
)
_WORDS = ("", "a", "train", "8", "-", "/", "registry.example/", ":", " ", "$", "$$", "$A", "$(A)", "$1", "true", "1.5", "\n")
_OPERATORS = (":-", ":=", "=", ":+", ":?", "-", "^", "^^", ",", ",,", "#", "##", "%", "%%", "/", "//", "/#", "/%", ":0:1", ":1", ":-1", "|")
_TARGET = choose(())


def prepare() -> None:
    """Skip if no server with Flux is named."""
    kubeconfig(VARIABLE)


def finds(random: Random, tally: Counter[str], *, count: int = 8) -> Iterator[Find]:
    """The objects of which Flux makes something else than we say."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as address:
        synced = Synced(f"hunt-{os.getpid()}-{SystemRandom().randrange(1 << 24):06x}", Path(folder), address)
        try:
            cases = [_case(random, f"{synced.name}-{number}") for number in range(count)]
            files = {f"{number}/a.yaml": text for number, (text, _) in enumerate(cases)}
            revision = synced.repository.commit(files)
            synced.kubectl("create", "namespace", synced.name)
            for each in _engine(synced, [values for _, values in cases]):
                synced.create(each)
            for number, (text, values) in enumerate(cases):
                theirs = _theirs(synced, f"{synced.name}-{number}", revision)
                ours = _ours(text, values)
                tally["refused" if theirs is None else "applied"] += 1
                if ours != theirs:
                    yield Find(f"# {json.dumps([values, theirs])}\n{text}", json.dumps(ours), json.dumps(theirs))
        finally:
            synced.remove(*(f"{synced.name}-{number}" for number in range(count)))


def difference(text: str) -> str:
    """What we fill in of a find, if that is not what Flux did; both its values and what it made of them stand in the first line."""
    head, _, manifest = text.partition("\n")
    values, theirs = json.loads(head.removeprefix("# "))
    ours = _ours(manifest, values)
    return "" if ours == theirs else json.dumps(ours)


def _case(random: Random, name: str) -> tuple[str, dict[str, str]]:
    """An object with variables in its data, and their values."""
    values = {each: random.choice(_VALUES) for each in ("A", "B", "LONG_NAME", "_c") if random.random() < 0.8} or {"A": "1"}
    is_quiet = random.random() < 0.7  # has nothing that no parser takes
    data = {f"k{number}": _text(random, 2, is_quiet=is_quiet) for number in range(random.randint(1, 6))}
    metadata = {"name": name}
    made = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "revision": 1, "data": data}
    return yaml.safe_dump(made, allow_unicode=True, default_style=random.choice((None, None, '"', "'"))), values


def _text(random: Random, depth: int, *, is_quiet: bool) -> str:
    parts = [random.choice(_WORDS) for _ in range(random.randint(0, 2))]
    for _ in range(random.choice((0, 1, 1, 1, 2))):
        name = random.choice(("A", "B", "LONG_NAME", "_c", "UNSET"))
        operator = random.choice(_OPERATORS[:15] if is_quiet else _OPERATORS) if random.random() < 0.5 else ""
        argument = _text(random, depth - 1, is_quiet=is_quiet) if operator and depth else ""
        sign = "#" if not operator and random.random() < 0.1 else ""
        parts.insert(random.randint(0, len(parts)), f"${{{sign}{name}{operator}{argument}}}")
    return "".join(parts)


def _engine(synced: Synced, values: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    """The objects by which Flux applies each folder with its variables."""
    metadata = {"name": synced.name, "namespace": "flux-system"}
    source = {"interval": "1h", "url": synced.url, "ref": {"branch": "main"}}
    yield {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": metadata, "spec": source}
    for number, each in enumerate(values):
        spec = {
            "interval": "1h",
            "retryInterval": "1h",
            "timeout": "30s",
            "prune": True,
            "path": f"./{number}",
            "targetNamespace": synced.name,
            "sourceRef": {"kind": "GitRepository", "name": synced.name},
            "postBuild": {"substitute": each},
        }
        own = {**metadata, "name": f"{synced.name}-{number}"}
        yield {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": own, "spec": spec}


def _theirs(synced: Synced, name: str, revision: str) -> Any:
    """The data that the server has; None if Flux does not apply the object."""
    synced.waits_for(lambda: synced.state(name)[0] == revision and synced.state(name)[1] in ("True", "False"), lambda: synced.state(name))
    if synced.state(name)[1] == "False":
        return None
    return synced.items("controllerrevision")[name]["data"]


def _ours(text: str, values: dict[str, str]) -> Any:
    """The data as we fill it in; None if we say that Flux does not apply the object."""
    documents, problems = read(text, file="a.yaml")
    assert not problems
    files: SourceFiles = DiskFiles()
    given = Variables(values, by="the Kustomization")
    made, found = filled_in(documents, given, _TARGET, files)
    return None if any(each.severity == "error" for each in found) else made[0].data.get("data")
