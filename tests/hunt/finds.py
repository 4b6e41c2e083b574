"""What a hunt finds: an input on which two sides disagree; kept as a file, which tests read back.

A file's head is comments; then come the texts, each after a line `# --- NAME`: `manifest`, and for some `crd` and `stored`.
"""

import json
import re
import textwrap
import traceback
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path

from jobspec.apis.releases import choose
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.documents.reader import read
from jobspec.journey.steps import Checked
from jobspec.kubernetes.custom_kinds import CustomKinds
from jobspec.session.stored import documents_in
from jobspec.world.world import Cluster, StoredObjects
from tests.hunt import operated
from tests.support.checking import checked
from tests.support.reference import ROOT

FOLDER = ROOT / "tests" / "cases" / "found"
_PART = re.compile(r"^# --- (manifest|crd|stored)\n", re.MULTILINE)
_TEXTS = ("stored", "crd", "manifest")


@dataclass(frozen=True)
class Find:
    """An input, and what both sides said to it."""

    manifest: str
    ours: str
    theirs: str
    server: str = ""
    """The server that was asked, `control-plane` or `operators`; empty where the other side is a part of jobspec."""
    accepted: bool = False
    """Whether that server accepts the manifest, or for an *outcome*, whether all came of its job that could."""
    outcome: bool = False
    """Whether the sides differ about what becomes of a job that both accept."""
    target: str = ""
    """The releases that we were asked about, as `--target` takes them; the newest where empty."""
    crd: str = ""
    """The CustomResourceDefinition of the manifest's kind, where it is no kind of ours."""
    stored: str = ""
    """The object that the manifest is an update of, where it is one."""
    hunt: str = ""
    """The hunt that found it, and can look again."""
    seed: int = 0

    def __str__(self) -> str:
        texts = "".join(f"{name}:\n{textwrap.indent(text, '    ')}\n" for name in _TEXTS if (text := getattr(self, name)))
        return f"ours: {self.ours}\ntheirs: {self.theirs}\n{texts}"


def write(find: Find, folder: Path) -> Path:
    """Keep a find, under a name that follows from what it is."""
    head = [f"# {name}: {json.dumps(value)}\n" for name, value in asdict(find).items() if name not in _TEXTS and value != ""]
    texts = [f"# --- {name}\n{text}" for name in _TEXTS if (text := getattr(find, name))]
    whole = "".join(head) + "\n".join(texts)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{find.hunt}-{sha256(find.manifest.encode()).hexdigest()[:8]}.txt"
    path.write_bytes(whole.encode())
    return path


def load(path: Path) -> Find:
    """A find that was kept."""
    head, *parts = _PART.split(path.read_bytes().decode())
    texts = dict(zip(parts[::2], parts[1::2], strict=True))
    said = dict(re.findall(r"^# (\w+): (.*)$", head, re.MULTILINE))
    assert {*said, *texts} <= {each.name for each in fields(Find)}, path
    return Find(**texts, **{name: json.loads(value) for name, value in said.items()})


def kept(folder: Path = FOLDER) -> list[Path]:
    """The files of all finds that are kept."""
    return sorted(folder.glob("*.txt"))


def we_accept(find: Find, folder: Path) -> bool:
    """Whether `validate` accepts a find's manifest, or says that all of its job comes; a folder takes its files."""
    if find.outcome:
        result = operated.judged(choose(find.target.split()), find.manifest)
        return all(each.status == "valid" for each in result.documents) and not operated.said(result)
    file, stored = folder / "manifest.yaml", folder / "stored.yaml"
    file.write_bytes(find.manifest.encode())
    stored.write_bytes(find.stored.encode())
    cluster = Cluster(
        choose(find.target.split()),
        webhooks=find.server == "operators",
        closed=find.server == "operators",
        stored=StoredObjects(documents_in(str(stored), option="--from")) if find.stored else None,
        custom_kinds=CustomKinds(read(find.crd, file="crd.yaml")[0]) if find.crd else None,
    )
    found = checked(file, cluster)
    return bool(found.result.documents) and not errors_of(found)


def errors_of(checked: Checked) -> list[Diagnostic]:
    """What stands against the first document, the only one that a server reads."""
    return [each for each in checked.result.diagnostics if each.document in (0, None) and each.severity == "error"]


def errors_in_yaml(checked: Checked) -> list[Diagnostic]:
    """What stands against the first document before anybody knows its kind."""
    return [each for each in errors_of(checked) if each.stage == "decoding"]


def bug() -> str:
    """The exception that is being handled, as what we said to an input."""
    return "".join(traceback.format_exc().splitlines(keepends=True)[-3:])


def report(finds: Iterable[Find]) -> str:
    """Finds as a failed test shows them."""
    return "\n".join(map(str, finds))
