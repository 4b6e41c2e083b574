"""`jobspec krm`: the ResourceList that kustomize and kpt send, and real kustomize around it."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import quick_yaml
from tests.support.processes import environment, program, run
from tests.support.reference import ROOT

JOB = (ROOT / "tests" / "cases" / "guides" / "distributed.yaml").read_text(encoding="utf-8")
SERVICE = """\
# a comment above
- apiVersion: v1
  kind: Service # a comment beside
  metadata: {name: "a", annotations: {config.kubernetes.io/path: a.yaml, config.kubernetes.io/index: "1"}}
  spec: {ports: [{port: 80}]}
"""


def _entry(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(("#", "---"))]
    return "".join(f"{'  ' if number else '- '}{line}\n" for number, line in enumerate(lines))


def _list(config: str, *items: str) -> str:
    head = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {config}\n"
    return head + (f"items:\n{''.join(items)}" if items else "items: []\n")


def _spec(text: str) -> str:
    return f"{{apiVersion: jobspec.dev/v1alpha1, kind: Function, metadata: {{name: f}}, spec: {text}}}"


def _data(text: str) -> str:
    return f"{{apiVersion: v1, kind: ConfigMap, metadata: {{name: f}}, data: {text}}}"


def _krm(text: str) -> tuple[int, dict[str, Any], str]:
    done = run("krm", stdin=text)
    return done.returncode, quick_yaml.load(done.stdout), done.stdout


@pytest.mark.parametrize(
    "config", [_spec("{overlays: [{gpu-nccl: {gpus: 2}}, istio-off]}"), _data('{overlays: "gpu-nccl, istio-off", set: gpu-nccl.gpus=2}')]
)
def test_overlays_are_what_render_makes_of_the_job_and_the_rest_is_kept(config: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    rendered = run("render", tmp_path / "job.yaml", "--overlay", "gpu-nccl", "--overlay", "istio-off", "--set", "gpu-nccl.gpus=2")
    code, answer, text = _krm(_list(config, SERVICE, _entry(JOB), SERVICE.replace('"a"', '"b"')))
    assert code == 0
    assert answer["items"][1] == quick_yaml.load(rendered.stdout)
    assert [each["metadata"]["name"] for each in answer["items"]][::2] == ["a", "b"]
    assert text.count(SERVICE) == 1 and SERVICE.replace('"a"', '"b"') in text


def _overlay(spec: str) -> str:
    return f"{{apiVersion: jobspec.dev/v1alpha1, kind: Overlay, metadata: {{name: team, annotations: {{a: b}}}}, spec: {spec}}}"


def test_what_overlays_add_follows_the_items() -> None:
    companion = "{apiVersion: v1, kind: ConfigMap, metadata: {name: added}, data: {a: b}}"
    code, answer, text = _krm(_list(_overlay(f"{{resources: [{companion}]}}"), _entry(JOB), SERVICE))
    assert code == 0, text
    assert [each["kind"] for each in answer["items"]] == ["PyTorchJob", "Service", "ConfigMap"]
    assert SERVICE in text


def test_an_overlay_can_be_the_function_config() -> None:
    code, answer, text = _krm(_list(_overlay("{job: {PyTorchJob: {metadata: {labels: {team: a}}}}}"), _entry(JOB)))
    assert code == 0, text
    assert answer["items"][0]["metadata"]["labels"] == {"team": "a"}


def test_a_check_names_object_field_and_file_and_changes_nothing() -> None:
    given = _list(_spec("{check: validate}"), SERVICE.replace("port: 80", "port: 80000"), _entry(JOB))
    code, answer, text = _krm(given)
    assert code == 1
    assert text.startswith(given)
    (found,) = answer["results"]
    assert found["severity"] == "error"
    assert found["resourceRef"] == {"apiVersion": "v1", "kind": "Service", "name": "a"}
    assert found["field"]["path"] == "spec.ports[0].port"
    assert found["file"] == {"path": "a.yaml", "index": 1}


@pytest.mark.parametrize(("fails", "code"), [("error", 0), ("info", 1)])
def test_lint_fails_on_what_is_said(fails: str, code: int) -> None:
    ended, answer, _ = _krm(_list(_data(f"{{check: lint, fail-on: {fails}}}"), _entry(JOB)))
    assert {each["severity"] for each in answer["results"]} == {"info"}
    assert ended == code


def test_overlays_are_not_applied_to_what_is_wrong() -> None:
    given = _list(_spec("{overlays: [cpu]}"), _entry(JOB.replace("replicas:", "replcas:")))
    code, answer, text = _krm(given)
    assert code == 1 and text.startswith(given) and "replicas" in answer["results"][0]["message"]


def test_everything_wrong_with_the_function_config_is_reported_at_once() -> None:
    code, answer, _ = _krm(_list(_spec("{overlay: [a], overlays: [cpuu, [b]], check: lynt, fail-on: x, target: [y]}"), SERVICE))
    said = "\n".join(each["message"] for each in answer["results"])
    assert code == 1
    for part in (
        "spec.overlay: no such field",
        "did you mean `cpu`",
        "spec.overlays[1]:",
        "lynt is not one of",
        "x is not one of",
        "OPERATOR=RELEASE",
    ):
        assert part in said
    assert "set `overlays: [cpu]`" in _krm(_list("{}"))[1]["results"][0]["message"]


@pytest.mark.parametrize("text", ["", "kind: Pod\n", "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: {}\n", "a: [\n"])
def test_what_is_no_resource_list_is_refused(text: str) -> None:
    done = run("krm", stdin=text)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("jobspec: standard input")


@pytest.mark.skipif(not shutil.which("kustomize"), reason="kustomize is not installed")
def test_kustomize_runs_it(tmp_path: Path) -> None:
    function = tmp_path / "jobspec-krm"
    function.write_text(f"#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m jobspec krm\n", encoding="utf-8")
    function.chmod(0o755)
    (tmp_path / "job.yaml").write_text(JOB, encoding="utf-8")
    (tmp_path / "kustomization.yaml").write_text("resources: [job.yaml]\ntransformers: [gpu.yaml, check.yaml]\n", encoding="utf-8")
    for name, spec in (("gpu", "{overlays: [gpu-nccl: {gpus: 2}, pvc-output]}"), ("check", "{check: lint}")):
        _write_function(tmp_path, name, spec)
    build = ("kustomize", "build", "--enable-alpha-plugins", "--enable-exec", tmp_path)
    built = program(*build, env=environment())
    assert built.returncode == 0, built.stderr
    assert "nvidia.com/gpu: 2" in built.stdout and "claimName: data" in built.stdout
    _write_function(tmp_path, "check", "{check: lint, fail-on: info}")
    assert program(*build, env=environment()).returncode != 0


def _write_function(folder: Path, name: str, spec: str) -> None:
    annotation = "{config.kubernetes.io/function: 'exec: {path: ./jobspec-krm}'}"
    text = f"apiVersion: jobspec.dev/v1alpha1\nkind: Function\nmetadata: {{name: {name}, annotations: {annotation}}}\nspec: {spec}\n"
    (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
