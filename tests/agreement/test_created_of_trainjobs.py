"""`expand` makes what real trainers, of four releases, with JobSet and Kubernetes behind them, made of every recorded TrainJob."""

import pytest

from jobspec.apis.releases import RELEASES
from tests.agreement import known
from tests.agreement.created_of_trainjobs import made_of_trainjobs
from tests.support.reference import folder

RECORDED = [f"trainer-{release}" for release in RELEASES["trainer"] if release != "2.2.0"]  # of which 2.2.1 changes updates alone


@pytest.mark.parametrize("release", RECORDED)
def test_every_job_of_a_release(release: str) -> None:
    folder("golden", release)
    found = made_of_trainjobs(folder("golden"), release)
    assert len(found) >= 70
    assert {each.record: list(each.differences()) for each in found if any(each.differences())} == {}


def test_records_that_hold_only_a_part_are_known() -> None:
    folder("golden")
    found = [each for release in RECORDED for each in made_of_trainjobs(folder("golden"), release) if not each.is_whole]
    assert {each.record for each in found} == set(known.trainjob_parts())
    assert all(len(each.theirs) < len(each.ours) for each in found)


def test_demonstrations_of_shipped_runtimes_are_a_remark_in_ours() -> None:
    """Those of jobs without a command of their own; later releases ship no demonstrations."""
    folder("golden")
    found = {release: [each.record for each in made_of_trainjobs(folder("golden"), release) if each.has_remark] for release in RECORDED}
    probes = [f"probes/trainjob/{name}" for name in ("args-only", "deepspeed-bare", "no-command", "no-trainer")]
    assert [name for name in found["trainer-2.0.0"] if name.startswith("probes/")] == probes
    assert [len(found[release]) for release in RECORDED] == [9, 0, 0, 0]


def test_what_the_trainer_does_not_make_is_reported() -> None:
    """Of no job that has its JobSet on record; of those that have none, all but what an absent scheduler prevents."""
    folder("golden")
    reported = {
        release: {each.record: each.reported for each in made_of_trainjobs(folder("golden"), release) if each.reported}
        for release in RECORDED
    }
    too_long = {f"probes/trainjob/name-{length}": ["jobset-refused"] for length in (54, 63)}
    newest = {"probes/trainjob/managed-by-kueue": ["no-pods-created"], "probes/trainjob/patch-job-unknown": ["jobset-refused"]}
    assert reported == {**dict.fromkeys(RECORDED, too_long), "trainer-2.3.0": {**too_long, **newest}}
