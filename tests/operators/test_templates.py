"""Pod templates in objects of kinds that no room knows: found by settings, by schema, by form, and nowhere else."""

from typing import Any

import pytest
import yaml

from jobspec.apis.releases import choose
from jobspec.documents.reader import read
from jobspec.journey.checking import checked
from jobspec.journey.steps import Source
from jobspec.lint.linting import lint
from jobspec.operators.templates import PodTemplate, pods_setting
from jobspec.world.world import Cluster
from tests.support.crd_documents import definition

POD = {"containers": [{"name": "main", "image": "registry.example/train:1.0"}]}


def templates(spec: dict[str, Any], cluster: Cluster | None = None, *, kind: str = "AIJob", version: str = "example.com/v1") -> Any:
    data = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    documents, _ = read(yaml.safe_dump(data), file="a.yaml")
    return list((cluster or Cluster()).templates_in(documents[0]))


def test_a_template_has_the_name_and_the_number_that_are_beside_it() -> None:
    tasks = [{"name": "head", "template": {"spec": POD}}, {"replicas": 3, "template": {"spec": POD}}]
    assert templates({"tasks": tasks}) == [
        PodTemplate("head", ("spec", "tasks", 0, "template", "spec"), ("spec", "tasks", 0, "template", "metadata"), 1),
        PodTemplate("tasks[1]", ("spec", "tasks", 1, "template", "spec"), ("spec", "tasks", 1, "template", "metadata"), 3),
    ]
    roles = templates({"roles": {"Worker": {"replicas": 0, "podTemplate": {"spec": POD}}}})
    assert [(each.name, each.count) for each in roles] == [("a", 0)]


@pytest.mark.parametrize(
    "spec",
    [
        POD,
        {"template": {"spec": {"containers": [{"name": "main"}]}}},
        {"template": {"spec": {"containers": [{"image": "a:1"}]}}},
        {"template": {"spec": {"containers": [{"name": "main", "image": 1}]}}},
        {"template": {"spec": {"containers": [{"name": "main", "image": "a:1", "env": {"A": "b"}}]}}},
        {"template": {"apiVersion": "v1", "kind": "Pod", "spec": POD}},
        {"values": {"pod": POD}},
        None,
    ],
)
def test_what_is_no_template_by_its_form(spec: Any) -> None:
    assert templates(spec) == []


def test_settings_say_where_pods_are_and_how_many() -> None:
    spec = {"groups": {"one": {"pods": [{"number": 2, "pod": POD}, {"number": 4, "pod": {"spec": POD}}]}}}
    setting = pods_setting({"path": "spec.groups.*.pods[].pod", "count": "spec.groups.*.pods[].number"})
    found = templates(spec, Cluster(pods={("example.com", "AIJob"): [setting]}))
    assert [(each.path, each.count) for each in found] == [
        (("spec", "groups", "one", "pods", 0, "pod"), 2),
        (("spec", "groups", "one", "pods", 1, "pod", "spec"), 4),
    ]
    assert templates(spec) == []
    alone = Cluster(pods={("example.com", "AIJob"): [pods_setting({"path": "spec.pod", "count": 8})]})
    assert [each.count for each in templates({"pod": POD}, alone)] == [8]


def test_a_crd_shows_pods_in_other_places_than_templates() -> None:
    text = {"type": "string"}
    lists: dict[str, Any] = {"type": "array", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    container = dict.fromkeys(("env", "volumeMounts"), lists) | {"name": text, "image": text}
    container |= {name: {"type": "array", "items": text} for name in ("command", "args")}
    pod = {"containers": {"type": "array", "items": {"type": "object", "properties": container}}, "volumes": lists}
    schema = {"predictor": {"type": "object", "properties": pod}, "registry": {"type": "object", "properties": {"containers": lists}}}
    root = {"type": "object", "properties": {"spec": {"type": "object", "properties": schema}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}
    cluster = Cluster(crds=[definition({"versions": [version]})])
    found = templates({"predictor": POD, "registry": POD}, cluster, kind="Odd", version="odd.example.com/v1")
    assert [(each.path, each.metadata) for each in found] == [(("spec", "predictor"), None)]


def test_kinds_that_rooms_know_and_objects_without_pods_have_no_templates() -> None:
    template = {"template": {"spec": POD}}
    assert templates(template, kind="Job", version="batch/v1") == []
    assert templates(template, kind="ClusterPolicy", version="kyverno.io/v1") == []
    assert templates(template, kind="Overlay", version="jobspec.dev/v1alpha1") == []
    assert templates(template, kind="Service", version="v1") == []


def test_a_project_says_where_pods_are(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from jobspec.cli import main

    spec = {"workers": [{"number": 2, "pod": {"containers": [{"name": "main", "image": "registry.example/train:latest"}]}}]}
    job = {"apiVersion": "example.com/v1", "kind": "AIJob", "metadata": {"name": "a"}, "spec": spec}
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    setting = '"AIJob.example.com" = [{path = "spec.workers[].pod", count = "spec.workers[].number"}]'
    (tmp_path / "pyproject.toml").write_text(f"[tool.jobspec.pods]\n{setting}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["lint", ".", "-o", "concise"]) == 0
    said = capsys.readouterr().out
    assert "mutable tag" in said
    assert "pods of 1 object seen by template alone" in said
    (tmp_path / "pyproject.toml").write_text('[tool.jobspec.pods]\n"AIJob.example.com" = [{count = 2}]\n')
    assert main(["lint", "."]) == 2


def test_lint_of_templates_ends_for_odd_values() -> None:
    odd = {"template": {"metadata": [], "spec": {**POD, "volumes": None, "initContainers": None, "securityContext": None}}}
    data = {"apiVersion": "example.com/v1", "kind": "AIJob", "metadata": {"name": "a"}, "spec": odd}
    file = checked(Source("a.yaml", yaml.safe_dump(data), skip_unknown=True), (), Cluster(choose(())))
    assert [each.rule for result in lint([file], Cluster()) for each in result.diagnostics] == []
