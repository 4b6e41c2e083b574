"""Objects at random around the rules of our kinds: `validate` and a server say the same to them."""

import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from jobspec.world.world import Cluster
from tests.hunt.finds import Find
from tests.support.checking import result
from tests.support.ruled import MAKERS
from tests.support.server import Server, target


def finds(server: Server, random: Random, folder: Path, tally: Counter[str], *, count: int = 400) -> Iterator[Find]:
    """The objects on which a server and we disagree; the tally counts those that the server accepts and refuses."""
    file = folder / "object.json"
    objects = [random.choice(MAKERS)(random) for _ in range(count)]
    with ThreadPoolExecutor(6) as pool:
        answers = pool.map(lambda made: server.judge(made["kind"], json.dumps(made)), objects)
        for made, answer in zip(objects, answers, strict=True):
            file.write_text(json.dumps(made))
            found = result(file, Cluster(target(), webhooks=False)).diagnostics
            tally["accepted" if answer.accepted else "refused"] += 1
            if answer.accepted != (not found):
                yield Find(json.dumps(made), str(found), str(answer), "control-plane", answer.accepted)
