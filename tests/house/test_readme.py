"""What the README and the documentation show is what happens.

With JOBSPEC_WRITE_CASES set, the outputs in the pages are written again.
"""

import os
import re
import shutil
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from jobspec.commands import COMMANDS
from jobspec.overlays.load import shipped
from jobspec.reports.diff import WORDS
from jobspec.reports.formats import FORMATS
from tests.support import quick_yaml
from tests.support.manifests import PROJECT_HEAD, write
from tests.support.processes import environment, program, run_here
from tests.support.reference import ROOT
from tests.support.repositories import committed

README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ALL = "\n".join(path.read_text() for path in PAGES)


def _block(language: str, containing: str) -> str:
    found = [text for text in re.findall(rf"```{language}\n(.*?)```", ALL, re.DOTALL) if containing in text]
    assert len(found) == 1
    return str(found[0])


def _assert_shown(command: str, actual: str) -> None:
    """Assert that a page shows what a command prints, or write it there."""
    shown = _block("console", f"$ {command}\n")
    if os.environ.get("JOBSPEC_WRITE_CASES"):
        for path in PAGES:
            path.write_text(path.read_text().replace(f"```console\n{shown}```", f"```console\n$ {command}\n{actual}```"))
    else:
        assert shown.partition("\n")[2] == actual


def _before() -> str:
    return "".join(line[1:] + "\n" for line in _block("diff", "PyTorchJob").splitlines() if line.startswith(" "))


def _after() -> str:
    return "".join(line[1:] + "\n" for line in _block("diff", "PyTorchJob").splitlines())


def test_before_and_after(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(_before())
    (command,) = [line.strip() for line in ALL.splitlines() if line.startswith("    jobspec render") and line.endswith("gpus=2")]
    done = run_here(*command.split()[1:], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == _after()
    assert run_here("render", "job.yaml", cwd=tmp_path).stdout == _before()


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_kustomize_drops_the_image_as_the_readme_says(tmp_path: Path) -> None:
    containers = [{"name": "pytorch", "resources": {"limits": {"nvidia.com/gpu": 2}}}]
    patch = quick_yaml.load(_before())
    patch["spec"] = {"pytorchReplicaSpecs": {"Master": {"template": {"spec": {"containers": containers}}}}}
    (tmp_path / "job.yaml").write_text(_before())
    (tmp_path / "kustomization.yaml").write_text(
        quick_yaml.dump({"resources": ["job.yaml"], "patches": [{"patch": quick_yaml.dump(patch)}]})
    )
    built = program("kubectl", "kustomize", tmp_path, check=True).stdout
    assert quick_yaml.load(built)["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"] == containers


@pytest.mark.parametrize(
    ("file", "containing"),
    [
        ("bert.yaml", "name: bert-finetune"),
        ("debug.yaml", "name: debug"),
        ("nightly.yaml", "name: nightly"),
        ("team.yaml", "kind: ResourceQuota\nmetadata: {name: gpus, namespace: team}"),
    ],
)
def test_what_validate_says_of_each_example(tmp_path: Path, file: str, containing: str) -> None:
    (tmp_path / file).write_text(_block("yaml", containing))
    _assert_shown(f"jobspec validate {file}", run_here("validate", file, cwd=tmp_path).stdout)


def test_the_screens_of_the_readme(tmp_path: Path) -> None:
    bert, project = _block("yaml", "name: bert, namespace: nlp"), f"{PROJECT_HEAD}  variants:\n  - {{name: bert, base: bert.yaml}}\n"
    job = bert.partition("---\n")[0]
    write(tmp_path, {"bert.yaml": bert, "old.yaml": _before(), "project/jobspec.yaml": project, "project/bert.yaml": job})
    for command in (
        "jobspec lint bert.yaml -o concise",
        "jobspec expand bert.yaml -o table",
        "jobspec migrate old.yaml --to TrainJob -o concise --in-place",
    ):
        _assert_shown(command, run_here(*command.split()[1:], cwd=tmp_path).stdout)
    committed(tmp_path / "project", {})
    write(tmp_path, {"project/bert.yaml": job.replace("numNodes: 2", "numNodes: 1\n    env: [{name: NCCL_DEBUG, value: INFO}]")})
    done = run_here("diff", "HEAD", cwd=tmp_path / "project")
    _assert_shown("jobspec diff HEAD", re.sub(r"against HEAD \([0-9a-f]{8}\)", "against HEAD (5d0f62a1)", done.stdout))


def test_the_readme_is_short_and_names_every_command() -> None:
    assert len(README.splitlines()) <= 151
    (table,) = re.findall(r"^\| command \| does \|\n\|---\|---\|\n((?:\|.*\n)+)", README, re.MULTILINE)
    assert table == "".join(f"| `{name}` | {does} |\n" for name, does in COMMANDS.items())


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)|srcset=\"([^\"]+)\"|src=\"([^\"]+)\"", path.read_text()):
        file, _, heading = "".join(target).partition("#")
        if file.startswith(("http:", "https:")):
            continue
        page = path.parent / file if file else path
        assert page.exists(), target
        names = {
            re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
            for line in page.read_text().splitlines()
            if line.startswith("#")
        }
        assert not heading or heading in names, target


def test_the_job_as_a_trainjob(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(_before())
    command = "jobspec migrate job.yaml --to TrainJob --in-place"
    _assert_shown(command, run_here(*command.split()[1:], cwd=tmp_path).stdout)
    assert (tmp_path / "job.yaml").read_text() == _block("yaml", "batch.kubernetes.io/job-completion-index")


def test_the_example_of_an_overlay_does_what_its_comments_say(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_text(_block("yaml", "kind: Overlay"))
    (tmp_path / "job.yaml").write_text(_before().replace('- "15"', '- "15"\n            - --model=small\n            - --debug'))
    done = run_here("render", "job.yaml", "--overlay", "./big.yaml", cwd=tmp_path)
    assert done.stderr == ""
    job = quick_yaml.load(done.stdout)
    pod = job["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    assert pod["containers"] == [
        {
            "name": "pytorch",
            "image": "ghcr.io/example/mnist:1.4",
            "args": ["--epochs", "15", "--model=large", "--amp"],
            "resources": {"limits": {"nvidia.com/gpu": 8}},
        }
    ]
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    assert pod["nodeSelector"] == {"pool": "large"}
    assert job["spec"]["runPolicy"] == {"backoffLimit": 2}


def _rendered_project(folder: Path) -> Path:
    """The project of the README with its tree."""
    _project(folder)
    assert run_here("render", cwd=folder).returncode == 0
    return folder


def test_the_example_of_a_project_renders_as_the_chapter_says(tmp_path: Path) -> None:
    _rendered_project(tmp_path)
    folders = sorted(path.name for path in (tmp_path / "rendered").iterdir() if path.is_dir())
    assert folders == [*(f"mnist-{lr}-{seed}" for lr in ("0.10", "1e-3") for seed in (1, 2, 3)), "mnist-gpu"]
    (job,) = (tmp_path / "rendered" / "mnist-0.10-1").glob("trainjob-*")
    assert re.fullmatch(r"trainjob-mnist-0-10-1-[0-9a-f]{8}\.yaml", job.name)
    assert "namespace: ml\n  labels:\n    team: vision\n" in job.read_text()


def _rendered_with_engines(folder: Path, *, naming: str = "hash") -> set[str]:
    """The paths of the engines' objects of the chapter's project."""
    overlay = "apiVersion: jobspec.dev/v1alpha1\nkind: Overlay\nmetadata: {name: queue}\nspec: {job: {}}\n"
    project = _block("yaml", "kind: Project\n") + _block("yaml", "spec:\n  engines:").removeprefix("spec:\n")
    project = project.replace("  defaults:", f"  defaults:\n    naming: {naming}")
    write(folder, {"base/mnist.yaml": _before(), "overlays/queue.yaml": overlay, "jobspec.yaml": project})
    assert run_here("render", cwd=folder).returncode == 0
    return {path.relative_to(folder / "engines").as_posix() for path in (folder / "engines").glob("*/*.yaml")}


def test_the_example_of_engines_writes_the_objects_of_its_table(tmp_path: Path) -> None:
    chapter = (ROOT / "docs/guides/gitops.md").read_text()
    patterns = [pattern for row in re.findall(r"^\| (`[^|]*) \|", chapter, re.MULTILINE) for pattern in re.findall(r"`([^`]+)`", row)]
    files = _rendered_with_engines(tmp_path, naming="fixed")
    others = {"argocd/applicationset-*", "flux/ocirepository-*"}
    assert [pattern for pattern in patterns if pattern not in others and not any(fnmatch(path, pattern) for path in files)] == []
    assert [path for path in files if not any(fnmatch(path, pattern) for pattern in (*patterns, "*/kustomization.yaml"))] == []
    policies = {path for path in files if "validatingadmissionpolicy" in path}
    assert _rendered_with_engines(tmp_path) == files - policies
    assert policies


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_the_folders_that_the_readme_applies_are_kustomizations(tmp_path: Path) -> None:
    _rendered_with_engines(tmp_path)
    folders = re.findall(r"kubectl apply --server-side -k (engines/\w+)", ALL)
    assert folders == ["engines/argocd", "engines/flux"]
    for folder in folders:
        assert "kind: " in program("kubectl", "kustomize", tmp_path / folder, check=True).stdout


def test_the_origin_of_a_value_is_reported_as_the_chapter_says(tmp_path: Path) -> None:
    _rendered_project(tmp_path)
    shown = re.findall(r"\$ jobspec (.*)\n((?:[^$].*\n|    .*\n)+)", _block("console", "jobspec blame"))
    assert len(shown) == 2
    for command, reported in shown:
        done = run_here(*command.split(), cwd=tmp_path)
        assert (done.returncode, done.stderr, done.stdout) == (0, "", reported)


#: The base of the project in the reference.
_BASE = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: mnist
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: ghcr.io/example/mnist:1.4
    command: [torchrun, train.py]
    args: [--epochs, "15"]
"""


def _project(folder: Path) -> str:
    """The project of the reference in a folder, as text."""
    queue = "apiVersion: jobspec.dev/v1alpha1\nkind: Overlay\nmetadata: {name: queue}\nspec: {job: {}}\n"
    text = _block("yaml", "kind: Project\n")
    write(folder, {"base/mnist.yaml": _BASE, "overlays/queue.yaml": queue, "jobspec.yaml": text})
    return text


def test_the_example_of_a_change_is_reported_as_shown(tmp_path: Path) -> None:
    text = _project(tmp_path)
    committed(tmp_path, {"prices.yaml": _block("yaml", "kind: Prices")})
    (tmp_path / "jobspec.yaml").write_text(text.replace("gpus: 2", "gpus: 4"))
    done = run_here("diff", "main", cwd=tmp_path)
    _assert_shown("jobspec diff main", re.sub(r"\([0-9a-f]{8}\)", "(5d0f62a1)", done.stdout))
    assert run_here("diff", "main", "--prices", "prices.yaml", cwd=tmp_path).returncode == 0
    page = run_here("report", "main", "-o", "page.html", cwd=tmp_path)
    _assert_shown("jobspec report main -o page.html", re.sub(r"\([0-9a-f]{8}\)", "(5d0f62a1)", page.stdout))


def test_the_table_of_meanings_names_all_of_them() -> None:
    chapter = (ROOT / "docs/guides/diff.md").read_text()
    (table,) = re.findall(r"^\| in the cluster \| means \|\n\|---\|---\|\n((?:\|.*\n)+)", chapter, re.MULTILINE)
    named = [name for row in table.splitlines() for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert sorted(named) == sorted(WORDS.values())


def test_five_minutes_from_one_job_to_gitops(tmp_path: Path) -> None:
    """A fresh user follows the chapter in a repository of Git, to a commit that its own checks pass."""
    chapter = (ROOT / "docs/tutorial.md").read_text().partition("\n## ")[0]
    shown, variant = (re.search(rf"```{language}\n(.*?)```", chapter, re.DOTALL) for language in ("console", "yaml"))
    commands = [line.strip().partition("  #")[0] for line in chapter.splitlines() if line.startswith("    ") and "- " not in line[:6]]
    assert shown
    assert variant
    lines = [each for each in commands if each.startswith(("jobspec", "git"))]
    place, programs = tmp_path / "repository", tmp_path / "bin"
    write(place, {"mnist.yaml": "# the job\n" + _after().replace("nvidia.com/gpu: 2", "nvidia.com/gpu: 2 # both")})
    write(programs, {"jobspec": f'#!/bin/sh\nexec {sys.executable} -m jobspec "$@"\n'})
    (programs / "jobspec").chmod(0o755)
    who = {f"GIT_{role}_{what}": "a@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    surroundings = environment(**who, PATH=f"{programs}:{os.environ['PATH']}", PRE_COMMIT_HOME=str(tmp_path / "home"))

    def shell(command: str) -> str:
        done = program("bash", "-e", "-c", command, cwd=place, env={**surroundings, "GIT_CONFIG_GLOBAL": os.devnull})
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    shell("git init --quiet && git add . && git commit --quiet --message a")
    reported = shown[1].partition("\n")
    assert shell(reported[0].removeprefix("$ ")) == reported[2]
    assert (place / "base" / "mnist.yaml").read_text() == "# the job\n" + _before()
    assert "# both" in (place / "jobspec.yaml").read_text()
    with (place / "jobspec.yaml").open("a") as project:
        project.write(variant[1])
    assert [each.partition(" ")[0] for each in lines] == ["jobspec", "jobspec", "git"]
    for line in lines:
        shell(line)
    folders = sorted(path.name for path in (place / "rendered").iterdir() if path.is_dir())
    assert folders == ["mnist", "mnist-cpu"]
    job = quick_yaml.load((place / "rendered/mnist/pytorchjob-mnist.yaml").read_text())
    assert (job["metadata"]["namespace"], job["spec"]) == ("ml", quick_yaml.load(_after())["spec"])
    assert (place / "engines/argocd/application-jobs.yaml").exists()
    assert shell("git status --porcelain") == ""
    shell(f"{sys.executable} -m pre_commit run --all-files")


def test_the_table_of_overlays_names_all_of_them_and_their_parameters() -> None:
    chapter = (ROOT / "docs/reference/overlays.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| .* \| (.*) \|$", chapter, re.MULTILINE)
    assert sorted(name for name, _ in rows) == shipped()
    for name, parameters in rows:
        declared = quick_yaml.load((ROOT / "overlays" / f"{name}.yaml").read_text())["spec"]["parameters"]
        assert all(f"`{parameter}`" in parameters for parameter in declared), name


def test_the_python_example_renders_and_checks_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    names = {"text": _before()}
    exec(_block("python", "jobspec.render") + "\nvalid = result.valid", names)
    assert (names["valid"], capsys.readouterr().out) == (True, names["rendered"].text + "\n")  # type: ignore[attr-defined]
    exec(_block("python", "jobspec.render").replace("result = jobspec.check(rendered.text", "result = jobspec.check('a: 1'"), names)
    assert "error decoding not-a-manifest" in capsys.readouterr().out


def test_the_python_example_builds_the_job() -> None:
    names = {"data": quick_yaml.load(_before())}
    exec(_block("python", "model_validate") + "\ndumped = job.model_dump(by_alias=True, exclude_unset=True)", names)
    assert names["dumped"] == names["data"]
    exec("import jobspec\n" + _block("python", "runtime_ref"), {})


def test_the_python_examples_of_the_other_commands_run() -> None:
    names = {"text": _before()}
    exec(_block("python", "from jobspec import api").replace("api.", "done = api."), names)
    assert names["done"] is True


def test_the_table_of_formats_names_all_of_them() -> None:
    (table,) = re.findall(r"^\| `-o` \| for \|\n\|---\|---\|\n((?:\|.*\n)+)", ALL, re.MULTILINE)
    assert sorted(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == sorted(FORMATS)


def test_every_command_of_the_pages_exists() -> None:
    shown = set(re.findall(r"^    jobspec ([a-z]+)\b|^\$ jobspec ([a-z]+)\b", ALL, re.MULTILINE))
    shown = {"".join(each) for each in shown}
    assert shown - {"dry"} <= COMMANDS.keys()
    assert {"render", "validate", "explain"} <= shown
