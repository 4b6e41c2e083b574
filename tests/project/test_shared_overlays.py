"""The law of overlays that the variants of an entry share: applied once for all of them they come to what they come to for each."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings

from jobspec.apis.kinds import PROJECT_FILE
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Marks
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.journey.steps import Source
from jobspec.project.project import LoadedProject, Sources
from jobspec.project.rendering import objects_of
from jobspec.project.variants import PlannedVariant, variants_of
from jobspec.world.world import Cluster
from tests.support.projects import RandomProject, projects
from tests.support.seeds import examples

BASE = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: job}
spec: {runtimeRef: {name: elsewhere}, trainer: {numNodes: 2}}
"""
WITH_PROBLEMS = """\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: large}
spec:
  override: true
  pods:
    - {flags: {--lr: 1}}
    - {template: {spec: {volumes: {$append: [{name: data, persistentVolumeClaim: {claimName: data}}]}}}, roles: [master]}
"""
HEAD = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n"


def _variants(files: dict[str, str]) -> tuple[Sequence[PlannedVariant], Cluster]:
    project = LoadedProject(read(files[PROJECT_FILE], file=PROJECT_FILE)[0][0], files[PROJECT_FILE])
    cluster = Cluster(project.asked_releases)
    variants, problems = variants_of(project, Sources(lambda path: Source(path, files[path]), cluster))
    assert not problems
    return variants, cluster


def _places(marks: Marks) -> Iterator[tuple[Any, ...]]:
    mark = marks.mark
    yield mark.file, mark.line, mark.column, mark.layer, mark.layer_kind
    children = marks.children or ()
    for each in children.values() if isinstance(children, dict) else children:
        yield from _places(each)


def _said(found: tuple[list[Document], list[Diagnostic]]) -> tuple[Any, ...]:
    """Everything that is said of a variant: the values of its objects in their order, where each is written, and what is wrong."""
    documents, problems = found
    objects = [(repr(each.data), list(_places(each.marks))) for each in documents]
    return objects, [(each.rule, str(each.mark), each.message, each.severity) for each in problems]


def _shared(project: RandomProject) -> RandomProject:
    """The same project, in which each entry has overlays and at least two combinations."""

    def entry(each: dict[str, Any]) -> dict[str, Any]:
        matrix = {**each.get("matrix", {}), "twin": [1, 2]}
        return {**each, "name": f"{each['name']}-${{twin}}", "matrix": matrix, "overlays": each.get("overlays") or ["istio-off"]}

    return replace(project, spec={**project.spec, "variants": [entry(each) for each in project.spec["variants"]]})


def _law(files: dict[str, str]) -> int:
    """Holds the law for the variants of a project; returns how many have overlays that are applied once."""
    variants, cluster = _variants(files)
    shared = [each for each in variants if each.shared and each.shared.overlays]
    for each in shared:
        assert _said(objects_of(each, cluster)) == _said(objects_of(replace(each, shared=None), cluster)), each.name
    return len(shared)


def test_overlays_that_are_applied_once_come_to_the_same() -> None:
    found: list[int] = []

    @settings(max_examples=examples(40, fresh=40))
    @given(projects())
    def law(project: RandomProject) -> None:
        found.append(_law(_shared(project).files))

    law()
    assert sum(found) > 100


def test_problems_of_shared_overlays_are_those_of_each_variant() -> None:
    entry = "{name: 'a-${seed}', base: base.yaml, namespace: ml, overlays: [large.yaml], matrix: {seed: [1, 2, 3]}, labels: {n: '${seed}'}}"
    files = {"base.yaml": BASE, "large.yaml": WITH_PROBLEMS, PROJECT_FILE: f"{HEAD}  variants: [{entry}]\n"}
    assert _law(files) == 3
    variants, cluster = _variants(files)
    for variant in variants:
        _, problems = objects_of(variant, cluster)
        assert sorted(each.rule for each in problems) == ["unresolved-reference", "volume-not-shared"]


def test_overlays_are_applied_to_each_base_and_namespace_of_a_matrix() -> None:
    entry = "{name: 'a-${of}', %s, overlays: [istio-off], matrix: {of: [one, two]}}"
    files = {"one.yaml": BASE, "two.yaml": BASE.replace("numNodes: 2", "numNodes: 3")}
    for said in ("base: '${of}.yaml'", "base: one.yaml, namespace: '${of}'"):
        variants, cluster = _variants({**files, PROJECT_FILE: f"{HEAD}  variants: [{entry % said}]\n"})
        assert [each.shared for each in variants] == [None, None]
        assert len({repr(objects_of(each, cluster)[0][0].data) for each in variants}) == 2
