"""Pods at random, whose fields around the containers hold any of their texts: `validate` and a server say the same to them, and where."""

import re
from collections.abc import Iterator
from random import Random

from tests.hunt import pods
from tests.hunt.finds import Find
from tests.support.field_texts import field_texts
from tests.support.server import Server

_TEXTS = field_texts("pod-surroundings")


def finds(server: Server, random: Random, *, count: int = 500) -> Iterator[Find]:
    """The pods on which a server and we disagree."""
    pods.prepare(server)
    yield from pods.compared(server, (_template(random) if random.random() < 0.15 else pod(random) for _ in range(count)))


def pod(random: Random) -> str:
    """A good pod after some of its fields got any of their texts."""
    changed = random.sample(list(_TEXTS.fields), random.choice((1, 1, 1, 2, 2, 3)))
    if "containers" in changed and "volumes" not in changed and random.random() < 0.8:
        changed.append("volumes")
    if random.random() < 0.2:
        changed = ["volumes"]
    spec = _TEXTS.spec(changed, random)
    metadata = _TEXTS.filled(_TEXTS.metadata, random) if random.random() < 0.2 else "labels: {}"
    head = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p, {metadata}}}\nspec:\n"
    return head + "".join(f"  {field}: {value}\n" for field, value in spec.items())


def _template(random: Random) -> str:
    """A PodTemplate around what could be a pod."""
    _, metadata, spec = re.split(r"^(?:metadata|spec):", pod(random), flags=re.MULTILINE)
    inside = spec.replace("\n  ", "\n    ")
    return f"apiVersion: v1\nkind: PodTemplate\nmetadata: {{name: p}}\ntemplate:\n  metadata:{metadata}  spec:{inside}"
