"""What Kueue does to jobs: each case says beside a job's name what becomes of it, and words of why."""

import re
from pathlib import Path

import pytest

from jobspec.apis.releases import choose
from jobspec.documents.reader import read
from jobspec.journey.reading import items_of
from jobspec.operators.kueue.admission import ask
from jobspec.operators.kueue.fitting import fitting
from jobspec.operators.kueue.versions import KINDS
from jobspec.operators.kueue.workload import workload_of
from jobspec.operators.kueue.world import world_of
from jobspec.operators.workloads import queued_object
from jobspec.reports.queue import Asked, TextOptions, text_report
from tests.support.reference import ROOT

CASES = sorted((ROOT / "tests" / "cases" / "queues").glob("*.yaml"))
_EXPECTATION = re.compile(r"[nN]ame: .*?# ~ (\w+)(?:: (.*))?$")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_job_is_said_what_is_expected(path: Path) -> None:
    text = path.read_text()
    documents = [each for document in read(text, file=path.name)[0] for each in items_of(document)]
    world = world_of([each.data for each in documents])
    expected = {
        number: (match[1], match[2] or "") for number, line in enumerate(text.splitlines(), 1) if (match := _EXPECTATION.search(line))
    }
    found = {}
    for job in (each for each in documents if queued_object(each).group_kind in KINDS):
        answer = ask(workload_of(queued_object(job), documents, choose(()), world), world)
        line = job.marks.nearest(("metadata", "name" if job.name else "generateName")).place().line
        found[line] = answer.verdict
        asked = Asked(job, answer, room=fitting(answer, world))
        words = re.sub(r"\s+", " ", text_report([asked], world, TextOptions(100, "0.19.2", colour=False)))
        assert all(part in words for part in expected[line][1].split("; ") if part), words
    assert found == {line: verdict for line, (verdict, _) in expected.items()}
