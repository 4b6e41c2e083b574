"""Files at random migrate to what they say: one seed of the hunt `migrations`, which looks with others."""

from random import Random

import pytest

from tests.hunt import migrations
from tests.hunt.finds import report
from tests.migrate.jobs import pytorchjob, text_of
from tests.support.seeds import seed


@pytest.mark.slow
def test_a_migration_reports_what_its_pods_have_lost() -> None:
    assert not report(migrations.finds(Random(seed()), count=8))


JOB = text_of(pytorchjob({"workingDir": "/x", "env": [{"name": "A", "value": "b"}]}, nprocPerNode="1"))


def test_the_hunt_sees_what_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert migrations.difference(JOB) == ""
    monkeypatch.setattr(migrations, "to_trainjobs", lambda files, _, **__: [migrations.MigratedFile(files[0], JOB.replace("/x", "/y"), [])])
    assert "workingDir" in migrations.difference(JOB)
