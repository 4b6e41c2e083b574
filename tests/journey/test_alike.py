"""Jobs that are alike are judged once: it does not matter which of them comes first and is looked at."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random

import pytest

from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Source
from jobspec.lint.linting import lint
from jobspec.operators.workloads import is_workload
from jobspec.world.alike_results import AlikeResults
from jobspec.world.world import Cluster
from tests.hunt import alike
from tests.support.cases import target_of
from tests.support.reference import ROOT, folder

CASES = ROOT / "tests" / "cases"


def _judged(texts: dict[str, str], target: Mapping[str, str]) -> list[FileResult]:
    """Return the results of files that are judged in one world."""
    cluster = Cluster(target)
    files = [TextFile(Source(name, text, skip_unknown=True)) for name, text in texts.items()]
    return lint(travel(Journey(files, cluster, outcome=True)), cluster, lambda _: True)


def _said(result: FileResult) -> list[str]:
    """Return all that the report says of a file, where one of several other jobs may be named."""
    rows = [(each.index, each.status, each.runs, each.name) for each in result.documents]
    said = [str(rows), *(f"{each.as_dict()} {each.changes}" for each in result.diagnostics)]
    return [re.sub(r"-[78]\b", "", each) for each in said]


def _in_any_order(result: FileResult) -> FileResult:
    """Return the result without the rule that tells the later one of two jobs."""
    return result.with_only([each for each in result.diagnostics if each.rule != "shared-subdomain"], ignored=0)


def _jobs(text: str) -> list[Document]:
    return [each for each in read(text, file="")[0] if is_workload(each) and re.search(r"\d", each.name)]


def _renamed(text: str) -> str:
    """Return the jobs of a text, and what names them, under names of the same form and length."""
    for each in _jobs(text):
        text = text.replace(each.name, re.sub(r"\d", lambda digit: str((int(digit[0]) + 1) % 10), each.name))
    return text


def _with_numbers(text: str) -> str:
    """Return a text in which the names of jobs end with a number."""
    return re.sub(r"(?m)^(metadata: *\{ *name: *|  name: *)([a-z][a-z0-9-]*)\b", r"\g<1>\g<2>-7", text)


def _differences(files: list[Path], change: Callable[[str], str] = _renamed) -> tuple[int, list[str]]:
    """Return how many files hold jobs that have others like them, and which files differ.

    Of those that differ, other things are said in another order. *change* makes the text of the others.
    """
    count, wrong = 0, []
    for path in files:
        first = _with_numbers(path.read_text())
        second, target = change(first), target_of(first)
        if second == first:
            continue
        one, other = (
            {each for result in _judged(texts, target) for each in _said(_in_any_order(result))} for texts in _orders(first, second)
        )
        count += 1
        wrong += [f"{path}: {one ^ other}"] * (one != other)
    return count, wrong


def _orders(first: str, second: str) -> list[dict[str, str]]:
    return [{"a.yaml": first, "b.yaml": second}, {"b.yaml": second, "a.yaml": first}]


_SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in ("lint", "outcome", "validate")]


@pytest.mark.parametrize("name", ["guides", "ordinary", *_SLOW])
def test_jobs_that_are_alike_are_judged_the_same_in_any_order(name: str) -> None:
    count, wrong = _differences(sorted((CASES / name).glob("*.yaml")))
    assert wrong == []
    assert count


@pytest.mark.parametrize("name", ["guides", "policies", *_SLOW[1:]])  # rules of lint name lines of the others
def test_equal_documents_are_judged_the_same_in_any_order(name: str) -> None:
    count, wrong = _differences(sorted((CASES / name).glob("*.yaml")), lambda text: f"# the same, a line below\n{text}")
    assert wrong == []
    assert count


def _with_longer_names(text: str) -> list[str]:
    """Return a text with names of four lengths, two of which are equal, and the last of which are too long for some objects."""
    return [text.replace("-7", f"-{number}") for number in ("7", "8", "777", "7" * 24, "7" * 50)]


def _orders_of_lengths(text: str) -> Iterator[dict[str, str]]:
    """Yield texts with longer names from the shortest on, and in orders in which those between are known by the others."""
    files = {f"{number}.yaml": each for number, each in enumerate(_with_longer_names(text))}
    for order in ((0, 1, 2, 3, 4), (3, 0, 2, 1, 4)):
        yield {name: files[name] for name in (f"{number}.yaml" for number in order)}


def _reused_wrongly(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str]]:
    """Return how many results were reused for jobs with names of other lengths, and which files are then judged otherwise."""
    reused, wrong, of = 0, [], AlikeResults.of

    def counted(results: AlikeResults, document: Document, *met: object) -> object:
        nonlocal reused
        found = of(results, document, *met)
        reused += found is not None
        return found

    for path in files:
        text = _with_numbers(path.read_text())
        for texts in _orders_of_lengths(text) if _jobs(text) else ():
            said = []
            for asked in (counted, lambda *_: None):
                monkeypatch.setattr(AlikeResults, "of", asked)
                said.append([_said(each) for each in _judged(texts, target_of(text))])
            wrong += [str(path)] * (said[0] != said[1])
    return reused, wrong


@pytest.mark.parametrize("name", ["guides", "ordinary", *_SLOW])
def test_jobs_with_names_of_other_lengths_are_judged_as_by_themselves(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reused, wrong = _reused_wrongly(sorted((CASES / name).glob("*.yaml")), monkeypatch)
    assert wrong == []
    assert reused


@pytest.mark.slow
def test_public_jobs_with_names_of_other_lengths_are_judged_as_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    reused, wrong = _reused_wrongly(sorted(folder("corpus", "manifests").rglob("*.yaml")), monkeypatch)
    assert wrong == []
    assert reused


@pytest.mark.slow
def test_public_jobs_that_are_alike_are_judged_the_same_in_any_order() -> None:
    count, wrong = _differences(sorted(folder("corpus", "manifests").rglob("*.yaml")))
    assert wrong == []
    assert count


_SHARING = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: NAME}
spec:
  network: {subdomain: SERVICE}
  replicatedJobs:
  - name: workers
    template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1", command: [python, t.py]}]}}}}
"""


def test_jobs_that_are_alike_may_differ_in_what_comes_before_them() -> None:
    """A rule finds what all files say together once. It is asked again for each job, although what it found is kept."""
    named = {"other": "mine", "run-1": "shared", "run-2": "shared", "run-3": "shared"}
    texts = {f"{name}.yaml": _SHARING.replace("NAME", name).replace("SERVICE", service) for name, service in named.items()}
    found = _judged(texts, target_of(""))
    assert [each.path for each in found if any(one.rule == "shared-subdomain" for one in each.diagnostics)] == ["run-2.yaml", "run-3.yaml"]


_SET = _SHARING.replace("  network: {subdomain: SERVICE}\n", "")
_SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: run-2}\nspec: {selector: {app: x}, ports: [{port: 80}]}\n"
_JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: NAME}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: "a:1", command: [python, t.py]}]}}
"""
_POLICY = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {matchLabels: {training.kubeflow.org/job-name: run-2}}, policyTypes: [Ingress]}
"""


@pytest.mark.parametrize(("job", "beside", "rule"), [(_SET, _SERVICE, "taken-service-name"), (_JOB, _POLICY, "blocked-by-policy")])
def test_jobs_that_are_alike_may_differ_in_the_objects_of_their_names(job: str, beside: str, rule: str) -> None:
    """An operator names objects, and labels pods, by the name of a job: what has such a name or label concerns this job alone."""
    texts = {f"{number}.yaml": job.replace("NAME", f"run-{number}") for number in range(4)}
    found = _judged({**texts, "other.yaml": beside}, target_of(""))
    assert [each.path for each in found if any(one.rule == rule for one in each.diagnostics)] == ["2.yaml"]


def test_jobs_that_are_alike_are_judged_as_by_themselves_among_objects_of_their_names() -> None:
    tally = Counter[str]()
    assert [*alike.finds(Random(1), tally, count=60)] == []
    assert tally["results that were reused"] > 500


_LEADER_WORKER_SET = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: NAME}
spec:
  leaderWorkerTemplate:
    size: 4
    workerTemplate: {spec: {containers: [{name: a, image: "a:1"}]}}
"""


def test_long_names_of_leader_worker_sets_leave_place_for_a_hash_or_not() -> None:
    """The label `controller-revision-hash` ends with a hash of at most 10 characters: a name of 51 fits one of 9."""
    texts = {f"{number}.yaml": _LEADER_WORKER_SET.replace("NAME", f"{'a' * 47}-{number}") for number in range(100, 130)}
    alone = [_said(each) for name, text in texts.items() for each in _judged({name: text}, target_of(""))]
    assert len({"pods-refused" in str(each) for each in alone}) == 2
    assert [_said(each) for each in _judged(texts, target_of(""))] == alone


REFUSED = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train-7}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicaz: ${REPLICAS}
      restartPolicy: 1
      template: {spec: {containers: [{name: pytorch, image: "a:1", comand: [python, train.py]}]}}
"""


def _alone_and_behind(first: str, second: str) -> tuple[list[str], list[str]]:
    """Return what is said of the second of two texts, by itself, and behind the first one."""
    target = target_of(first)
    (alone,) = _judged({"b.yaml": second}, target)
    _, behind = _judged({"a.yaml": first, "b.yaml": second}, target)
    return _said(alone), _said(behind)


@pytest.mark.parametrize(
    "second",
    [
        REFUSED.replace("-7", "-8"),
        REFUSED.replace("-7", "-1234"),
        f"# A comment.\n{REFUSED}".replace("-7", "-8"),
        REFUSED.replace("{name: train-7}", "{name: train-8, labels: 1}"),
        REFUSED.replace("train-7", "train_8"),
        REFUSED.replace("train-7", f"train-{'7' * 60}"),
        f"{REFUSED}---\n{REFUSED}".replace("-7", "-8"),
        f"apiVersion: v1\nkind: List\nitems:\n- {REFUSED.rstrip()}\n".replace("\n", "\n  ").replace(
            "\n  kind: List\n  items:\n  -", "\nkind: List\nitems:\n-"
        ),
    ],
)
def test_a_refused_job_is_reported_as_by_itself(second: str) -> None:
    alone, behind = _alone_and_behind(REFUSED, second)
    assert alone == behind
    assert len(alone) > 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["validate", "misspelt"])
def test_jobs_of_our_cases_are_reported_as_by_themselves(name: str) -> None:
    texts = [_with_numbers(path.read_text()) for path in sorted((CASES / name).glob("*.yaml"))]
    pairs = [(each, _renamed(each)) for each in texts]
    said = [_alone_and_behind(first, second) for first, second in pairs if first != second]
    assert [alone for alone, _ in said] == [behind for _, behind in said]
    assert said
