"""What a hunt found is fixed: each find that is kept is said to be what a server said, or has no difference any more."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tests.hunt import __main__ as program
from tests.hunt import hunts
from tests.hunt.finds import Find, kept, load, we_accept, write
from tests.hunt.hunts import DIFFERENCES, HUNTS, Hunt
from tests.support.reference import ROOT

_JOB = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec: {pytorchReplicaSpecs: {}}"


@pytest.mark.parametrize("path", kept(), ids=lambda path: path.stem)
def test_what_was_found_is_fixed(path: Path, tmp_path: Path) -> None:
    find = load(path)
    if find.server:
        assert we_accept(find, tmp_path) == find.accepted, str(find)
    else:
        assert DIFFERENCES[find.hunt](find.manifest, tmp_path) == ""


@pytest.mark.parametrize(
    "find",
    [
        Find(_JOB, "[]", "422 no", "control-plane", hunt="mutants", seed=1),
        Find(_JOB + "\r\n\n", "ä\n", "201 ", "operators", accepted=True, target="trainer=2.0.0", hunt="webhooks"),
        Find(_JOB, "a", "b", "operators", outcome=True, hunt="job-pods"),
        Find("{}", "a", "b", "control-plane", crd=_JOB, stored="a: 1\n", hunt="objects"),
    ],
)
def test_a_find_is_read_back_as_it_was_written(find: Find, tmp_path: Path) -> None:
    back = load(write(find, tmp_path))
    assert replace(back, crd=find.crd, stored=find.stored) == find
    assert (back.crd.rstrip("\n"), back.stored.rstrip("\n")) == (find.crd.rstrip("\n"), find.stored.rstrip("\n"))


def test_a_find_that_is_not_fixed_is_seen(tmp_path: Path) -> None:
    find = Find(_JOB, "", "", "control-plane")
    assert we_accept(find, tmp_path)
    assert not we_accept(replace(find, manifest=_JOB.replace("{}", "1")), tmp_path)
    queues = [_JOB.replace("spec: {", f"spec: {{runPolicy: {{schedulingPolicy: {{queue: {name}}}}}, ") for name in "ab"]
    assert not we_accept(replace(find, manifest=queues[0], stored=queues[1]), tmp_path)
    assert not we_accept(replace(find, manifest="# nothing"), tmp_path)
    job = (ROOT / "tests" / "cases" / "outcome" / "mount-without-volume.yaml").read_text()
    assert we_accept(replace(find, manifest=job), tmp_path)
    assert not we_accept(replace(find, manifest=job, outcome=True), tmp_path)


def test_a_hunt_prints_and_keeps_what_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def finds(_: hunts.Ground, random: Random) -> list[Find]:
        return [Find(f"a: {random.random()}", "ours", "theirs")]

    monkeypatch.setattr(program, "HUNTS", (Hunt("odd", finds), Hunt("absent", finds, lambda _: pytest.skip("no server"))))
    assert program.main(["--minutes", "0", "--seed", "7", "--to", str(tmp_path)]) == 1
    (path,) = kept(tmp_path)
    assert load(path) == Find(f"a: {Random(7).random()}", "ours", "theirs", hunt="odd", seed=7)
    reported = capsys.readouterr().out
    assert str(path) in reported
    assert "absent is left out: no server\n" in reported
    assert "odd, seed 7: 1 found in 0 s\n" in reported


def test_every_hunt_that_asks_no_server_can_look_again() -> None:
    assert {hunt.name for hunt in HUNTS} > DIFFERENCES.keys()
    assert len({hunt.name for hunt in HUNTS}) == len(HUNTS)
