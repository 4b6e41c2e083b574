"""What commands do, in Python: lint, fix, expand, migrate, projects and their changes, with typed results."""

import re
from pathlib import Path

import pytest

import jobspec
from jobspec import api
from jobspec.models import TrainJob
from jobspec.models.meta import ObjectMeta
from jobspec.models.trainjob import RuntimeRef, Trainer, TrainJobSpec
from tests.support.manifests import JOB, PROJECT_HEAD, files_in, write
from tests.support.processes import run_here
from tests.support.repositories import committed

TRAINJOB = TrainJob(
    metadata=ObjectMeta(name="bert"),
    spec=TrainJobSpec(runtime_ref=RuntimeRef(name="torch-distributed"), trainer=Trainer(num_nodes=2, command=["torchrun", "a.py"])),
)
LATEST = JOB.replace("train:v1", "train:latest")
PROJECT = {"base.yaml": JOB, "jobspec.yaml": f"{PROJECT_HEAD}  variants: [{{name: a, base: base.yaml, overlays: [gpu-nccl]}}]\n"}


def test_a_model_has_its_version_and_kind() -> None:
    assert jobspec.check(TRAINJOB).valid
    dumped = TRAINJOB.model_dump(by_alias=True, exclude_unset=True)
    assert (dumped["apiVersion"], dumped["kind"]) == ("trainer.kubeflow.org/v1alpha1", "TrainJob")
    assert dumped["spec"]["runtimeRef"] == {"name": "torch-distributed"}


def test_lint_reports_what_the_command_does() -> None:
    result = api.lint(LATEST, name="job.yaml")
    assert "unpinned-image" in {each.rule for each in result.diagnostics}
    assert {each.rule for each in api.lint(LATEST, select=["unpinned-image"]).diagnostics} == {"unpinned-image"}
    assert "unpinned-image" not in {each.rule for each in api.lint(LATEST, ignore=["unpinned-image"]).diagnostics}
    assert repr(result).startswith("<job.yaml: 1 document, ")
    with pytest.raises(jobspec.JobspecError, match="unknown rule `unpined-image`; did you mean `unpinned-image`"):
        api.lint(LATEST, ignore=["unpined-image"])


def test_results_and_models_are_readable() -> None:
    assert repr(jobspec.Cluster({"trainer": "2.2"})) == "<Cluster of training-operator 1.9.4, trainer 2.2.1>"
    assert repr(api.expand(TRAINJOB)).startswith("<Expanded: ConfigMap bert-runtime-snapshot, JobSet bert, ")
    assert repr(api.fix(JOB.replace("replicas: 1", 'replicas: "1"'))) == "<Fixed: 1 fixed, remaining: 2 infos>"
    assert re.fullmatch(r"<Migrated: \d+ lines of YAML, 2 warnings, 1 info>", repr(api.migrate(JOB)))
    rendered = jobspec.render("a: 1")
    assert repr(rendered) == "<Rendered: 0 lines of YAML, 1 error>"
    assert repr(jobspec.read(JOB, file="job.yaml")[0]) == "[<PyTorchJob train of job.yaml>]"
    assert repr(ObjectMeta(name="bert")) == "ObjectMeta(name='bert')"


def test_errors_speak_of_arguments() -> None:
    for target, said in (({"trainer": "9.9"}, "trainer=9.9: the known releases"), ({"trainer": 2.2}, "a release is a string, such as")):
        with pytest.raises(jobspec.JobspecError, match=said) as raised:
            jobspec.Cluster(target)  # type: ignore[arg-type]
        assert "--" not in str(raised.value)
    with pytest.raises(jobspec.JobspecError, match=r"^none\.yaml: no such file; `project` is the path of a project's file$"):
        api.diff(project="none.yaml")
    with pytest.raises(jobspec.JobspecError, match=r"^none\.yaml: no such file; `path` is the path of a project's file$"):
        api.render_project("none.yaml")
    with pytest.raises(jobspec.JobspecError, match=r"has no parameter `gpu`; did you mean `gpus`\?$"):
        jobspec.render(JOB, overlays=["gpu-nccl"], parameters={"gpu-nccl": {"gpu": 2}})


def test_fix_fixes_the_text() -> None:
    fixed = api.fix(JOB.replace("replicas: 1", 'replicas: "1"  # one'))
    assert "replicas: 1  # one\n" in fixed.text
    assert "wrong-type" in {each.rule for each in fixed.fixed}
    assert "wrong-type" not in {each.rule for each in fixed.remaining}


def test_expand_gives_the_objects() -> None:
    expanded = api.expand(TRAINJOB)
    assert expanded.valid
    assert len(expanded.of_kind("Pod")) == 2
    assert [each["metadata"]["name"] for each in expanded.of_kind("JobSet")] == ["bert"]
    assert not api.expand(JOB.replace("replicas", "replicaz")).objects


def test_migrate_gives_the_text_and_what_changes() -> None:
    migrated = api.migrate(JOB)
    assert "kind: TrainJob\n" in migrated.text
    assert migrated.lossless
    assert jobspec.check(migrated.text).valid


def test_a_project_renders_as_the_command_writes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, PROJECT)
    monkeypatch.chdir(tmp_path)
    tree = api.render_project()
    assert tree.valid
    assert run_here("render", cwd=tmp_path).returncode == 0
    written = {path: content.decode() for path, content in files_in(tmp_path).items() if path.startswith("rendered/")}
    assert tree.files == written
    monkeypatch.chdir(tmp_path.parent)
    assert api.render_project(str(tmp_path / "jobspec.yaml")).files == written


def test_a_change_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    committed(tmp_path, PROJECT)
    monkeypatch.chdir(tmp_path)
    assert not api.diff().variants
    write(tmp_path, {"base.yaml": JOB.replace("train:v1", "train:v2")})
    assert [(each.name, each.meaning) for each in api.diff().variants] == [("a", "new-run")]
    assert repr(api.diff()) == "<Comparison: a (new-run); 0 unchanged>"
    with pytest.raises(jobspec.JobspecError, match="this is a path; name a commit") as raised:
        api.diff("base.yaml")
    assert "--" not in str(raised.value)
