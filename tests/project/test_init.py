"""`jobspec init`: a repository that passes its own checks at once, and is written whole or not at all."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from jobspec import __version__
from jobspec.apis.releases import RELEASES
from jobspec.cli import main
from tests.support import quick_yaml
from tests.support.cluster import assets
from tests.support.killing import Killing
from tests.support.manifests import files_in
from tests.support.processes import environment, program, run_here
from tests.support.reference import ROOT

KINDS = ("PyTorchJob", "TrainJob")
FILES = [
    ".gitattributes",
    ".github/workflows/jobspec.yaml",
    ".pre-commit-config.yaml",
    "README.md",
    "base/mnist.yaml",
    "engines/.jobspec-inventory",
    "engines/argocd/application-jobs.yaml",
    "engines/argocd/appproject-jobs.yaml",
    "engines/argocd/argocd-cm-health.yaml",
    "engines/argocd/kustomization.yaml",
    "jobspec.yaml",
    "rendered/.jobspec-inventory",
    "rendered/kustomization.yaml",
]


def _init(folder: Path, *arguments: str) -> Path:
    given = () if "--install" in arguments else ("--install", __version__)
    done = run_here("init", folder, *arguments, *given)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return folder


#: How the hooks are installed, which takes a registry.
_INSTALLED = re.compile(r"language: python\n *additional_dependencies: .*")


class Repository:
    """A repository of Git that was just initialised and committed, with this checkout's `jobspec` in its `PATH`."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = _init(folder / "repository", *arguments)
        (folder / "bin").mkdir()
        (folder / "bin" / "jobspec").write_text(f'#!/bin/sh\nexec {sys.executable} -m jobspec "$@"\n')
        (folder / "bin" / "jobspec").chmod(0o755)
        who = {f"GIT_{role}_{what}": f"{role}@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        nowhere = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PRE_COMMIT_HOME": str(folder / "home")}
        kept = {name: value for name, value in environment().items() if not name.startswith("GIT_")}
        self.variables = {**kept, **who, **nowhere, "PATH": path}
        hooks = self.folder / ".pre-commit-config.yaml"
        hooks.write_text(_INSTALLED.sub("language: system", hooks.read_text()))
        self.run("git", "init", "--quiet", "--initial-branch=main")
        self.commit()

    def run(self, *words: str) -> CompletedProcess[str]:
        return program(*words, cwd=self.folder, env=self.variables)

    def commit(self) -> None:
        self.run("git", "add", "--all")
        assert self.run("git", "commit", "--quiet", "--message=a").returncode == 0

    def hooks(self) -> CompletedProcess[str]:
        return self.run(sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never")


@pytest.mark.parametrize("kind", KINDS)
def test_the_repository_passes_its_own_checks_at_once(tmp_path: Path, kind: str) -> None:
    repository = Repository(tmp_path, "--kind", kind)
    for command in (
        "validate jobspec.yaml base rendered",
        "lint jobspec.yaml base rendered --fail-on info --ignore legacy-operator",
        "render --check",
    ):
        done = repository.run("jobspec", *command.split())
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        assert "warning" not in done.stdout
    done = repository.hooks()
    assert (done.returncode, re.findall(r"\.(Passed|Failed|Skipped)$", done.stdout, re.MULTILINE)) == (0, ["Passed", "Passed"])
    assert repository.run("git", "status", "--porcelain").stdout == ""


def test_the_hooks_refuse_what_is_not_rendered_and_what_a_server_refuses(tmp_path: Path) -> None:
    repository = Repository(tmp_path, "--kind", "PyTorchJob")
    base = repository.folder / "base" / "mnist.yaml"
    base.write_text(base.read_text().replace('"1"', '"2"'))
    assert re.findall(r"\.(Passed|Failed)$", repository.hooks().stdout, re.MULTILINE) == ["Failed", "Passed"]
    assert repository.run("jobspec", "render").returncode == 0
    repository.run("git", "add", "--all")
    assert repository.hooks().returncode == 0
    base.write_text(base.read_text().replace("replicas: 1", "replicas: one"))
    said = repository.hooks().stdout
    assert re.findall(r"\.(Passed|Failed)$", said, re.MULTILINE) == ["Failed", "Failed"]
    assert 'base/mnist.yaml:12:17: error: `replicas`: expected an integer, got the string "one"' in said


@pytest.mark.parametrize("kind", KINDS)
def test_it_holds_a_base_of_the_kind_and_two_variants(tmp_path: Path, kind: str) -> None:
    folder = _init(tmp_path / "new", "--kind", kind, "--name", "bert-large", "--namespace", "nlp")
    tree = files_in(folder)
    documents = [quick_yaml.load(content) for path, content in tree.items() if path.startswith("rendered/") and kind.lower() in path]
    assert [re.sub("-[0-9a-f]{8}$", "", each["metadata"]["name"]) for each in documents] == ["bert-large-cpu", "bert-large-gpu"]
    assert {(each["kind"], each["metadata"]["namespace"]) for each in documents} == {(kind, "nlp")}
    assert quick_yaml.load(tree["base/bert-large.yaml"])["kind"] == kind
    assert len(tree["README.md"].decode().splitlines()) == 7
    words = rb"JOB_|JOBSPEC_|OUTPUT_|TRAIN(ING_OPERATOR|ER)\b|ENGINE|SYNCED|_URL"
    assert not [path for path, content in tree.items() if not path.startswith("engines/") and re.search(words, content)]


def test_the_hooks_stop_a_merge_of_sources_whose_tree_is_stale(tmp_path: Path) -> None:
    repository = Repository(tmp_path, "--kind", "PyTorchJob")
    run = repository.run
    assert run(sys.executable, "-m", "pre_commit", "install").returncode == 0
    project, base = repository.folder / "jobspec.yaml", repository.folder / "base" / "mnist.yaml"
    run("git", "switch", "--quiet", "--create", "other")
    project.write_text(project.read_text().replace("  variants:\n", "  variants:\n    - name: first\n"))
    run("jobspec", "render")
    repository.commit()
    run("git", "switch", "--quiet", "main")
    base.write_text(base.read_text().replace('"1"', '"2"'))
    run("jobspec", "render")
    repository.commit()
    merged = run("git", "merge", "--no-edit", "other")
    assert merged.returncode == 1
    assert "rendered/ is what jobspec.yaml renders to" in merged.stderr
    run("jobspec", "render")
    repository.commit()
    assert run("jobspec", "render", "--check").returncode == 0
    assert len(run("git", "show", "--no-patch", "--format=%P").stdout.split()) == 2


def test_the_engine_syncs_the_tree_from_where_the_folder_is_in_its_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    _init(tmp_path / "deep" / "er", "--repository", "https://git.example/a/b.git")
    _init(tmp_path / "flux", "--engine", "flux", "--repository", "ssh://git@git.example/a/b.git")
    application = quick_yaml.load((tmp_path / "deep/er/engines/argocd/application-b.yaml").read_text())
    source = application["spec"]["source"]
    assert (source["repoURL"], source["targetRevision"], source["path"]) == ("https://git.example/a/b.git", "main", "deep/er/rendered")
    kustomization = quick_yaml.load((tmp_path / "flux/engines/flux/kustomization-b.yaml").read_text())
    assert kustomization["spec"]["path"].removeprefix("./") == "flux/rendered"
    for folder in (tmp_path / "deep" / "er", tmp_path / "flux"):
        assert run_here("render", "--check", cwd=folder).stdout == ""
    done = run_here("init", tmp_path / "no", "--install", __version__, "--engine", "flux", "--repository", "git@git.example:a/b.git")
    assert (done.returncode, done.stderr) == (2, "jobspec: Flux does not accept the repository URL `git@git.example:a/b.git`\n")
    assert not (tmp_path / "no").exists()


def test_the_releases_are_the_newest_and_jobspec_this_one(tmp_path: Path) -> None:
    tree = files_in(_init(tmp_path / "new"))
    target = quick_yaml.load(tree["jobspec.yaml"])["spec"]["target"]
    newest = {operator: max(RELEASES[operator], key=lambda each: tuple(map(int, each.split(".")))) for operator in target}
    assert target == {operator: release.rpartition(".")[0] for operator, release in newest.items()}
    assert tree[".github/workflows/jobspec.yaml"].count(f"=={__version__}".encode()) == 3


def test_hooks_and_workflow_install_what_is_asked_for(tmp_path: Path) -> None:
    wanted = "git+https://git.example/ml/jobspec@0123456789abcdef0123456789abcdef01234567"
    tree = files_in(_init(tmp_path / "new", "--install", wanted))
    workflow, hooks = tree[".github/workflows/jobspec.yaml"].decode(), yaml.safe_load(tree[".pre-commit-config.yaml"])
    assert workflow.count(f'pip install "jobspec-k8s @ {wanted}"') == 2
    assert f'pip install "jobspec-k8s[dry-run] @ {wanted}"' in workflow
    yaml.safe_load(workflow)
    installed = {(each["language"], *each["additional_dependencies"]) for each in hooks["repos"][0]["hooks"]}
    assert installed == {("python", f"jobspec-k8s @ {wanted}")}


@pytest.mark.slow
def test_the_hooks_bring_the_jobspec_that_is_asked_for(tmp_path: Path) -> None:
    """With no jobspec on the PATH: pre-commit installs this checkout's commit, with a registry for what that needs."""
    commit = program("git", "-C", ROOT, "rev-parse", "HEAD", check=True).stdout.strip()
    folder = _init(tmp_path / "new", "--install", f"git+file://{ROOT}@{commit}")
    kept = {name: value for name, value in environment().items() if not name.startswith("GIT_")}
    variables = {**kept, "PRE_COMMIT_HOME": str(tmp_path / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    assert not shutil.which("jobspec", path=variables["PATH"])
    program("git", "init", "--quiet", cwd=folder, env=variables, check=True)
    program("git", "add", "--all", cwd=folder, env=variables, check=True)
    done = program(sys.executable, "-m", "pre_commit", "run", "--all-files", "--color=never", cwd=folder, env=variables)
    assert (done.returncode, re.findall(r"\.(Passed|Failed)$", done.stdout, re.MULTILINE)) == (0, ["Passed", "Passed"]), done.stdout


@pytest.mark.parametrize("given", ["other-package==1", "jobspec-k8s-more==1", "jobspec-k8s; rm -rf .", "jobspec-k8s # a", "./dist"])
def test_what_pip_would_not_take_for_jobspec_is_an_error(tmp_path: Path, given: str) -> None:
    done = run_here("init", tmp_path / "new", "--install", given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"jobspec: --install {given}: write a version, a requirement of jobspec-k8s, or a URL such as git+https://"
    )


def test_files_are_reported_and_other_files_stay(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "other.yaml").write_text("mine\n")
    (tmp_path / "LICENSE").write_text("mine\n")
    (tmp_path / "rendered").mkdir()
    done = run_here("init", cwd=tmp_path)
    reported = done.stdout.splitlines()
    assert done.returncode == 0
    assert [path for path in reported if "/mnist-" not in path] == FILES
    assert {path: (tmp_path / path).read_text() for path in ("base/other.yaml", "LICENSE")} == dict.fromkeys(
        ("base/other.yaml", "LICENSE"), "mine\n"
    )
    assert sorted(files_in(tmp_path)) == sorted([*reported, "base/other.yaml", "LICENSE"])


def test_nothing_is_replaced_and_everything_in_the_way_is_named(tmp_path: Path) -> None:
    _init(tmp_path / "new")
    for name in ("jobspec.yaml", "base/mnist.yaml", ".gitattributes", ".pre-commit-config.yaml", ".github/workflows/jobspec.yaml"):
        (tmp_path / "new" / name).unlink()
    (tmp_path / "new" / "base").rmdir()
    (tmp_path / "new" / "base").write_text("a file\n")
    (tmp_path / "new" / "README.md").write_text("mine\n")
    shutil.rmtree(tmp_path / "new" / "engines")
    shutil.rmtree(tmp_path / "new" / "rendered")
    (tmp_path / "new" / "rendered").mkdir()
    (tmp_path / "new" / "rendered" / "notes.txt").write_text("mine\n")
    before = files_in(tmp_path)
    done = run_here("init", "new", "--install", __version__, cwd=tmp_path)
    said = "jobspec: new/README.md, new/base, new/rendered: there already; nothing is written\n"
    assert (done.returncode, done.stderr, files_in(tmp_path)) == (2, said, before)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--name", "My Job"), "jobspec: --name My Job: a job's name is a DNS label, such as `my-job`\n"),
        (("--name", ""), "jobspec: --name : a job's name is a DNS label, such as `mnist`\n"),
        (("--namespace", "a, b: c"), "jobspec: --namespace a, b: c: a namespace is a DNS label, such as `training`\n"),
        (("--namespace", "x" * 64), f"jobspec: --namespace {'x' * 64}: a namespace is a DNS label, such as `training`\n"),
    ],
)
def test_names_that_kubernetes_does_not_take_are_an_error(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = run_here("init", tmp_path / "new", *arguments, "--install", __version__)
    assert (done.returncode, done.stderr, os.listdir(tmp_path)) == (2, said, [])


@pytest.mark.parametrize("arguments", [("--name", "on"), ("--name", "null"), ("--namespace", "12"), ("--namespace", "1e3")])
def test_names_that_are_no_text_in_yaml_are_an_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run_here("init", tmp_path / "new", *arguments, "--install", __version__)
    said = f"jobspec: {' '.join(arguments)}: without quotes, YAML does not read this as a string; choose another\n"
    assert (done.returncode, done.stderr, os.listdir(tmp_path)) == (2, said, [])


def test_the_checks_alone_come_to_a_project_that_is_there(tmp_path: Path) -> None:
    whole, there = files_in(_init(tmp_path / "whole")), tmp_path / "there"
    assert "--checks needs a project" in run_here("init", there, "--checks", "--install", __version__).stderr
    shutil.copytree(tmp_path / "whole", there)
    for name in (".gitattributes", ".pre-commit-config.yaml", ".github/workflows/jobspec.yaml"):
        (there / name).unlink()
    done = run_here("init", "--checks", "--install", __version__, cwd=there)
    assert done.stdout == ".gitattributes\n.github/workflows/jobspec.yaml\n.pre-commit-config.yaml\n"
    assert files_in(there) == whole
    ours = "repos: []  # ours\n"
    (there / ".pre-commit-config.yaml").write_text(ours)
    (there / ".github/workflows/jobspec.yaml").unlink()
    done = run_here("init", "--checks", "--install", __version__, cwd=there)
    assert (done.returncode, (there / ".pre-commit-config.yaml").read_text()) == (0, ours)
    assert done.stdout.startswith(".github/workflows/jobspec.yaml\n\n.gitattributes exists and is unchanged; add what is missing")
    assert "\n.pre-commit-config.yaml exists and is unchanged; add what is missing" in done.stdout
    assert "          - id: jobspec-render-check\n" in done.stdout
    (tmp_path / ".git").mkdir()
    done = run_here("init", "there", "--checks", "--install", __version__, cwd=tmp_path)
    assert done.stderr.endswith("root of the repository alone: move them to ., and name there/jobspec.yaml in them\n"), done
    (there / "jobspec.yaml").write_text((there / "jobspec.yaml").read_text().replace("output: rendered", "output: a b"))
    assert "the hooks cannot name the folder `a b`" in run_here("init", "--checks", "--install", __version__, cwd=there).stderr
    (there / "jobspec.yaml").write_text("a: 1\n")
    assert "is not a valid project" in run_here("init", "--checks", "--install", __version__, cwd=there).stderr


@pytest.mark.slow
def test_an_init_killed_at_any_moment_is_whole_or_none(tmp_path: Path) -> None:
    killing = Killing(lambda folder: main(["init", str(folder)]), tmp_path / "whole")
    whole = files_in(tmp_path / "whole")
    for number in range(20):
        folder = tmp_path / f"{number}"
        killing.kill_in(folder)
        found = files_in(folder) if folder.exists() else {}
        assert found in ({}, whole)
        killing.note(whole=found == whole)
        assert run_here("init", folder).returncode in (0, 2)
        assert files_in(folder) == whole
    assert 0 < sum(killing.seen) < 20


def _steps(workflow: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, job in workflow["jobs"].items():
        yield from ((name, step) for step in job["steps"])


def _workflow(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load((folder / ".github/workflows/jobspec.yaml").read_text(), yaml.BaseLoader)
    return found


def test_the_workflow_has_the_least_rights_and_actions_pinned_to_commits(tmp_path: Path) -> None:
    workflow = _workflow(_init(tmp_path / "new"))
    assert sorted(workflow) == ["concurrency", "jobs", "name", "on", "permissions"]
    assert workflow["permissions"] == {"contents": "read"}
    rights = {name: job.get("permissions", {}) for name, job in workflow["jobs"].items()}
    writing = {(name, right) for name, given in rights.items() for right, kind in given.items() if kind == "write"}
    assert writing <= {("check", "security-events"), ("diff", "pull-requests")}
    used = [step["uses"] for _, step in _steps(workflow) if "uses" in step]
    assert all(re.fullmatch(r"(actions|github)/[\w/-]+@[0-9a-f]{40}", each) for each in used)
    checkouts = [step for _, step in _steps(workflow) if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] == "false" for step in checkouts)
    assert "${{" not in "".join(step.get("run", "") for _, step in _steps(workflow))  # what others write must not become a command


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_workflow_runs_goes_well_in_the_repository(tmp_path: Path, kind: str) -> None:
    repository = Repository(tmp_path, "--kind", kind)
    commands = [step["run"] for name, step in _steps(_workflow(repository.folder)) if name == "check" and "run" in step]
    local = [each for each in commands if not each.startswith("pip install")]
    assert len(local) == 2
    for command in local:
        done = repository.run("bash", "-e", "-c", command)
        assert (done.returncode, done.stderr) == (0, ""), command
    assert '"version": "2.1.0"' in (repository.folder / "jobspec.sarif").read_text()


def test_the_comment_on_a_pull_request_reports_what_it_changes(tmp_path: Path) -> None:
    repository = Repository(tmp_path, "--kind", "PyTorchJob")
    repository.run("git", "update-ref", "refs/remotes/origin/main", "HEAD")
    project = repository.folder / "jobspec.yaml"
    project.write_text(project.read_text().replace("gpus: 1", "gpus: 4"))
    assert repository.run("jobspec", "render").returncode == 0
    repository.commit()
    (step,) = [step for _, step in _steps(_workflow(repository.folder)) if step.get("run", "").startswith("jobspec diff")]
    assert step["env"] == {"BASE": "${{ github.base_ref }}"}
    repository.variables["BASE"] = "main"
    done = repository.run("bash", "-e", "-c", step["run"])
    assert (done.returncode, done.stderr) == (0, "")
    reported = (repository.folder / "diff.md").read_text()
    assert "mnist-gpu" in reported
    assert "nvidia.com/gpu" in reported
    assert "mnist-cpu" not in reported


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_real_server_takes_what_is_rendered(tmp_path: Path, kind: str) -> None:
    """The workflow's last step, with a server of its own in place of a cluster in Docker."""
    place = assets()
    repository = Repository(tmp_path, "--kind", kind)
    (command,) = [step["run"] for _, step in _steps(_workflow(repository.folder)) if step.get("run", "").startswith("jobspec dry-run")]
    repository.variables["KUBEBUILDER_ASSETS"] = place
    done = repository.run("bash", "-e", "-c", f"{command} --envtest")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 valid" in done.stdout
