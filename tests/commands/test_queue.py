"""`jobspec queue`: files and projects, queues from elsewhere, and each format."""

import json
import re
from bisect import bisect
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from jobspec.documents.document import items_of
from jobspec.documents.reader import read
from tests.support.manifests import JOB as PYTORCHJOB
from tests.support.manifests import PROJECT_HEAD, RUNTIME, write
from tests.support.processes import run_here
from tests.support.reference import ROOT

CASES = ROOT / "tests" / "cases" / "queues"
QUEUES = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
spec: {nodeLabels: {gpu: a100}, tolerations: [{key: gpu, operator: Exists}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: a100, resources: [{name: cpu, nominalQuota: 8}]}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: nlp, namespace: nlp}
spec: {clusterQueue: research}
"""
JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: llama, namespace: nlp, labels: {kueue.x-k8s.io/queue-name: nlp}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, image: "train:1.4", command: [torchrun, train.py], resourcesPerNode: {requests: {cpu: 3}}}
"""


def test_json_has_the_form_of_its_schema_and_fails_where_a_job_is_never_admitted() -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "queue.json").read_text())
    for path in sorted(CASES.glob("*.yaml")):
        done = run_here("queue", str(path), "--skip-unknown", "-o", "json", cwd=ROOT)
        found = json.loads(done.stdout)
        Draft202012Validator(schema).validate(found)
        verdicts = {each["verdict"] for each in found["workloads"]}
        assert done.returncode == int("never" in verdicts), done.stderr


POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: queued}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE], resources: [trainjobs, pytorchjobs, jobs, jobsets]}]
  mutations:
    - patchType: JSONPatch
      jsonPatch: {expression: '[JSONPatch{op: "add", path: "/metadata/labels", value: {"kueue.x-k8s.io/queue-name": "nlp"}}]'}
---
{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: queued}, spec: {policyName: queued}}
"""


def test_a_job_is_in_the_queue_that_a_policy_of_another_file_gives_it(tmp_path: Path) -> None:
    free = JOB.replace(", labels: {kueue.x-k8s.io/queue-name: nlp}", "").replace("cpu: 3", 'cpu: "3"')
    write(tmp_path, {"job.yaml": free, "policy.yaml": POLICY, "queues.yaml": QUEUES})
    assert "bypasses" not in run_here("queue", ".", cwd=tmp_path).stdout
    assert "no-queue-name" not in run_here("lint", ".", cwd=tmp_path).stdout
    write(tmp_path, {"job.yaml": free.replace("numNodes: 2", "numNodes: 4")})
    assert ": never" in run_here("queue", ".", cwd=tmp_path).stdout
    found = json.loads(run_here("lint", ".", "-o", "json", cwd=tmp_path).stdout)
    never = [each for file in found["files"] for each in file["diagnostics"] if each["rule"] == "never-admitted"]
    assert [(each["file"], each["line"]) for each in never] == [("job.yaml", 3)]


def test_the_jobs_of_a_cron_job_are_in_the_queue_that_a_policy_gives_them(tmp_path: Path) -> None:
    container = "{name: a, image: a, resources: {requests: {cpu: CPU}}}"
    job = f"{{backoffLimit: 1, template: {{spec: {{restartPolicy: Never, containers: [{container}]}}}}}}"
    head = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: nlp}"
    cron_job = f'{head}, spec: {{schedule: "0 3 * * *", jobTemplate: {{spec: {job}}}}}}}\n'
    write(tmp_path, {"job.yaml": cron_job.replace("CPU", "9"), "policy.yaml": POLICY, "queues.yaml": QUEUES})
    assert "CronJob nlp/a: never in queue nlp" in run_here("queue", ".", cwd=tmp_path).stdout
    said = run_here("lint", ".", "-o", "concise", cwd=tmp_path).stdout
    assert ("[never-admitted]" in said, "[no-queue-name]" in said) == (True, False)
    write(tmp_path, {"job.yaml": cron_job.replace("CPU", "1")})
    assert "CronJob nlp/a: fits in queue nlp" in run_here("queue", ".", cwd=tmp_path).stdout
    write(tmp_path, {"policy.yaml": POLICY.replace("jobs, jobsets", "cronjobs")})
    assert "CronJob nlp/a: bypasses Kueue" in run_here("queue", ".", cwd=tmp_path).stdout


def test_queues_come_from_elsewhere_and_a_job_without_one_starts_past_them(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"jobs/job.yaml": JOB, "platform/queues.yaml": QUEUES, "free.yaml": JOB.replace(", labels: {kueue.x-k8s.io/queue-name: nlp}", "")},
    )
    done = run_here("queue", "jobs", "--queues", "platform", cwd=tmp_path)
    assert done.returncode == 0
    assert "TrainJob nlp/llama: fits in queue nlp → research (jobs/job.yaml)" in done.stdout
    assert "research  a100  cpu  [+++++++++++++++.....]  8 own, 8 at most, 6 wanted" in done.stdout
    without = run_here("queue", "jobs", cwd=tmp_path)
    assert (without.returncode, without.stdout) == (2, "")
    assert "no queues: give the folder" in without.stderr
    assert "bypasses Kueue: no queue-name label" in run_here("queue", "free.yaml", "--queues", "platform", cwd=tmp_path).stdout
    table = run_here("queue", "jobs", "--queues", "platform", "-o", "markdown", cwd=tmp_path).stdout
    assert "| TrainJob `nlp/llama` | `nlp` → `research` |  | **fits** |  |" in table


GROUPS = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: serve, namespace: nlp, labels: {kueue.x-k8s.io/queue-name: nlp}}
spec:
  replicas: 3
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {spec: {containers: [{name: serve, image: "serve:1.4", resources: {requests: {cpu: 2}}}]}}
"""


def test_the_last_line_counts_the_groups_of_a_set_beside_the_jobs(tmp_path: Path) -> None:
    write(tmp_path, {"queues.yaml": QUEUES, "serve.yaml": GROUPS, "job.yaml": JOB})
    done = run_here("queue", "serve.yaml", "job.yaml", "--queues", "queues.yaml", "--target", "kueue=0.19", cwd=tmp_path)
    assert "\n2 jobs, 3 groups: 3 fits, 1 waits (Kueue 0.19.2)" in done.stdout


def test_jobs_are_asked_about_beside_files_with_errors(tmp_path: Path) -> None:
    """What is built of a wrong file is left out with it, and a queue may be in a file that cannot be read."""
    wrong = JOB.replace("llama", "bad").replace("numNodes", "numNodez")
    write(tmp_path, {"job.yaml": JOB, "queues.yaml": QUEUES, "wrong.yaml": wrong, "base/job.yaml": wrong.replace("bad", "worse")})
    write(tmp_path, {"base/kustomization.yaml": "resources: [job.yaml]\nnamePrefix: a-\n"})
    write(tmp_path, {"other.yaml": JOB.replace("llama", "other").replace("queue-name: nlp", "queue-name: gone")})

    def asked() -> tuple[dict[str, str], int, str]:
        done = run_here("queue", ".", "-o", "json", cwd=tmp_path)
        return {each["name"]: each["verdict"] for each in json.loads(done.stdout)["workloads"]}, done.returncode, done.stderr

    found, code, said = asked()
    assert (found, code) == ({"llama": "fits", "other": "never"}, 1)
    assert said.endswith("jobspec: left out because of their errors: base/job.yaml, wrong.yaml\n")
    assert "unknown field `numNodez`" in said
    write(tmp_path, {"more.yaml": f"{QUEUES.replace('name: nlp, namespace', 'name: gone, namespace')}  stop: [\n"})
    assert asked()[0] == {"llama": "fits", "other": "unknown"}
    write(tmp_path, {"job.yaml": wrong, "other.yaml": wrong})
    done = run_here("queue", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("jobspec: no queue is asked before these errors are fixed\n")


def test_valid_variants_are_asked_about_beside_one_with_an_error(tmp_path: Path) -> None:
    variants = "{base: job.yaml, queue: nlp, namespace: nlp}\n  variants: [{name: a}, {name: b, namespace: B_}]\n"
    write(tmp_path, {"jobspec.yaml": f"{PROJECT_HEAD}  defaults: {variants}", "job.yaml": PYTORCHJOB, "queues.yaml": QUEUES})
    done = run_here("queue", "--queues", "queues.yaml", cwd=tmp_path)
    assert (done.returncode, "PyTorchJob nlp/a" in done.stdout, "1 job: 1 fits" in done.stdout) == (1, True, True)
    assert done.stderr.endswith("jobspec: left out because of their errors: variant `b`\n")


@pytest.mark.parametrize("text", [QUEUES, "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nstatus: {allocatable: {cpu}}\n"])
def test_files_without_jobs_are_nothing_to_ask(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"platform/objects.yaml": text})
    done = run_here("queue", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "0 jobs (Kueue 0.19.2)\n")
    assert done.stderr.startswith("jobspec: no job to ask for: the files hold no ")
    found = run_here("queue", "platform", "-o", "json", cwd=tmp_path)
    assert (found.returncode, json.loads(found.stdout)) == (0, {"workloads": []})


def test_expand_shows_the_workload_and_the_pods_as_admitted(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "queues.yaml": QUEUES})
    done = run_here("expand", "job.yaml", "--queued", "--queues", "queues.yaml", "-o", "json", cwd=tmp_path)
    made = json.loads(done.stdout)["items"]
    (workload,) = (each for each in made if each["kind"] == "Workload")
    assert workload["spec"]["queueName"] == "nlp"
    (pods,) = workload["spec"]["podSets"]
    assert (pods["name"], pods["count"]) == ("node", 2)
    for pod in (each for each in made if each["kind"] == "Pod"):
        assert pod["spec"]["nodeSelector"] == {"gpu": "a100"}
        assert {"key": "gpu", "operator": "Exists"} in pod["spec"]["tolerations"]
        assert pod["metadata"]["labels"]["kueue.x-k8s.io/podset"] == "node"
    waiting = run_here("expand", "job.yaml", "--queued", "-o", "json", cwd=tmp_path)
    assert not any("nodeSelector" in each["spec"] for each in json.loads(waiting.stdout)["items"] if each["kind"] == "Pod")


_PODS = "{spec: {restartPolicy: Never, containers: [{name: main, image: 'registry.example/train:1', resources: {requests: {cpu: 1}}}]}}"
_OF_JOBS = {
    "Job": ("batch/v1", f"{{completionMode: Indexed, parallelism: 2, completions: 2, template: {_PODS}}}", "main"),
    "JobSet": (
        "jobset.x-k8s.io/v1alpha2",
        f"{{replicatedJobs: [{{name: worker, replicas: 2, template: {{spec: {{template: {_PODS}}}}}}}]}}",
        "worker",
    ),
}


@pytest.mark.parametrize("kind", _OF_JOBS)
def test_expand_shows_jobs_of_kubernetes_and_jobsets_as_admitted(tmp_path: Path, kind: str) -> None:
    version, spec, name = _OF_JOBS[kind]
    metadata = "{name: train, namespace: nlp, labels: {kueue.x-k8s.io/queue-name: nlp}}"
    write(tmp_path, {"job.yaml": f"apiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\nspec: {spec}\n", "queues.yaml": QUEUES})
    done = run_here("expand", "job.yaml", "--queued", "--queues", "queues.yaml", "-o", "json", cwd=tmp_path)
    made = json.loads(done.stdout)["items"]
    (workload,) = (each for each in made if each["kind"] == "Workload")
    assert [(each["name"], each["count"]) for each in workload["spec"]["podSets"]] == [(name, 2)]
    pods = [each for each in made if each["kind"] == "Pod"]
    assert [each["spec"]["nodeSelector"] for each in pods] == [{"gpu": "a100"}] * 2
    assert [each["metadata"]["labels"]["kueue.x-k8s.io/podset"] for each in pods] == [name] * 2
    waiting = json.loads(run_here("expand", "job.yaml", "--queued", "-o", "json", cwd=tmp_path).stdout)["items"]
    assert not any("nodeSelector" in each["spec"] for each in waiting if each["kind"] == "Pod")


def test_a_project_names_the_queue_and_its_variants_are_asked_together(tmp_path: Path) -> None:
    entries = "  defaults: {base: base/job.yaml, queue: nlp, namespace: nlp}\n  variants: [{name: a}, {name: b}, {name: c, queue: other}]\n"
    write(tmp_path, {"jobspec.yaml": PROJECT_HEAD + entries, "base/job.yaml": JOB, "queues.yaml": QUEUES})
    (tmp_path / ".git").mkdir()
    done = run_here("queue", "--queues", "queues.yaml", "-o", "json", cwd=tmp_path)
    found = [(each["queue"], each["verdict"]) for each in json.loads(done.stdout)["workloads"]]
    assert found == [("nlp", "fits"), ("nlp", "fits"), ("other", "never")], done.stderr
    text = run_here("queue", "--queues", "queues.yaml", cwd=tmp_path).stdout
    assert "8 own, 8 at most, 12 wanted together: more than there is at once" in text


_CLUSTER = """\
apiVersion: jobspec.dev/v1alpha1
kind: Cluster
metadata: {name: prod}
spec:
  releases: {kueue: 0.18.2}
  objects:
    - {apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: any}}
    - {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: nlp, namespace: nlp}, spec: {clusterQueue: research}}
    - apiVersion: kueue.x-k8s.io/v1beta2
      kind: ClusterQueue
      metadata: {name: research}
      spec:
        namespaceSelector: {}
        resourceGroups: [{coveredResources: [cpu], flavors: [{name: any, resources: [{name: cpu, nominalQuota: 4}]}]}]
"""


def test_the_default_queue_is_not_that_of_a_kind_that_kueue_does_not_queue(tmp_path: Path) -> None:
    """Kueue 0.19 does not look at a PyTorchJob without a label; its Configuration, or an older release, makes it wait in the queue."""
    queues = QUEUES.replace("name: nlp, namespace", "name: default, namespace").replace("spec: {cl", "spec: {stopPolicy: Hold, cl")
    job = PYTORCHJOB.replace("  name: train", "  name: train\n  namespace: nlp", 1)
    configuration = (
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nintegrations: {frameworks: [kubeflow.org/pytorchjob]}\n"
    )
    write(tmp_path, {"job.yaml": job, "platform/queues.yaml": queues, "configured/queues.yaml": f"{queues}---\n{configuration}"})
    done = run_here("queue", "job.yaml", "--queues", "platform", cwd=tmp_path)
    said = "PyTorchJob nlp/train: bypasses Kueue: Kueue 0.19.2 does not queue PyTorchJobs by default"
    assert (done.returncode, said in " ".join(done.stdout.split()), "1 bypasses Kueue" in done.stdout) == (0, True, True)
    for given in (("configured",), ("platform", "--target", "kueue=0.18")):
        done = run_here("queue", "job.yaml", "--queues", *given, cwd=tmp_path)
        assert (done.returncode, "never in queue default" in done.stdout) == (1, True)


def test_a_cron_job_without_a_queue_is_judged_by_the_kind_of_its_jobs(tmp_path: Path) -> None:
    configuration = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmanageJobsWithoutQueueName: true\n"
    job = "{template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}"
    cron_job = (
        f'{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: a}}, spec: {{schedule: "0 3 * * *", jobTemplate: {{spec: {job}}}}}}}\n'
    )
    for framework, said in (("batch/job", "never"), ("jobset.x-k8s.io/jobset", "bypasses Kueue: its configuration does not queue Jobs")):
        more = f"integrations: {{frameworks: [{framework}]}}\n"
        write(tmp_path, {"job.yaml": cron_job, "platform/queues.yaml": f"{QUEUES}---\n{configuration}{more}"})
        done = run_here("queue", "job.yaml", "--queues", "platform", cwd=tmp_path)
        assert re.search(rf"CronJob (default/)?a: {said} \(job.yaml\)", done.stdout), done.stdout
        assert ("kind-not-queued" in done.stdout, "in no queue" in done.stdout) == (False, False)


def test_runtimes_beside_the_queues_are_known(tmp_path: Path) -> None:
    runtime, job = RUNTIME.replace("TrainingRuntime", "ClusterTrainingRuntime"), JOB.replace("torch-distributed", "ours")
    write(tmp_path, {"job.yaml": job, "platform/queues.yaml": QUEUES, "platform/runtime.yaml": runtime})
    assert "fits in queue nlp → research" in run_here("queue", "job.yaml", "--queues", "platform", cwd=tmp_path).stdout
    expanded = run_here("expand", "job.yaml", "--queued", "--queues", "platform", "-o", "json", cwd=tmp_path)
    assert "JobSet" in expanded.stdout
    write(tmp_path, {"platform/runtime.yaml": runtime.replace("image:", "images:")})
    assert "verdict unknown" in run_here("queue", "job.yaml", "--queues", "platform", cwd=tmp_path).stdout, "a server refuses the runtime"


def test_a_project_is_asked_by_its_own_releases_and_the_queues_of_its_own_cluster(tmp_path: Path) -> None:
    head = f"{PROJECT_HEAD}  defaults: {{base: job.yaml, queue: nlp, namespace: nlp}}\n  variants: [{{name: a}}]\n"
    write(
        tmp_path,
        {"jobspec.yaml": f"{head}  target: {{kueue: 0.18.2}}\n", "job.yaml": PYTORCHJOB, "queues.yaml": QUEUES, "prod.yaml": _CLUSTER},
    )
    (tmp_path / ".git").mkdir()
    by_target = run_here("queue", "--queues", "queues.yaml", cwd=tmp_path).stdout
    assert "fits in queue nlp → research" in by_target
    assert "(Kueue 0.18.2)" in by_target
    assert "kind-not-queued" not in by_target
    write(tmp_path, {"jobspec.yaml": f"{head}  cluster: prod.yaml\n"})
    by_cluster = run_here("queue", cwd=tmp_path).stdout
    assert "4 own, 4 at most" in by_cluster
    assert "(Kueue 0.18.2)" in by_cluster


def test_the_configuration_of_kueue_transforms_requests(tmp_path: Path) -> None:
    configuration = "kind: Configuration\nresources: {transformations: [{input: cpu, strategy: Replace, outputs: {credits: 2}}]}\n"
    queues = QUEUES.replace("[cpu]", "[credits]").replace("{name: cpu, nominalQuota: 8}", "{name: credits, nominalQuota: 12}")
    write(tmp_path, {"job.yaml": JOB, "kueue/queues.yaml": queues})
    assert "has no quota of cpu" in run_here("queue", "job.yaml", "--queues", "kueue", cwd=tmp_path).stdout
    write(tmp_path, {"kueue/configuration.yaml": f"apiVersion: config.kueue.x-k8s.io/v1beta2\n{configuration}"})
    assert "12 own, 12 at most, 12 wanted" in run_here("queue", "job.yaml", "--queues", "kueue", cwd=tmp_path).stdout


def test_queues_that_cannot_be_read_are_an_error_of_their_option(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "queues.yaml": "kind: [\n"})
    done = run_here("queue", "job.yaml", "--queues", "queues.yaml", cwd=tmp_path)
    assert (done.returncode, "--queues queues.yaml:" in done.stderr) == (2, True)


def test_queues_that_a_server_refuses_are_an_error_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "queues.yaml": QUEUES.replace("nominalQuota: 8", "nominalQuota: lots")})
    done = run_here("queue", "job.yaml", "--queues", "queues.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "--queues queues.yaml:11:107: `nominalQuota`: expected a quantity" in done.stderr


@pytest.mark.parametrize("path", sorted(CASES.glob("*.yaml")), ids=lambda path: path.stem)
def test_lint_and_validate_say_of_each_job_what_queue_says(path: Path) -> None:
    """All objects are given to `queue`, and in a closed world; in an open one, a job may depend on what is not given."""

    documents = [each for document in read(path.read_text(), file=path.name)[0] for each in items_of(document)]
    starts = [each.marks.mark.line for each in documents]

    def rules(*command: str) -> dict[str, set[str]]:
        """The rules that are reported of each job, by its name."""
        done = run_here(*command, str(path), "--skip-unknown", "-o", "json", cwd=ROOT)
        files = json.loads(done.stdout)["files"]
        found: dict[str, set[str]] = {}
        for each in (each for file in files for each in file["diagnostics"]):
            for place in (each, *each.get("related", ())):
                found.setdefault(documents[bisect(starts, place["line"]) - 1].name, set()).add(each["rule"])
        return found

    asked = json.loads(run_here("queue", str(path), "--skip-unknown", "-o", "json", cwd=ROOT).stdout)["workloads"]
    closed, given = rules("validate", "--closed-world"), rules("lint")
    for each in asked:
        name, is_never = each["name"].removesuffix("<random>"), each["verdict"] == "never"
        name = "" if name != each["name"] else name
        assert ("never-admitted" in closed.get(name, ())) == is_never, name
        said = given.get(name, set())
        assert bool(said & _NOT_ADMITTED) if is_never else "never-admitted" not in said, name


_NOT_ADMITTED = {"never-admitted", "admission-not-known", "unknown-queue", "unknown-cluster-queue"}


def test_objects_of_other_files_decide(tmp_path: Path) -> None:
    queues = QUEUES.replace("namespaceSelector: {}", "namespaceSelector: {matchLabels: {team: nlp}}")
    namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: nlp, labels: {team: TEAM}}\n"
    job = JOB.replace("queue-name: nlp", "queue-name: nlp, kueue.x-k8s.io/priority-class: high")
    high = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: WorkloadPriorityClass\nmetadata: {name: high}\nvalue: 1\n"
    write(tmp_path, {"a/job.yaml": job, "a/queues.yaml": queues, "b/namespace.yaml": namespace.replace("TEAM", "vision")})

    def said() -> list[str]:
        done = run_here("validate", "a", "b", "-o", "json", cwd=tmp_path)
        return [each["message"] for file in json.loads(done.stdout)["files"] for each in file["diagnostics"]]

    assert said() == ["never admitted by Kueue: the ClusterQueue `research` admits namespaces with `team: nlp`, and `nlp` does not match"]
    write(tmp_path, {"b/namespace.yaml": namespace.replace("TEAM", "nlp")})
    assert said() == ["not known whether Kueue admits it: the WorkloadPriorityClass `high` is not among the files"]
    write(tmp_path, {"b/classes.yaml": high})
    assert said() == []
