"""`--fix` and `--diff` of `jobspec validate`."""

import json
import os
import re
from pathlib import Path

import pytest

from jobspec.session.fixing import CandidateChecker
from jobspec.session.found import Found
from jobspec.session.inputs import RunContext
from jobspec.session.options import Options
from jobspec.world.world import Cluster
from tests.support.manifests import CONFIG, JOB, write
from tests.support.processes import RELEASES, command, program, run, run_here

_BAD = JOB.replace("replicas: 1", 'replicaz: "1"  # one')
_GOOD = JOB.replace("replicas: 1", "replicas: 1  # one")


def test_fix_fixes_files_and_reports_what_is_left(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _BAD, "b/good.yml": CONFIG, "b/left.yaml": _BAD.replace("image:", "picture:")})
    os.chmod(tmp_path / "a.yaml", 0o640)
    unchanged = (tmp_path / "b" / "good.yml").stat().st_mtime_ns
    done = run_here("validate", "--fix", ".", cwd=tmp_path)
    assert done.stderr == "a.yaml: 2 problems fixed\nb/left.yaml: 2 problems fixed\n"
    assert "b/left.yaml:13:13: error: unknown field `picture` in `containers[0]`" in done.stdout
    assert "3 documents: 2 valid, 1 invalid" in done.stdout
    assert done.returncode == 1
    assert (tmp_path / "a.yaml").read_text() == _GOOD
    assert (tmp_path / "a.yaml").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "b" / "left.yaml").read_text() == _GOOD.replace("image:", "picture:")
    assert (tmp_path / "b" / "good.yml").stat().st_mtime_ns == unchanged
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["a.yaml", "b", "good.yml", "left.yaml"]


def test_diff_shows_the_fixes_and_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _BAD})
    done = run("validate", "--diff", "a.yaml", cwd=tmp_path)
    assert done.stdout.splitlines()[:2] == ["--- a/a.yaml", "+++ b/a.yaml"]
    assert [line for line in done.stdout.splitlines() if line[0] in "+-"][2:] == [
        '-      replicaz: "1"  # one',
        "+      replicas: 1  # one",
    ]
    assert (done.returncode, done.stderr) == (1, "a.yaml: 2 problems would be fixed\n")
    assert (tmp_path / "a.yaml").read_text() == _BAD


@pytest.mark.parametrize(
    ("named", "shown"),
    [
        ("./a.yaml", "a.yaml"),
        ("./deep/../a.yaml", "a.yaml"),
        ("../work/a.yaml", "a.yaml"),
        ("{work}/a.yaml", "a.yaml"),
        ("deep/my job.yaml", "deep/my job.yaml\t"),
        ("deep/link.yaml", "a.yaml"),
        ("../other/a.yaml", "{other}/a.yaml"),
        ("{other}/a.yaml", "{other}/a.yaml"),
    ],
)
def test_git_applies_a_diff_of_any_path(named: str, shown: str, tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    write(tmp_path, {"work/a.yaml": _BAD, "work/deep/my job.yaml": _BAD, "other/a.yaml": _BAD})
    (work / "deep" / "link.yaml").symlink_to("../a.yaml")
    path, name = named.format(work=work, other=other), shown.format(other=str(other)[1:])
    done = run_here("validate", "--diff", path, cwd=work)
    assert done.stdout.splitlines()[:2] == [f"--- a/{name}", f"+++ b/{name}"]
    applied = program("git", "apply", "-", cwd=Path("/") if "other" in named else work, stdin=done.stdout)
    assert (applied.returncode, applied.stderr) == (0, "")
    assert (work / path).read_text() == _GOOD


_SEPARATED = _BAD.replace("# one", "# one\u2028# two\x85# three")


@pytest.mark.parametrize(
    "text", [_BAD.replace("\n", "\r\n"), _SEPARATED, _BAD[: _BAD.index("  # one")]], ids=["crlf", "separators", "unended"]
)
def test_git_applies_a_diff_of_lines_that_end_in_any_way(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(text.encode())
    with (tmp_path / "diff").open("wb") as file:
        run("validate", "--diff", "a.yaml", cwd=tmp_path, stdout=file)
    applied = program("git", "apply", "diff", cwd=tmp_path)
    assert (applied.returncode, applied.stderr) == (0, "")
    assert (tmp_path / "a.yaml").read_bytes() == text.replace('replicaz: "1"', "replicas: 1").encode()


def test_what_comes_through_a_pipe_is_shown_under_the_name_that_was_given(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _BAD})
    done = program("bash", "-c", '"$@" <(cat a.yaml)', "bash", *command("validate", "--diff"), cwd=tmp_path)
    assert re.match(r"--- a/dev/fd/\d+\n\+\+\+ b/dev/fd/\d+\n", done.stdout)
    refused = program("bash", "-c", '"$@" <(cat a.yaml)', "bash", *command("validate", "--fix"), cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith("is not a regular file; nothing is changed\n")


def test_without_anything_to_fix_the_report_is_as_ever(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _GOOD})
    for option in ("--fix", "--diff"):
        done = run_here("validate", option, "a.yaml", cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"1 document: 1 valid {RELEASES}\n", "")


def test_standard_input_is_shown_and_not_written(tmp_path: Path) -> None:
    refused = run_here("validate", "--fix", "-", cwd=tmp_path, stdin=_BAD)
    assert (refused.returncode, refused.stderr) == (2, "jobspec: --fix cannot write standard input; --diff shows the fixes\n")
    assert "+      replicas: 1  # one" in run_here("validate", "--diff", "-", cwd=tmp_path, stdin=_BAD).stdout


def test_files_are_fixed_as_they_stand(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _BAD})
    done = run_here("validate", "--fix", "--overlay", "cpu", "a.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "jobspec: --fix and --diff cannot be combined with --overlay\n")


def test_an_item_of_a_list_and_a_link_are_fixed_where_they_are_written(tmp_path: Path) -> None:
    items = "".join(f"- {line}" if not number else f"  {line}" for number, line in enumerate(_BAD.splitlines(keepends=True)))
    write(tmp_path, {"real/list.yaml": f"apiVersion: v1\nkind: List\nitems:\n{items}"})
    (tmp_path / "link.yaml").symlink_to("real/list.yaml")
    assert run_here("validate", "--fix", "link.yaml", cwd=tmp_path).returncode == 0
    assert (tmp_path / "link.yaml").is_symlink()
    assert "replicas: 1  # one" in (tmp_path / "real" / "list.yaml").read_text()


def _written(folder: Path) -> dict[str, str]:
    """The files of a folder, with hidden ones."""
    return {each.relative_to(folder).as_posix(): each.read_text() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("asked", ["validate", "lint"])
def test_where_a_file_cannot_be_written_beside_none_is_changed(asked: str, tmp_path: Path) -> None:
    files = {name: _BAD.replace("train", name[0]) for name in ("a.yaml", "b/b.yaml", "c.yaml")}
    write(tmp_path, files)
    (tmp_path / "b" / ".jobspec-new-1").mkdir()
    done = run_here(asked, "--fix", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"jobspec: {tmp_path}/b/.jobspec-new-1: cannot write: Is a directory; nothing is changed\n"
    assert _written(tmp_path) == files


def test_where_the_disk_takes_no_more_none_is_changed(tmp_path: Path) -> None:
    files = {"a.yaml": _BAD, "b.yaml": _BAD.replace("train", "b") + "# long\n" * 10_000, "c.yaml": _BAD.replace("train", "c")}
    write(tmp_path, files)
    done = program("bash", "-c", 'ulimit -f 40; exec "$@"', "bash", *command("lint", "--fix", "."), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("cannot write: File too large; nothing is changed\n")
    assert _written(tmp_path) == files


_PULLED = JOB.replace("train:v1", f"train@sha256:{'0' * 64}\n            imagePullPolicy: Always").replace(
    "replicas: 1", "replicas: 1\n      restartPolicy: Never"
)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["validate", "--ignore", "unknown-field"], _BAD),
        (["validate"], _BAD.replace("# one", "# jobspec: ignore[unknown-field, wrong-type] ours")),
        (["validate"], f"# jobspec: ignore[unknown-field, wrong-type] ours\n{_BAD}"),
        (["lint", "--ignore", "needless-pull"], _PULLED),
        (["lint", "--select", "unpinned-image"], _PULLED),
        (["lint"], _PULLED.replace("Always", "Always  # jobspec: ignore[needless-pull] ours")),
    ],
)
def test_what_is_ignored_is_not_fixed(options: list[str], text: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": text, "guide.md": f"# A page\n\n```yaml\n{text}```\n"})
    assert run_here(*options, "--fix", "a.yaml", "guide.md", cwd=tmp_path).stderr == ""
    assert (tmp_path / "a.yaml").read_text() == text
    assert (tmp_path / "guide.md").read_text() == f"# A page\n\n```yaml\n{text}```\n"


def test_a_rule_that_is_selected_alone_still_leaves_valid_what_was(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _PULLED, "b.yaml": _BAD})
    done = run_here("lint", "--fix", "--unsafe-fixes", "--select", "needless-pull", ".", cwd=tmp_path)
    assert done.stderr == "a.yaml: 1 problem fixed\n"
    assert (tmp_path / "b.yaml").read_text() == _BAD


def test_a_fix_that_changes_what_runs_has_to_be_asked_for(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _PULLED, "b.yaml": JOB.replace("replicas: 1", "replicaz: 1")})
    said = run_here("lint", "--diff", ".", cwd=tmp_path)
    assert (said.returncode, "replicas: 1" in said.stdout, "imagePullPolicy" in said.stdout) == (1, True, False)
    done = run_here("lint", "--fix", "a.yaml", "b.yaml", cwd=tmp_path)
    assert done.stderr == "b.yaml: 1 problem fixed\n"
    assert (tmp_path / "a.yaml").read_text() == _PULLED
    assert "1 fixable with --fix --unsafe-fixes" in done.stdout
    (pulled,) = [line for line in run_here("lint", "-o", "concise", "a.yaml", cwd=tmp_path).stdout.splitlines() if "needless-pull" in line]
    assert pulled.endswith("[needless-pull]")
    done = run_here("lint", "--fix", "--unsafe-fixes", "a.yaml", cwd=tmp_path)
    assert done.stderr == "a.yaml: 1 problem fixed\n"
    assert "imagePullPolicy" not in (tmp_path / "a.yaml").read_text()


@pytest.mark.parametrize("outcome", [True, False])
def test_candidates_are_judged_with_outcomes_as_the_command_reports_them(outcome: bool) -> None:
    path = sorted((Path(__file__).parents[1] / "cases" / "outcome").rglob("*.yaml"))[0]
    found = [Found(str(path), named=True)]
    context = RunContext(Cluster(), [], [], [], [])
    checker = CandidateChecker(found, context, None, Options(outcome=outcome))
    said = checker({str(path): path.read_text()}, {str(path)})[str(path)]
    assert any(each.stage == "outcome" for each in said) == outcome


_LIMITED = {
    "policy.yaml": """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]}
  validations: [{expression: "object.spec.parallelism <= int(params.data.most)"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec: {policyName: few, validationActions: [Deny], paramRef: {name: most, namespace: nlp, parameterNotFoundAction: Deny}}
""",
    "parameters.yaml": 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: most, namespace: nlp}\ndata: {most: "4"}\n',
    "job.yaml": """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: nlp}
spec:
  paralelism: 2
  template: {spec: {restartPolicy: Never, containers: [{name: train, image: "train:1"}]}}
""",
}


@pytest.mark.parametrize("asked", [["validate", "--fix"], ["lint", "--fix"], ["lint", "--fix", "--unsafe-fixes"]])
def test_files_are_fixed_beside_a_policy_with_its_parameters_in_another_file(asked: list[str], tmp_path: Path) -> None:
    write(tmp_path, _LIMITED)
    done = run_here(*asked, ".", cwd=tmp_path)
    assert done.stderr == "job.yaml: 1 problem fixed\n"
    assert (tmp_path / "job.yaml").read_text() == _LIMITED["job.yaml"].replace("paralelism", "parallelism")


def test_a_diff_and_a_preflight_show_the_fix_beside_a_policy_with_its_parameters(tmp_path: Path) -> None:
    write(tmp_path, _LIMITED)
    assert "+  parallelism: 2" in run_here("lint", "--diff", ".", cwd=tmp_path).stdout
    assert "+  parallelism: 2" in json.loads(run_here("preflight", ".", "-o", "json", cwd=tmp_path).stdout)["fixes"]
