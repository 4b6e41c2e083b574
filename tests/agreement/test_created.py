"""`expand` makes what real operators, of four releases, made of every recorded job, with all that the API server filled in."""

import pytest

from jobspec.apis.releases import RELEASES
from tests.agreement import known
from tests.agreement.__main__ import table_of_objects
from tests.agreement.created import made
from tests.support.reference import ROOT, folder

RECORDED = [f"training-operator-{release}" for release in RELEASES["training-operator"]]


@pytest.mark.parametrize("release", RECORDED)
def test_every_job_of_a_release(release: str) -> None:
    folder("golden", release)
    found = made(folder("golden"), release)
    assert len(found) > 150
    assert {each.record: list(each.differences()) for each in found if any(each.differences())} == {}


@pytest.mark.parametrize("release", RECORDED)
def test_records_that_hold_only_a_part_are_known(release: str) -> None:
    folder("golden", release)
    found = made(folder("golden"), release)
    assert sorted(each.record for each in found if not each.is_whole) == sorted(known.parts())
    assert all(len(each.theirs) < len(each.ours) for each in found if not each.is_whole)


def test_what_the_operator_does_not_make_is_reported() -> None:
    refused = ["blank-image", "chief-type", "elastic-nproc-both", "master-two", "master-zero", "name-digit-first", "name-dots"]
    refused += ["no-image", "no-pytorch-container", "unknown-type"]
    always = {"elastic-conf-empty": ["operator-crash"], "no-replica-types": ["refused-by-operator"], "suspended": ["no-pods-created"]}
    assert _reported("training-operator-1.7.0") == {
        **{name: ["refused-by-operator"] for name in refused},
        "no-containers": ["refused-by-operator", "operator-crash"],
        **always,
    }
    assert _reported("training-operator-1.9.4") == {**always, "managed-by-kueue": ["no-pods-created"]}


def _reported(release: str) -> dict[str, list[str]]:
    """The rules that we report of probes of which we expand nothing."""
    found = made(folder("golden"), release)
    return {each.record.rpartition("/")[2]: each.reported for each in found if each.record.startswith("probes/") and each.reported}


def test_the_readme_states_the_agreement_as_it_is() -> None:
    assert "\n".join(table_of_objects(folder("golden"))) in (ROOT / "docs/explanation/agreement.md").read_text()
