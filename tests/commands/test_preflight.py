"""`jobspec preflight`: one answer, held against the single commands in `tests/session/test_agreement.py`."""

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from jobspec.reports.preflight import PreflightAnswer, answers_of_findings, as_data, json_schema
from tests.commands.test_queue import JOB, QUEUES
from tests.support.manifests import PROJECT_HEAD, write
from tests.support.processes import environment, run_here
from tests.support.reference import ROOT

SCHEMA = ROOT / "docs" / "schemas" / "preflight.json"
PRICES = "apiVersion: jobspec.dev/v1alpha1\nkind: Prices\nspec: {currency: EUR, resources: {cpu: 0.5}}\n"


def preflight(folder: Path, *arguments: str) -> tuple[dict[str, Any], int]:
    """The answer as JSON, and the exit code."""
    done = run_here("preflight", *arguments, "-o", "json", cwd=folder)
    assert not done.stderr
    return json.loads(done.stdout), done.returncode


def commit(folder: Path) -> None:
    for command in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")):
        subprocess.run(["git", *command], cwd=folder, check=True)


def test_the_schema_in_the_documentation_is_that_of_the_answer() -> None:
    assert json.loads(SCHEMA.read_text()) == {"$schema": "https://json-schema.org/draft/2020-12/schema", **json_schema()}


def test_answers_have_the_form_of_the_schema() -> None:
    validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
    for path in sorted((ROOT / "tests" / "cases" / "queues").glob("*.yaml")):
        done = run_here("preflight", str(path), "--skip-unknown", "-o", "json", cwd=ROOT)
        answer = json.loads(done.stdout)
        validator.validate(answer)
        assert answer["passes"] <= all(each["verdict"] != "never admitted" for each in answer["jobs"])
        assert done.returncode == int(not answer["passes"]), done.stderr


def test_one_answer_to_all_questions(tmp_path: Path) -> None:
    job = JOB.replace("trainer: {", "activeDeadlineSeconds: 7200\n  trainer: {")
    write(tmp_path, {"jobs/train.yaml": job, "platform/queues.yaml": QUEUES, "prices.yaml": PRICES})
    commit(tmp_path)
    write(tmp_path, {"jobs/train.yaml": job.replace("numNodes: 2", "numNodes: 1").replace("name: llama", "name: llama-2")})
    answer, code = preflight(tmp_path, "jobs", "--queues", "platform", "--prices", "prices.yaml", "--from-ref", "HEAD")
    assert (code, answer["verdict"], answer["passes"]) == (0, "runs", True)
    assert answer["jobs"] == [
        {
            "kind": "TrainJob",
            "name": "llama-2",
            "file": "jobs/train.yaml",
            "line": 3,
            "verdict": "runs",
            "accepted": True,
            "runs": True,
            "namespace": "nlp",
            "pods": {"node": 1},
            "holds": {"cpu": "3"},
            "deadline": "2h",
            "cost": "at most 3.00 EUR",
            "queue": {"verdict": "fits", "name": "nlp", "flavors": "a100"},
        }
    ]
    (change,) = answer["change"]["objects"]
    assert (change["meaning"], change["pods"]) == ("new-run", "2 → 1")
    assert "spec.trainer.numNodes: 2 → 1 (jobs/train.yaml:7)" in change["fields"]
    text = run_here("preflight", "jobs", "--queues", "platform", "--prices", "prices.yaml", "--from-ref", "HEAD", cwd=tmp_path).stdout
    for said in ("runs (jobs/train.yaml:3)", "pods: 1 node; 3 cpu together", "deadline 2h; at most 3.00 EUR", "queue nlp: fits in a100"):
        assert said in text


def test_a_job_that_its_queue_never_admits_fails_and_says_why(tmp_path: Path) -> None:
    write(tmp_path, {"jobs/train.yaml": JOB.replace("cpu: 3", "cpu: 5"), "platform/queues.yaml": QUEUES})
    answer, code = preflight(tmp_path, "jobs", "--queues", "platform")
    (job,) = answer["jobs"]
    assert (code, answer["verdict"], job["verdict"], job["queue"]["verdict"]) == (1, "never admitted", "never admitted", "never")
    assert "4 cpu in each of 2 pods" in job["queue"]["reason"]
    answer, code = preflight(tmp_path, "jobs", "platform")
    assert (code, answer["verdict"], answer["jobs"][0]["verdict"]) == (1, "never admitted", "never admitted")
    assert "4 cpu in each of 2 pods" in answer["findings"][0]["hint"]


def test_variants_of_a_project(tmp_path: Path) -> None:
    variants = "{name: a, base: job.yaml}, {name: b, base: job.yaml, overlays: [{gpu-nccl: {gpus: 4}}]}"
    project = f"{PROJECT_HEAD}  variants: [{variants}]\n"
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": project})
    commit(tmp_path)
    write(tmp_path, {"jobspec.yaml": project.replace("gpus: 4", "gpus: 8")})
    answer, _ = preflight(tmp_path, "--from-ref", "HEAD")
    assert [(each["variant"], each["pods"], each["holds"].get("nvidia.com/gpu")) for each in answer["jobs"]] == [
        ("a", {"node": 2}, None),
        ("b", {"node": 2}, "16"),
    ]
    assert [each["gpus"] for each in answer["change"]["objects"]] == ["8 → 16"]


BROKEN = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llama, namespace: nlp}
spec:
  runtimeReff: {name: torch-distributed}
  suspended: true
  trainer:
    numNodez: 4
    imagee: train:latest
    commands: [torchrun, train.py]
    argz: [--epochs, 3]
    numProcPerNodes: 8
    environment: [{name: NCCL_DEBUG, value: INFO}]
    resourcesPerNodes: {limits: {nvidia.com/gpu: 8}}
  labelz: {team: nlp}
"""


def test_ten_findings_take_less_than_two_thousand_tokens(tmp_path: Path) -> None:
    """At four characters a token; without a diff of fixes the answer is shorter yet."""
    write(tmp_path, {"job.yaml": BROKEN})
    answer, code = preflight(tmp_path, "job.yaml")
    assert code == 1
    assert len(answer["findings"]) >= 10
    assert answer["jobs"][0]["verdict"] == "refused"
    assert "+  suspend: true" in answer["fixes"]
    assert "left" not in answer
    assert len(json.dumps(answer, ensure_ascii=False)) / 4 < 2000


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    jobs = "---\n".join(JOB.replace("llama", f"llama-{number}").replace("train:1.4", f"train-{number}:latest") for number in range(40))
    write(tmp_path, {"jobs.yaml": jobs})
    answer, _ = preflight(tmp_path, "jobs.yaml")
    linted = json.loads(run_here("lint", "jobs.yaml", "-o", "json", cwd=tmp_path).stdout)
    numbers = Counter(each["rule"] for each in answer["findings"])
    more = {each.partition(": ")[0]: each.partition(": ")[2] for each in answer["left"] if each.startswith("more ")}
    numbers.update({name: int(number) for name, _, number in (each.rpartition(" ") for each in more["more findings"].split(", "))})
    assert numbers == Counter(each["rule"] for file in linted["files"] for each in file["diagnostics"])
    left = sum(int(each.rpartition(" ")[2]) for each in more.get("more jobs", "").split(", ") if each)
    assert len(answer["jobs"]) + left == 40
    assert len(json.dumps(answer, ensure_ascii=False)) / 4 < 2000


def test_an_answer_without_anything_is_an_answer() -> None:
    assert as_data(PreflightAnswer("no job", True, (), answers_of_findings(()))) == {
        "verdict": "no job",
        "passes": True,
        "jobs": [],
        "findings": [],
    }


def test_settings_of_the_repository_count(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "pyproject.toml": '[tool.jobspec]\nfail-on = "warning"\n'})
    answer, code = preflight(tmp_path, "job.yaml")
    assert (answer["passes"], code) == (False, 1)
    assert run_here("lint", "job.yaml", cwd=tmp_path).returncode == 1


def test_a_ref_that_is_not_there_is_no_answer(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    commit(tmp_path)
    done = run_here("preflight", "job.yaml", "--from-ref", "none", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")


def test_a_job_of_a_kustomization_is_one_job_and_a_build_that_fails_is_no_good_verdict(tmp_path: Path) -> None:
    kustomization = "namePrefix: prod-\nresources: [job.yaml]\n"
    write(tmp_path, {"kustomization.yaml": kustomization, "job.yaml": JOB})
    answer, code = preflight(tmp_path)
    assert code == 0
    assert [each["name"] for each in answer["jobs"]] == ["prod-llama"]
    broken = "replacements: [{source: {kind: TrainJob}, targets: [{select: {kind: TrainJob}, fieldPaths: [spec.none.0.x]}]}]\n"
    write(tmp_path, {"kustomization.yaml": kustomization + broken})
    answer, code = preflight(tmp_path)
    assert (code, answer["passes"]) == (1, False)
    assert answer["verdict"] == "unknown"


def test_jobs_of_one_name_in_one_folder_name_each_other(tmp_path: Path) -> None:
    other = JOB.replace("cpu: 3", "cpu: 2")
    write(tmp_path, {"jobs/a.yaml": JOB, "jobs/b.yaml": other, "jobs/dev/c.yaml": other})
    answer, _ = preflight(tmp_path, "jobs")
    assert [(each["file"], each.get("also_in")) for each in answer["jobs"]] == [
        ("jobs/a.yaml", ["jobs/b.yaml"]),
        ("jobs/b.yaml", ["jobs/a.yaml"]),
        ("jobs/dev/c.yaml", None),
    ]
    assert "the same object is in jobs/b.yaml: the one that is applied last wins" in run_here("preflight", "jobs", cwd=tmp_path).stdout


def test_what_is_not_looked_at_is_said(tmp_path: Path) -> None:
    write(tmp_path, {"chart/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n", "chart/templates/job.yaml": JOB})
    answer, code = preflight(tmp_path, ".")
    assert (code, answer["verdict"]) == (0, "no job")
    assert answer["left"] == ["skipped: 2 Helm chart files (chart/Chart.yaml, chart/templates/job.yaml): not rendered, use --helm CHART"]
    write(tmp_path, {"top/kustomization.yaml": "resources: [job.yaml]\nconfigMapGenerator: [{name: a, files: [settings.yaml]}]\n"})
    write(tmp_path, {"top/job.yaml": JOB, "top/settings.yaml": "steps: 3\n"})
    answer, _ = preflight(tmp_path, "top")
    assert answer["left"] == ["skipped: 1 kustomize input (top/settings.yaml)"]


def test_hints_keep_the_lines_of_their_yaml(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB.replace("cpu: 3", "nvidia.com/gpu: 8")})
    lines = run_here("preflight", "job.yaml", cwd=tmp_path, env=environment(COLUMNS="60")).stdout.splitlines()
    assert "    runtimePatches: [{manager: example.com/team," in lines
    (hint,) = [each["hint"] for each in preflight(tmp_path, "job.yaml")[0]["findings"] if each["rule"] == "small-shared-memory"]
    assert f"    {hint}".replace("\n", "\n    ") in "\n".join(lines)


def test_what_queues_decide_is_one_answer_with_the_verdict(tmp_path: Path) -> None:
    """`lint` leaves open what other members of a cohort lend; the queues among the files decide."""
    queues = QUEUES.replace("spec:\n  namespaceSelector", "spec:\n  cohortName: all\n  namespaceSelector")
    write(tmp_path, {"job.yaml": JOB.replace("cpu: 3", "cpu: 5"), "queues.yaml": queues})
    answer, code = preflight(tmp_path, ".")
    assert (code, answer["verdict"], answer["passes"]) == (1, "never admitted", False)
    assert answer["jobs"][0]["queue"]["reason"].endswith("; if the files have all queues")
    assert "admission-not-known" not in {each["rule"] for each in answer["findings"]}
    assert "admission-not-known" in run_here("lint", ".", cwd=tmp_path).stdout
    write(tmp_path, {"job.yaml": JOB})
    answer, code = preflight(tmp_path, ".")
    assert (code, answer["verdict"], answer["passes"]) == (0, "runs", True)
    assert "reason" not in answer["jobs"][0]["queue"]


def test_a_part_of_the_files_is_answered_as_lint_reports_it(tmp_path: Path) -> None:
    wrong = JOB.replace("name: llama", "name: other").replace("trainer: {", "trainerr: {")
    held = JOB.replace("name: llama", "name: held").replace("cpu: 3", "cpu: 5")
    write(tmp_path, {"good.yaml": JOB, "bad/wrong.yaml": wrong, "bad/held.yaml": held, "queues.yaml": QUEUES})
    for given in (["good.yaml", "--within", "."], ["bad", "--within", "."], ["bad/held.yaml", "--within", "."]):
        linted = json.loads(run_here("lint", *given, "-o", "json", cwd=tmp_path).stdout)
        answer, code = preflight(tmp_path, *given)
        assert {each["file"] for each in answer["jobs"]} == {each["path"].removeprefix("./") for each in linted["files"]}
        assert code == int(given[0] != "good.yaml")
    commit(tmp_path)
    write(tmp_path, {"good.yaml": JOB.replace("cpu: 3", "cpu: 2")})
    answer, code = preflight(tmp_path, ".", "--changed-since", "HEAD")
    assert ([each["file"] for each in answer["jobs"]], code) == (["good.yaml"], 0)


def test_variants_are_answered_where_their_project_or_what_it_reads_is_given(tmp_path: Path) -> None:
    variants = "{name: a, base: job.yaml}, {name: b, base: other.yaml}"
    files = {"job.yaml": JOB, "other.yaml": JOB.replace("llama", "other"), "lone.yaml": JOB.replace("llama", "lone")}
    write(tmp_path, {**files, "jobspec.yaml": f"{PROJECT_HEAD}  variants: [{variants}]\n"})
    for given, names in (("job.yaml", {"a", "b"}), ("jobspec.yaml", {"a", "b"}), ("lone.yaml", set())):
        answer, _ = preflight(tmp_path, given, "--within", ".")
        assert {each["variant"] for each in answer["jobs"] if "variant" in each} == names
        assert any(each["file"] == "lone.yaml" for each in answer["jobs"]) == (given == "lone.yaml")


def test_a_job_whose_queue_is_not_known_is_not_known_to_run(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "platform/queues.yaml": QUEUES})
    answer, code = preflight(tmp_path, "job.yaml")
    (job,) = answer["jobs"]
    assert (code, answer["verdict"], job["verdict"], job["runs"], job["queue"]["verdict"]) == (0, "unknown", "unknown", True, "unknown")
    answer, code = preflight(tmp_path, "job.yaml", "--queues", "platform")
    assert (code, answer["verdict"], answer["jobs"][0]["queue"]["verdict"]) == (0, "runs", "fits")


RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: ours, namespace: nlp}
spec:
  mlPolicy: {numNodez: 2, torch: {}}
  template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: [{name: node, image: "a:1"}]}}}}}]}}
"""
TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: nlp}
spec: {runtimeRef: {kind: TrainingRuntime, name: ours}}
"""


def test_the_answer_names_the_runtime_without_which_nothing_is_known(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": TRAINJOB, "runtime.yaml": RUNTIME})
    (job,) = preflight(tmp_path, ".")[0]["jobs"]
    said = "the TrainingRuntime `ours` is refused (runtime.yaml:3:18): the job is not checked before that is fixed"
    assert (job["verdict"], job["reason"]) == ("unknown", said)
    (job,) = preflight(tmp_path, "job.yaml")[0]["jobs"]
    assert (job["verdict"], job["reason"]) == ("unknown", "no TrainingRuntime `ours` in the files: the job was not checked")


def test_a_refused_runtime_of_the_same_file_is_no_runtime(tmp_path: Path) -> None:
    """Its template is no object, of which nothing can be computed."""
    runtime = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: ours, namespace: nlp}
spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: text}}]}}}
"""
    write(tmp_path, {"job.yaml": f"{runtime}---\n{TRAINJOB}"})
    job = next(each for each in preflight(tmp_path, ".")[0]["jobs"] if each["kind"] == "TrainJob")
    assert job["verdict"] == "unknown"


SUSPENDED = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: set}
spec:
  suspend: true
  replicatedJobs: [{name: a, template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}}]
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: torch}
spec:
  runPolicy: {suspend: true}
  pytorchReplicaSpecs: {Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: "a:1"}]}}}}
"""


def test_a_suspended_job_is_suspended(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": SUSPENDED})
    answer, code = preflight(tmp_path, "job.yaml")
    assert (code, answer["verdict"], [each["verdict"] for each in answer["jobs"]]) == (0, "suspended", ["suspended", "suspended"])
    assert {each["reason"] for each in answer["jobs"]} == {"the job is suspended: it has no pods until `suspend` is false"}


def test_a_heading_that_does_not_fit_has_its_place_on_a_line_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, {f"{'folder/' * 5}job.yaml": JOB})
    lines = run_here("preflight", ".", cwd=tmp_path, env=environment(COLUMNS="60")).stdout.splitlines()
    assert lines[:2] == ["TrainJob nlp/llama: unknown", f"  ({'folder/' * 5}job.yaml:3)"]
    assert run_here("preflight", ".", cwd=tmp_path).stdout.splitlines()[0] == f"TrainJob nlp/llama: unknown ({'folder/' * 5}job.yaml:3)"
