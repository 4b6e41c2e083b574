"""`validate` says what real servers, with the operators of eight releases and their webhooks, said to every recorded manifest."""

import pytest

from jobspec.apis.releases import RELEASES
from tests.agreement import known
from tests.agreement.__main__ import table
from tests.agreement.records import is_known, named_fields, reported
from tests.support.reference import ROOT, folder

RECORDED = [f"trainer-{release}" for release in RELEASES["trainer"] if release != "2.2.0"]
RECORDED += [f"training-operator-{release}" for release in RELEASES["training-operator"]]


@pytest.mark.parametrize("release", RECORDED)
def test_every_record_of_a_release(release: str) -> None:
    golden = folder("golden")
    folder("golden", release)
    found = reported(golden, release)
    assert len(found) > 200
    assert {record.name: differences for record, differences in found if differences and not is_known(record)} == {}
    assert [record.name for record, differences in found if is_known(record) and not differences] == []


def test_what_is_known_to_differ_is_recorded() -> None:
    golden = folder("golden")
    names = {record.name for release in RECORDED for record, _ in reported(golden, release)}
    assert known.records().keys() <= names


def test_what_is_known_to_differ_live_is_asked_of_a_live_server() -> None:
    assert known.named_servers() == set(known.SERVERS)


@pytest.mark.parametrize(
    ("message", "fields"),
    [
        ('strict decoding error: unknown field "spec.a", unknown field "spec.b[0].c"', [("spec.a", False), ("spec.b[0].c", False)]),
        (
            'PyTorchJob.kubeflow.org "a" is invalid: [spec.a.Worker.b: Invalid value: "integer": it is, spec.c: Required value]',
            [("spec.a.Worker.b", False), ("spec.c", True)],
        ),
        (
            'admission webhook "v" denied the request: spec.a[Master].replicas: Forbidden: must be 1',
            [("spec.a.Master.replicas", False)],
        ),
        ('<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.a', [("spec.a", False)]),
        ("unsupported runtime: Runtime.trainer.kubeflow.org", []),
    ],
)
def test_the_fields_that_a_reply_names(message: str, fields: list[tuple[str, bool]]) -> None:
    assert list(named_fields(message)) == fields


def test_the_readme_states_the_agreement_as_it_is() -> None:
    readme = (ROOT / "docs/explanation/agreement.md").read_text()
    assert "\n".join(table(folder("golden"))) in readme
