"""Habits of a command line: what works without options, what is meant by a misspelt word, and where settings are found."""

import json
from pathlib import Path

import pytest

from jobspec.apis.releases import OPERATORS
from jobspec.overlays.load import shipped
from tests.support.manifests import JOB, PROJECT_HEAD, write
from tests.support.processes import program, run_here

BAD = JOB.replace("replicas: 1", 'replicas: "1"').replace("metadata:", "metadata:\n  labelz: {}", 1)


def test_alone_it_prints_the_help() -> None:
    done = run_here()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run_here("--help").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["valdate"], "jobspec: unknown command `valdate`; did you mean `validate`?\n"),
        (["lnit"], "jobspec: unknown command `lnit`; did you mean `lint`?\n"),
        (["xyz"], "jobspec: unknown command `xyz`; `jobspec --help` lists the commands\n"),
        (["validate", "--overlya", "cpu"], "jobspec validate: unknown option `--overlya`; did you mean `--overlay`?\n"),
        (["validate", "--qqqq"], "jobspec validate: unknown option `--qqqq`\n"),
        (["validate", "-o", "jsn"], "jobspec validate: -o/--output: unknown value `jsn`; did you mean `json`?\n"),
        (["lint", "--fail-on"], "jobspec lint: argument --fail-on: expected one argument; see `jobspec lint --help`\n"),
    ],
)
def test_a_misspelt_word_is_one_line_with_what_was_meant(arguments: list[str], said: str) -> None:
    done = run_here(*arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_concise_is_a_line_for_each_finding_and_marks_what_can_be_fixed(tmp_path: Path) -> None:
    write(tmp_path, {"bad.yaml": BAD})
    lines = run_here("validate", "bad.yaml", "-o", "concise", cwd=tmp_path).stdout.splitlines()
    assert [line.split(" ", 1)[1] for line in lines[:2]] == [
        "error: unknown field `labelz` in `metadata` [unknown-field] [*]",
        'error: `replicas`: expected an integer, got the string "1" [wrong-type] [*]',
    ]
    assert lines[2].startswith("1 document: 1 invalid (1 not checked for admission and outcome), 2 errors, 2 fixable with --fix (")


def test_statistics_count_each_rule(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": BAD, "b.yaml": BAD})
    lines = run_here("validate", "a.yaml", "b.yaml", "--statistics", cwd=tmp_path).stdout.splitlines()
    assert lines[:2] == ["2  error    unknown-field [*]", "2  error    wrong-type [*]"]


def test_several_reports_of_one_run(tmp_path: Path) -> None:
    write(tmp_path, {"bad.yaml": BAD})
    done = run_here("validate", "bad.yaml", "-o", "concise", "-o", "sarif=out.sarif", "-o", "json=out.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == run_here("validate", "bad.yaml", "-o", "concise", cwd=tmp_path).stdout
    assert (tmp_path / "out.json").read_text() == run_here("validate", "bad.yaml", "-o", "json", cwd=tmp_path).stdout
    assert json.loads((tmp_path / "out.sarif").read_text())["version"] == "2.1.0"
    done = run_here("validate", "bad.yaml", "-o", "text", "-o", "json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "jobspec: only one report can go to standard output; write the others as `-o FORMAT=FILE`\n",
    )


def test_one_cause_is_one_finding_with_its_other_places(tmp_path: Path) -> None:
    several = "---\n".join(JOB.replace("replicas: 1", "replicaz: 1").replace("name: train", f"name: train{number}") for number in range(3))
    write(tmp_path, {"jobs.yaml": several})
    text = run_here("validate", "jobs.yaml", cwd=tmp_path).stdout
    assert text.count("unknown field `replicaz`") == 1
    length = JOB.count("\n") + 1
    line = JOB[: JOB.index("replicas")].count("\n") + 1
    assert f"    also: {line + length}:7, {line + 2 * length}:7\n" in text
    assert "(and 2 more places) [unknown-field] [*]" in run_here("validate", "jobs.yaml", "-o", "concise", cwd=tmp_path).stdout
    report = json.loads(run_here("validate", "jobs.yaml", "-o", "json", cwd=tmp_path).stdout)
    (found,) = (each for each in report["files"][0]["diagnostics"] if each["rule"] == "unknown-field")
    places = [(line + number * length, number) for number in range(3)]
    assert [(each["line"], each["document"]) for each in [found, *found["related"]]] == places
    run = json.loads(run_here("validate", "jobs.yaml", "-o", "sarif", cwd=tmp_path).stdout)["runs"][0]
    (result,) = (each for each in run["results"] if each["ruleId"] == "unknown-field")
    shown = [each["physicalLocation"]["region"]["startLine"] for each in result["locations"] + result["relatedLocations"]]
    assert shown == [each for each, _ in places]
    annotation = run_here("validate", "jobs.yaml", "-o", "github", cwd=tmp_path).stdout
    assert annotation.count("unknown field `replicaz`") == 1 and "and 2 more places" in annotation


def test_what_is_missing_for_several_files_is_one_finding_for_people_and_one_a_file_for_programs(tmp_path: Path) -> None:
    write(tmp_path, {f"{name}.yaml": JOB.replace("kubeflow.org/v1", "kubeflow.org/v1beta1") for name in "abc"})
    done = run_here("validate", ".", "-o", "text", "-o", "json=all.json", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.count("does not know the kind PyTorchJob of kubeflow.org/v1beta1") == 1
    assert "    also: b.yaml:1:13, c.yaml:1:13\n" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("3 documents: 3 invalid (3 not checked for schema and admission), 1 error (")
    files = json.loads((tmp_path / "all.json").read_text())["files"]
    assert [(each["valid"], [one["rule"] for one in each["diagnostics"]]) for each in files] == [(False, ["unknown-kind"])] * 3


def test_a_policy_that_warns_of_several_files_is_one_finding(tmp_path: Path) -> None:
    jobs = {f"{name}.yaml": JOB.replace("name: train", f"name: {name}") for name in "abc"}
    write(tmp_path, {**jobs, "policy.yaml": _TEAM_POLICY})
    lines = run_here("validate", ".", "-o", "concise", cwd=tmp_path).stdout.splitlines()
    said = "policy `team` (binding `team`) warns: every job has the label `team` (and 2 more places) [refused-by-policy]"
    assert [each for each in lines if "refused-by-policy" in each] == [f"a.yaml:3:1: warning: {said}"]


def test_a_pod_security_level_that_refuses_the_pods_of_several_files_is_one_finding(tmp_path: Path) -> None:
    jobs = {f"{name}.yaml": JOB.replace("name: train", f"name: {name}\n  namespace: strict") for name in "abc"}
    level = "{pod-security.kubernetes.io/enforce: restricted}"
    write(tmp_path, {**jobs, "namespace.yaml": f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: strict, labels: {level}}}\n"})
    lines = run_here("validate", ".", "-o", "concise", cwd=tmp_path).stdout.splitlines()
    assert [each.partition(":")[0] for each in lines if "pods-refused" in each] == ["a.yaml"]


_TEAM_POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: team}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [kubeflow.org], apiVersions: ["*"], operations: [CREATE], resources: [pytorchjobs]}]}
  validations: [{expression: "has(object.metadata.labels) && 'team' in object.metadata.labels", message: every job has the label `team`}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: team}
spec: {policyName: team, validationActions: [Warn]}
"""


def test_an_alias_used_twice_is_one_finding(tmp_path: Path) -> None:
    head, _, master = JOB.partition("    Master:\n")
    write(tmp_path, {"job.yaml": f"{head}    Master: &pods\n{master.replace('image:', 'imag:')}    Worker: *pods\n"})
    report = json.loads(run_here("validate", "job.yaml", "-o", "json", cwd=tmp_path).stdout)
    (found,) = (each for each in report["files"][0]["diagnostics"] if each["rule"] == "unknown-field")
    (again,) = found.pop("related")
    assert again == {name: each for name, each in found.items() if name in again} | {"field": found["field"].replace("Master", "Worker")}
    assert "also:" not in run_here("validate", "job.yaml", cwd=tmp_path).stdout


PODS = """
        spec:
          containers:
            - {name: pytorch, image: "train:1", command: [torchrun, train.py]}
"""


def test_a_level_of_pod_security_is_one_finding(tmp_path: Path) -> None:
    namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: nlp, labels: {pod-security.kubernetes.io/enforce: restricted}}}"
    roles = "".join(f"    {role}:\n      replicas: 1\n      restartPolicy: Never\n      template:{PODS}" for role in ("Master", "Worker"))
    job = f"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {{name: bert, namespace: nlp}}\nspec:\n  pytorchReplicaSpecs:\n{roles}"
    write(tmp_path, {"job.yaml": f"{namespace}\n---\n{job}"})
    report = json.loads(run_here("validate", "job.yaml", "-o", "json", cwd=tmp_path).stdout)
    of_operator, of_job = report["files"][0]["diagnostics"]
    level = "pods refused: PodSecurity: namespace `nlp` enforces `restricted`, which"
    assert of_operator["message"] == f"{level} the operator's own init container `init-pytorch` breaks"
    wanted = "`runAsNonRoot: true`, `seccompProfile.type: RuntimeDefault`, `allowPrivilegeEscalation: false`, `capabilities.drop: [ALL]`"
    assert of_job["message"] == f"{level} requires {wanted}"
    assert len(of_job["related"]) == 3


@pytest.mark.parametrize("name", ["jobspec.yaml", "pyproject.toml"])
def test_settings_are_found_above_the_working_folder(tmp_path: Path, name: str) -> None:
    program("git", "init", "--quiet", tmp_path, check=True)
    settings = {"jobspec.yaml": f"{PROJECT_HEAD}  variants: []\n  checks: {{ignore: [unpinned-image]}}\n"}
    settings["pyproject.toml"] = '[tool.jobspec]\nignore = ["unpinned-image"]\n'
    write(tmp_path, {name: settings[name], "team/jobs/job.yaml": JOB.replace("train:1", "train:latest")})
    here = tmp_path / "team" / "jobs"
    assert "unpinned-image" not in run_here("lint", "job.yaml", cwd=here).stdout
    (tmp_path / name).unlink()
    assert "unpinned-image" in run_here("lint", "job.yaml", cwd=here).stdout or "latest" not in (here / "job.yaml").read_text()


def test_a_baseline_above_the_working_folder_is_found_from_its_own_folder(tmp_path: Path) -> None:
    program("git", "init", "--quiet", tmp_path, check=True)
    write(tmp_path, {"pyproject.toml": '[tool.jobspec]\nbaseline = "known.json"\n', "team/bad.yaml": BAD})
    assert run_here("validate", "team", "--write-baseline", "known.json", "--baseline", "", cwd=tmp_path).returncode == 0
    assert run_here("validate", ".", cwd=tmp_path / "team").returncode == 0


def test_excluded_files_are_counted_in_a_folder_and_read_where_they_are_named(tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": '[tool.jobspec]\nexclude = ["old/", "*.draft.yaml"]\n', "good.yaml": JOB})
    write(tmp_path, {"old/bad.yaml": BAD, "bad.draft.yaml": BAD})
    done = run_here("validate", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout.partition(" (training")[0]) == (0, "3 documents: 1 valid, 2 skipped (2 excluded files)")
    assert run_here("validate", "old/bad.yaml", cwd=tmp_path).returncode == 1


def test_a_jobspecignore_excludes_files(tmp_path: Path) -> None:
    write(tmp_path, {".jobspecignore": "# drafts\n/drafts\n!drafts/kept.yaml\n", "good.yaml": JOB, "drafts/bad.yaml": BAD})
    assert run_here("validate", ".", cwd=tmp_path).returncode == 0
    assert run_here("validate", "drafts/bad.yaml", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize("line", ["!", "[9-0]", "bad\\", "[[9-0]"])
def test_a_line_that_is_no_pattern_excludes_nothing(line: str, tmp_path: Path) -> None:
    write(tmp_path, {".jobspecignore": f"{line}\n/drafts\n", "bad.yaml": BAD, "drafts/bad.yaml": BAD})
    done = run_here("validate", ".", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "2 documents: 1 invalid, 1 skipped, 2 errors" in done.stdout


def test_endings_in_upper_case_are_read(tmp_path: Path) -> None:
    write(tmp_path, {"BAD.YAML": BAD})
    assert run_here("validate", ".", cwd=tmp_path).returncode == 1


def test_without_a_path_the_folder_is_checked(tmp_path: Path) -> None:
    write(tmp_path, {"bad.yaml": BAD})
    assert run_here("lint", cwd=tmp_path).stdout == run_here("lint", ".", cwd=tmp_path).stdout


def test_without_a_path_a_project_meets_what_stands_beside_it(tmp_path: Path) -> None:
    quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {pods: 0}}\n"
    project = f"{PROJECT_HEAD}  variants: [{{name: a, base: job.yaml}}]\n"
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": project, "quota.yaml": quota})
    for command in ("lint", "validate", "preflight"):
        done = run_here(command, cwd=tmp_path)
        assert (done.returncode, "exceeds ResourceQuota `none` (quota.yaml)" in done.stdout) == (1, True), command


def test_what_there_is_is_listed(tmp_path: Path) -> None:
    project = f"{PROJECT_HEAD}  variants:\n    - name: a-${{k}}\n      base: job.yaml\n      matrix: {{k: [1, 2]}}\n"
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": project + "      overlays: [{gpu-nccl: {gpus: 2}}, istio-off]\n"})
    done = run_here("list", "-o", "json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    listed = json.loads(done.stdout)
    overlays = ["gpu-nccl gpus=2", "istio-off"]
    assert listed["variants"] == [{"name": f"a-{n}", "base": "job.yaml", "overlays": overlays, "matrix": {"k": n}} for n in ("1", "2")]
    assert [each["name"] for each in listed["overlays"]] == shipped()
    assert {each["name"] for each in listed["targets"]} == {*OPERATORS, "kubernetes"}
    text = run_here("list", cwd=tmp_path).stdout
    assert "  a-1  job.yaml, gpu-nccl gpus=2, istio-off, k=1\n" in text
    assert "gpus <integer>  GPUs for each pod; default 1; minimum 1\n" in text
    done = run_here("list", "variants", cwd=tmp_path.parent)
    assert (done.returncode, done.stdout) == (2, "")


def test_an_overlay_is_explained() -> None:
    text = run_here("explain", "gpu-nccl").stdout
    assert text.startswith("overlay gpu-nccl: one or more NVIDIA GPUs")
    assert "\nuse: jobspec render job.yaml --overlay gpu-nccl --set gpu-nccl.gpus=...\n" in text
    assert "kind: Overlay\n" in text


NEVER = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: bert, namespace: nlp}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: pytorch, image: "train:1", command: [torchrun, train.py]}]}}
"""


def test_render_does_not_call_valid_what_validate_fails(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": NEVER})
    said = run_here("validate", "job.yaml", cwd=tmp_path)
    assert said.returncode == 1 and "1 accepted but will not run" in said.stdout
    done = run_here("render", "job.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said.stdout)
    accepted = run_here("render", "job.yaml", "--no-outcome", cwd=tmp_path)
    assert (accepted.returncode, accepted.stderr) == (0, "") and "kind: PyTorchJob" in accepted.stdout


def test_validate_lint_and_render_agree_on_a_project(tmp_path: Path) -> None:
    matrix = '  variants:\n  - name: seed-${seed}\n    base: job.yaml\n    matrix: {seed: [1, 2, 3]}\n    flags: {--seed: "${seed}"}\n'
    write(tmp_path, {"job.yaml": NEVER, "jobspec.yaml": f"{PROJECT_HEAD}{matrix}"})
    for command in ("validate", "lint", "render"):
        done = run_here(command, "jobspec.yaml" if command != "render" else "--check", "-o", "json", cwd=tmp_path)
        (file,) = json.loads(done.stdout)["files"]
        (found,) = (each for each in file["diagnostics"] if each["severity"] == "error")
        assert (done.returncode, found["rule"], found["file"], "related" in found) == (1, "no-rendezvous", "job.yaml", False)
        assert [each["runs"] for each in file["documents"] if each["kind"] == "PyTorchJob"] == [False] * 3
    assert not (tmp_path / "rendered").exists()
    assert run_here("render", "--no-outcome", cwd=tmp_path).returncode == 0


def test_objects_beside_a_project_count_for_its_variants(tmp_path: Path) -> None:
    quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: gpus, namespace: ml}, spec: {hard: {requests.nvidia.com/gpu: 1}}}\n"
    variants = "  variants:\n  - {name: a, base: job.yaml}\n  - {name: b, base: job.yaml}\n"
    job = f"{JOB}            resources: {{limits: {{nvidia.com/gpu: 2}}}}\n"
    write(tmp_path, {"job.yaml": job, "jobspec.yaml": f"{PROJECT_HEAD}  defaults: {{namespace: ml}}\n{variants}", "quota.yaml": quota})
    assert run_here("validate", "jobspec.yaml", cwd=tmp_path).returncode == 0
    for command in ("validate", "lint"):
        done = run_here(command, "jobspec.yaml", "quota.yaml", "-o", "concise", cwd=tmp_path)
        assert done.returncode == 1
        assert "some pods are never created (variant a) (and 1 more place) [never-fits]" in done.stdout


def test_fixes_alone_leave_the_report_to_another_run(tmp_path: Path) -> None:
    write(tmp_path, {"bad.yaml": BAD + "  unheard: of\n"})
    done = run_here("lint", "bad.yaml", "--fix-only", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "bad.yaml: 2 problems fixed\n")
    left = run_here("lint", "bad.yaml", "-o", "concise", cwd=tmp_path)
    assert left.returncode == 1 and "unknown field `unheard`" in left.stdout
