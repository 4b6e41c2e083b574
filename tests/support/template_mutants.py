"""Random pod templates of jobs: those of real jobs and grown ones, after changes inside of them."""

from random import Random
from typing import Any

from jobspec.documents.reader import read
from jobspec.schemas.shapes import Shape
from tests.agreement.corpus import ENDLESS
from tests.support import pod_mutants, quick_yaml
from tests.support.mutants import at_one_place, at_two_places

Data = dict[str, Any]


def changed(template: Data, shape: Shape, random: Random) -> Data:
    """A template, or another part of a manifest with that shape, after changes at one place or at more."""
    while True:
        made = _changed(template, shape, random)
        if isinstance(made, dict) and made != template and not ENDLESS.search(str(made)):
            return made


def _changed(template: Data, shape: Shape, random: Random) -> Any:
    if random.random() < 0.6:
        return pod_mutants.changed(template, shape, random, times=random.choice((1, 1, 1, 2, 2, 3)))
    text = random.choice((at_one_place, at_one_place, at_two_places))(quick_yaml.dump(template, sort_keys=False), shape, random)
    documents, problems = read(text, file="template.yaml")
    return documents[0].data if documents and not problems else None
