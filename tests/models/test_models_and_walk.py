"""Where a model's own validation and the walk differ: a closed list, each with its reason.

Models declare; the verdict comes from the walk alone. What a model says beside it is for people who build jobs in Python.
"""

from random import Random

import pytest

from jobspec import models
from jobspec.apis.kinds import MODELS
from tests.hunt.finds import report
from tests.hunt.models import differences, documents, finds, paths
from tests.support.seeds import seed


def test_real_manifests() -> None:
    found = [(document.file, document.name, *differences(document)) for document, _ in documents(paths())]
    assert len(found) > 40
    assert [each for each in found if len(each) > 2] == []


def test_mutants() -> None:
    assert report(finds(Random(seed()))) == ""


@pytest.mark.parametrize("kind", [kind for _, kind in MODELS])
def test_every_kind_is_public(kind: str) -> None:
    assert getattr(models, kind).RESOURCE.kind == kind
