"""What holds for every job: nothing is lost in silence, and a way there and back leads to the same pods."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from jobspec.apis.kinds import RUNTIMES
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import as_document
from jobspec.migrate.facts import Fact, JobFacts, Key, job_facts
from jobspec.migrate.jobs import MigratedJob, loss_report, migrate_to_trainjob, shared_key
from jobspec.migrate.releases import migrate_runtime, migrate_trainjob
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from tests.migrate.jobs import cluster, documents_of, jobs_among, text_of
from tests.support.job_growth import grown_job
from tests.support.seeds import seed
from tests.support.trainjob_growth import trainjob

_JOBS = 40


def _grown() -> Iterator[tuple[dict[str, Any], Document]]:
    """Random PyTorchJobs that a server accepts and whose operator does not crash."""
    random = Random(seed())
    for number in range(_JOBS):
        manifest = grown_job(f"job-{number}", random)
        documents, result = documents_of(text_of(manifest))
        if result.valid:
            yield manifest, documents[0]


@pytest.mark.slow
def test_every_job_becomes_one_that_a_server_takes_or_it_is_said_why_not() -> None:
    migrated = 0
    for trainer in ("2.0", "2.3"):
        for manifest, job in _grown():
            found = migrate_to_trainjob(job, [job], cluster(trainer))
            if not isinstance(found, MigratedJob):
                assert found.rule == "not-migrated"
                assert found.mark.line
                continue
            migrated += 1
            assert found.after
            text = text_of(*(each.data() for each in found.trees))
            assert [each for each in documents_of(text, trainer)[1].diagnostics if each.severity == "error"] == [], manifest
            assert found.after.nodes == found.before.nodes, manifest
            keys = {(rule, shared_key(each.key)) for rule, each in zip(found.rules(), found.differences, strict=True)}
            assert len(loss_report(found)) == len(keys)
    assert migrated > _JOBS


def _leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _leaves(each, (*path, name))
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _leaves(each, (*path, number))
    else:
        yield path


def _without(manifest: dict[str, Any], path: tuple[str | int, ...]) -> dict[str, Any]:
    changed = copy.deepcopy(manifest)
    inner: Any = changed
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return changed


def _objects(job: Document) -> list[str]:
    """The objects that the operator makes, without their places."""
    expansion = expand(job, [job], cluster().target)
    return [json.dumps(each.data(), sort_keys=True) for each in with_api_defaults(expansion.objects, [job], cluster().target)]


def _values(found: JobFacts) -> dict[Key, Any]:
    return {key: fact.value for key, fact in found.facts.items()}


def _is_unseen(manifest: dict[str, Any], path: tuple[str | int, ...]) -> bool:
    """Whether nobody looks at a field: at ports, without which pods are reached as well, and at a variable that the operator sets again."""
    item: Any = manifest
    for step in path[:-1]:
        item = item[step]
    return "ports" in path or ("env" in path and item.get("name") == "RANK")


def test_what_changes_the_objects_of_an_operator_is_seen() -> None:
    random = Random(seed())
    seen = 0
    for manifest, job in _grown():
        path = random.choice(list(_leaves(manifest["spec"], ("spec",))))
        documents, result = documents_of(text_of(_without(manifest, path)))
        if not result.valid or _is_unseen(manifest, path) or _objects(job) == _objects(documents[0]):
            continue
        seen += 1
        before, after = (_values(job_facts(each, [each], cluster().target)) for each in (job, documents[0]))
        assert before != after, path
    assert seen > _JOBS // 6


def _there(documents: list[Document], before: str, after: str) -> tuple[list[Document], MigratedJob] | None:
    """The documents of a TrainJob and its runtime in the words of another release; None where they are not migrated."""
    new = [as_document(migrate_runtime(each, cluster(after).target)[0], each) for each in documents if each.group_kind in RUNTIMES]
    (job,) = jobs_among(documents, ("trainer.kubeflow.org", "TrainJob"))
    found, _ = migrate_trainjob(job, documents, new, cluster(before).target, cluster(after))
    if found.refusals:
        return None
    text = text_of(*(each.data for each in [*new, *found.documents]))
    read, result = documents_of(text, after)
    assert result.valid, result.diagnostics
    return read, found


@pytest.mark.slow
def test_there_and_back_again_are_the_same_pods() -> None:
    random = Random(seed())
    compared = 0
    for number in range(_JOBS):
        documents, result = documents_of(text_of(*trainjob(random, f"job-{number}", "ml")), "2.0")
        there = _there(documents, "2.0", "2.3") if result.valid else None
        back = _there(there[0], "2.3", "2.0") if there else None
        if not there or not back:
            continue
        compared += 1
        (job,) = jobs_among(documents, ("trainer.kubeflow.org", "TrainJob"))
        (again,) = jobs_among(back[0], ("trainer.kubeflow.org", "TrainJob"))
        target = cluster("2.0").target
        first, second = _values(job_facts(job, documents, target)), _values(job_facts(again, back[0], target))
        reported_before = {each.key for each in there[1].differences}
        assert {key: value for key, value in first.items() if key not in reported_before} == {
            key: value for key, value in second.items() if key not in reported_before
        }
    assert compared > _JOBS // 3


def test_a_fact_says_where_it_comes_from() -> None:
    for _, job in _grown():
        facts: dict[Key, Fact] = job_facts(job, [job], cluster().target).facts
        assert all(str(each.mark) for each in facts.values())
