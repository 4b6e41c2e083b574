"""PersistentVolumeClaims at random, whose fields hold any of their texts: `validate` and a server say the same to them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.world.world import Cluster
from tests.hunt.finds import Find
from tests.support.checking import result
from tests.support.field_texts import field_texts
from tests.support.server import Server, target

_TEXTS = field_texts("claims")


def finds(server: Server, random: Random, folder: Path, *, count: int = 800) -> Iterator[Find]:
    """The claims on which a server and we disagree."""
    texts = [_claim(random) for _ in range(count)]
    with ThreadPoolExecutor(6) as pool:
        answers = pool.map(lambda text: server.judge("PersistentVolumeClaim", text), texts)
        for text, answer in zip(texts, answers, strict=True):
            found = errors(text, folder / "claim.yaml")
            if answer.accepted != (not found):
                yield Find(text, str(found), str(answer), "control-plane", answer.accepted)


def errors(text: str, file: Path) -> list[Diagnostic]:
    """What we have against a claim."""
    file.write_text(text)
    return list(result(file, Cluster(target())).diagnostics)


def _claim(random: Random) -> str:
    """A good claim after some of its fields got any of their texts, or were left out."""
    changed = random.sample(list(_TEXTS.fields), random.choice((0, 1, 1, 1, 2, 3)))
    spec = _TEXTS.spec(changed, random)
    if "dataSource" in changed and random.random() < 0.3:
        spec["dataSourceRef"] = spec["dataSource"]
    if random.random() < 0.1:
        del spec[random.choice(list(spec))]
    metadata = _TEXTS.filled(_TEXTS.metadata, random) if random.random() < 0.2 else "labels: {}"
    status = f"status: {_TEXTS.filled(_TEXTS.status, random)}\n" if random.random() < 0.1 else ""
    head = f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: a, {metadata}}}\nspec:\n"
    return head + "".join(f"  {field}: {value}\n" for field, value in spec.items()) + status
