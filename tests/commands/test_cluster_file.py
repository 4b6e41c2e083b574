"""A cluster in a file: what `--cluster` and a project's `cluster` make of it, and what is wrong with such a file."""

import json
from pathlib import Path

import pytest

from tests.support import quick_yaml
from tests.support.manifests import write
from tests.support.processes import run_here

_CLUSTER = """\
apiVersion: jobspec.dev/v1alpha1
kind: Cluster
metadata: {name: prod}
spec:
  releases: {kubernetes: "1.37", trainer: "2.1.0", training-operator: null, kueue: "0.19.2"}
  complete: [ResourceQuota]
  crds: [prod-crds/apps.example.com.yaml]
  objects:
    - {apiVersion: v1, kind: ResourceQuota, metadata: {name: gpus, namespace: nlp}, spec: {hard: {requests.nvidia.com/gpu: "8"}}}
    - apiVersion: trainer.kubeflow.org/v1alpha1
      kind: ClusterTrainingRuntime
      metadata: {name: team, labels: {trainer.kubeflow.org/framework: torch}}
      spec:
        mlPolicy: {numNodes: 1, torch: {}}
        template:
          spec:
            replicatedJobs:
              - name: node
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec: {template: {spec: {containers: [{name: node, image: "ghcr.io/example/train:1"}]}}}
  nodes: [{count: 4, labels: {pool: gpu}, allocatable: {cpu: "64", nvidia.com/gpu: "8"}}]
  unread: {LimitRange: forbidden}
"""
_CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.example.com}
spec:
  group: example.com
  names: {kind: App, plural: apps}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
"""
_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: bert, namespace: nlp}
spec:
  runtimeRef: {name: team}
  trainer: {numNodes: 2, command: [torchrun, train.py], resourcesPerNode: {limits: {nvidia.com/gpu: 8}}}
"""
_FILES = {"clusters/prod.yaml": _CLUSTER, "clusters/prod-crds/apps.example.com.yaml": _CRD, "job.yaml": _JOB}
_NEVER_FITS = "job.yaml:3:18: error: exceeds ResourceQuota `gpus` (pinned in clusters/prod.yaml): the job's pods request 16"


def test_releases_objects_and_kinds_count(tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "app.yaml": "apiVersion: example.com/v1\nkind: App\nmetadata: {name: a}\nspec: {size: big}\n"})
    done = run_here("validate", "job.yaml", "app.yaml", "--cluster", "clusters/prod.yaml", "-o", "concise", cwd=tmp_path)
    first, second, last = done.stdout.splitlines()
    assert first.startswith(_NEVER_FITS)
    assert second == 'app.yaml:4:14: error: `size`: expected an integer, got the string "big" [wrong-type]'
    assert last.endswith("(training-operator 1.9.4, trainer 2.1.0, kueue 0.19.2)")


def test_a_release_of_the_command_line_wins(tmp_path: Path) -> None:
    write(tmp_path, _FILES)
    done = run_here("validate", "job.yaml", "--cluster", "clusters/prod.yaml", "--target", "trainer=2.3", "-o", "concise", cwd=tmp_path)
    assert done.stdout.endswith("(training-operator 1.9.4, trainer 2.3.0, kueue 0.19.2)\n")


@pytest.mark.parametrize("command", [["validate"], ["lint"], ["lint", "jobspec.yaml"]])
def test_a_project_names_its_cluster(command: list[str], tmp_path: Path) -> None:
    variants = "  defaults: {namespace: nlp}\n  variants: [{name: a, base: job.yaml}]\n"
    project = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  cluster: clusters/prod.yaml\n"
    write(tmp_path, {**_FILES, "jobspec.yaml": project + variants})
    done = run_here(*command, "-o", "concise", cwd=tmp_path)
    if command[0] == "lint":
        assert "exceeds ResourceQuota `gpus`" in done.stdout
    write(tmp_path, {"jobspec.yaml": (project + variants).replace("prod.yaml", "nowhere.yaml")})
    done = run_here(*command, "-o", "concise", cwd=tmp_path)
    assert "jobspec.yaml:4:12: error: no cluster at `clusters/nowhere.yaml`: there is no such file [invalid-project]" in done.stdout


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (_CLUSTER.replace("releases:", "release:"), "error: unknown field `release` in `spec`"),
        (_JOB, "jobspec: clusters/prod.yaml: a cluster's file holds one document of the kind Cluster of jobspec.dev/v1alpha1"),
    ],
)
def test_what_is_wrong_with_a_file(content: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "clusters/prod.yaml": content})
    done = run_here("validate", "job.yaml", "--cluster", "clusters/prod.yaml", cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert said in done.stdout + done.stderr


def test_a_release_that_came_later_is_judged_as_the_newest(tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "clusters/prod.yaml": _CLUSTER.replace('"2.1.0"', '"2.9.0"')})
    done = run_here("validate", "job.yaml", "--cluster", "clusters/prod.yaml", "-o", "concise", cwd=tmp_path)
    assert done.stdout.endswith("(training-operator 1.9.4, trainer 2.3.0, kueue 0.19.2)\n")


def test_the_runtimes_of_the_file_are_expanded(tmp_path: Path) -> None:
    write(tmp_path, _FILES)
    done = run_here("expand", "job.yaml", "--cluster", "clusters/prod.yaml", "-o", "table", cwd=tmp_path)
    assert (done.returncode, "ghcr.io/example/train:1" in done.stdout) == (0, True), done.stderr


def test_the_runtimes_of_the_file_are_compared_in_an_upgrade(tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "clusters/prod.yaml": _CLUSTER.replace('"2.1.0"', '"2.0.0"')})
    done = run_here("upgrade", "job.yaml", "--cluster", "clusters/prod.yaml", "--to", "trainer=2.1", "-o", "json", cwd=tmp_path)
    found = [each["message"] for file in json.loads(done.stdout)["files"] for each in file["diagnostics"]]
    assert any("`nproc_per_node`" in each for each in found), found


def test_an_upgrade_of_the_cluster_in_a_file(tmp_path: Path) -> None:
    write(tmp_path, _FILES)
    done = run_here("upgrade", "job.yaml", "--cluster", "clusters/prod.yaml", "--to", "trainer=2.3", "-o", "concise", cwd=tmp_path)
    assert done.stdout.endswith("(trainer 2.1.0 → 2.3.0, kubernetes 1.37, kueue 0.19.2)\n")


_COMPLETE = (
    "complete: [ClusterTrainingRuntime.trainer.kubeflow.org, PriorityClass.scheduling.k8s.io, ServiceAccount, LocalQueue.kueue.x-k8s.io]"
)
_ACCOUNT = "  objects:\n    - {apiVersion: v1, kind: ServiceAccount, metadata: {name: trainer, namespace: nlp}}\n"
_PYTORCHJOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: old, namespace: nlp, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 1
      template:
        spec:
          serviceAccountName: trainer
          priorityClassName: high
          containers: [{name: pytorch, image: "ghcr.io/example/train:1", command: [python, train.py]}]
"""


def _rules(*arguments: str, cwd: Path) -> list[tuple[str, str, str]]:
    done = run_here(*arguments, "--cluster", "clusters/prod.yaml", "-o", "json", cwd=cwd)
    assert done.returncode in (0, 1), done.stderr
    return [(each["file"], each["rule"], each["severity"]) for file in json.loads(done.stdout)["files"] for each in file["diagnostics"]]


def test_what_a_complete_kind_does_not_list_does_not_exist(tmp_path: Path) -> None:
    """Of other kinds, and where a job says no namespace, nobody knows."""
    shipped = _JOB.replace("name: team", "name: torch-distributed")
    write(
        tmp_path, {**_FILES, "shipped.yaml": shipped, "old.yaml": _PYTORCHJOB, "nowhere.yaml": _PYTORCHJOB.replace(", namespace: nlp", "")}
    )
    assert ("shipped.yaml", "unresolved-reference", "error") not in _rules("validate", "shipped.yaml", cwd=tmp_path)
    assert ("old.yaml", "pods-refused", "error") not in _rules("validate", "old.yaml", cwd=tmp_path)
    cluster = _CLUSTER.replace("complete: [ResourceQuota]", _COMPLETE).replace("  objects:\n", _ACCOUNT)
    write(tmp_path, {"clusters/prod.yaml": cluster})
    assert _rules("validate", "shipped.yaml", cwd=tmp_path) == [("shipped.yaml", "unresolved-reference", "error")]
    assert _rules("validate", "old.yaml", cwd=tmp_path) == [("old.yaml", "pods-refused", "error")]
    write(tmp_path, {"old.yaml": _PYTORCHJOB.replace("          priorityClassName: high\n", "")})
    assert _rules("validate", "old.yaml", cwd=tmp_path) == []
    write(
        tmp_path,
        {
            "old.yaml": _PYTORCHJOB.replace("          priorityClassName: high\n", "").replace(
                "serviceAccountName: trainer", "serviceAccountName: x"
            )
        },
    )
    assert _rules("validate", "old.yaml", cwd=tmp_path) == [("old.yaml", "pods-refused", "error")]
    write(tmp_path, {"nowhere.yaml": (tmp_path / "old.yaml").read_text().replace(", namespace: nlp", "")})
    assert _rules("validate", "nowhere.yaml", cwd=tmp_path) == []


def test_lint_knows_the_queues_and_runtimes_of_the_cluster(tmp_path: Path) -> None:
    queued = _JOB.replace("namespace: nlp}", "namespace: nlp, labels: {kueue.x-k8s.io/queue-name: team-a}}")
    unbounded = queued.replace("command: [torchrun, train.py], ", "")
    write(tmp_path, {**_FILES, "job.yaml": unbounded})
    found = _rules("lint", "job.yaml", cwd=tmp_path)
    assert ("job.yaml", "unknown-queue", "warning") not in found
    write(tmp_path, {"clusters/prod.yaml": _CLUSTER.replace("[ResourceQuota]", "[LocalQueue.kueue.x-k8s.io]")})
    assert ("job.yaml", "unknown-queue", "warning") in _rules("lint", "job.yaml", cwd=tmp_path)
    queue = "  objects:\n    - {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team-a, namespace: nlp}}\n"
    write(tmp_path, {"clusters/prod.yaml": _CLUSTER.replace("  objects:\n", queue)})
    assert ("job.yaml", "unknown-queue", "warning") not in _rules("lint", "job.yaml", cwd=tmp_path)


@pytest.mark.parametrize(
    ("releases", "severity"),
    [
        ('training-operator: null, kueue: "0.18.1"', "info"),
        ('training-operator: null, kueue: "0.19.2"', "warning"),
        ('kueue: "0.18.1"', "warning"),
    ],
)
def test_the_operator_of_pytorchjobs_may_be_gone(releases: str, severity: str, tmp_path: Path) -> None:
    cluster = _CLUSTER.replace('training-operator: null, kueue: "0.19.2"', releases)
    write(tmp_path, {**_FILES, "clusters/prod.yaml": cluster, "old.yaml": _PYTORCHJOB})
    assert ("old.yaml", "legacy-operator", severity) in _rules("lint", "old.yaml", cwd=tmp_path)
    write(tmp_path, {"clusters/prod.yaml": cluster.replace("unread: {", "unread: {CustomResourceDefinition: forbidden, ")})
    if "0.19" not in releases:  # which operators there are could not be read
        assert ("old.yaml", "legacy-operator", "info") in _rules("lint", "old.yaml", cwd=tmp_path)


def test_that_a_job_starts_past_its_queue_is_said_once(tmp_path: Path) -> None:
    queue = "  objects:\n    - {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team, namespace: nlp}}\n"
    write(tmp_path, {**_FILES, "clusters/prod.yaml": _CLUSTER.replace("  objects:\n", queue), "old.yaml": _PYTORCHJOB})
    found = [each for each in _rules("lint", "old.yaml", cwd=tmp_path) if each[1] in ("legacy-operator", "kind-not-queued")]
    assert found == [("old.yaml", "kind-not-queued", "warning")]


_TWO = """\
apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
  cluster: clusters/prod.yaml
  defaults: {base: job.yaml, namespace: nlp}
  variants:
    - {name: large}
    - {name: small, matrix: {place: [test]}, cluster: "clusters/${place}.yaml"}
"""


def test_a_variant_meets_a_cluster_of_its_own(tmp_path: Path) -> None:
    roomy = _CLUSTER.replace('"8"}}}', '"64"}}}').replace('"2.1.0"', '"2.3.0"')
    write(tmp_path, {**_FILES, "jobspec.yaml": _TWO, "clusters/test.yaml": roomy})
    done = run_here("lint", "jobspec.yaml", "-o", "json", cwd=tmp_path)
    found = [each for file in json.loads(done.stdout)["files"] for each in file["diagnostics"] if each["rule"] == "never-fits"]
    assert [each["message"].partition(":")[0] for each in found] == ["exceeds ResourceQuota `gpus` (pinned in clusters/prod.yaml)"]
    assert "small" not in found[0]["message"]
    done = run_here("lint", "jobspec.yaml", "--cluster", "clusters/test.yaml", "-o", "json", cwd=tmp_path)
    assert "never-fits" not in done.stdout
    assert run_here("render", cwd=tmp_path).returncode == 1
    write(tmp_path, {"jobspec.yaml": _TWO.replace("name: large", 'name: large, cluster: "clusters/test.yaml"')})
    assert run_here("render", cwd=tmp_path).returncode == 0
    assert run_here("diff", "--project", "jobspec.yaml", cwd=tmp_path).returncode == 2  # not in a repository of Git
    write(tmp_path, {"jobspec.yaml": _TWO.replace("[test]", "[nowhere]")})
    done = run_here("render", cwd=tmp_path)
    assert (
        "jobspec.yaml:8:58: error: no cluster at `clusters/nowhere.yaml`: there is no such file [invalid-project]"
        in done.stdout + done.stderr
    )


def test_a_report_names_the_releases_of_the_clusters_that_variants_meet(tmp_path: Path) -> None:
    test = _CLUSTER.replace('"8"}}}', '"64"}}}').replace('"2.1.0"', '"2.3.0"').replace('kubernetes: "1.37"', 'kubernetes: "1.36"')
    write(tmp_path, {**_FILES, "jobspec.yaml": _TWO, "clusters/test.yaml": test, "clusters/prod.yaml": test.replace("2.3.0", "2.1.0")})
    both = "(training-operator 1.9.4, trainer 2.1.0 and 2.3.0, kueue 0.19.2, kubernetes 1.36)\n"
    for command in (["lint", "jobspec.yaml"], ["validate", "jobspec.yaml"]):
        assert run_here(*command, "-o", "concise", cwd=tmp_path).stdout.endswith(both)
    assert run_here("render", cwd=tmp_path).stderr.endswith(both)
    write(tmp_path, {"jobspec.yaml": _TWO.replace("    - {name: large}\n", "")})
    assert run_here("render", cwd=tmp_path).stderr.endswith(both.replace("2.1.0 and ", ""))


def test_a_krm_function_names_its_cluster(tmp_path: Path) -> None:
    write(tmp_path, _FILES)
    job = json.dumps(quick_yaml.load(_JOB))
    head = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
    text = f"{head}functionConfig: {{kind: ConfigMap, data: {{check: validate, cluster: %s}}}}\nitems: [{job}]\n"
    done = run_here("krm", cwd=tmp_path, stdin=text % "clusters/prod.yaml")
    assert (done.returncode, "exceeds ResourceQuota `gpus`" in done.stderr) == (1, True)
    done = run_here("krm", cwd=tmp_path, stdin=text % "clusters/nowhere.yaml")
    assert "functionConfig.data: clusters/nowhere.yaml: No such file" in done.stderr


def test_overlays_and_names_see_the_runtimes_of_the_cluster(tmp_path: Path) -> None:
    """A name leaves room for the longest replicated job of the runtime; a flag is added to the arguments that the runtime has."""
    second = (
        "              - {name: node-with-a-very-long-name, template: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}}\n"
    )
    cluster = _CLUSTER.replace('"8"}}}', '"64"}}}').replace("  nodes:", f"{second}  nodes:")
    cluster = cluster.replace(
        'image: "ghcr.io/example/train:1"}', 'image: "ghcr.io/example/train:1", command: [torchrun, a.py], args: [--epochs, "2"]}'
    )
    job = _JOB.replace("command: [torchrun, train.py], ", "")
    project = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  cluster: clusters/prod.yaml\n  variants:\n"
    project += f"    - {{name: {'n' * 40}, base: job.yaml, namespace: nlp, flags: {{--lr: '0.1'}}}}\n"
    write(tmp_path, {**_FILES, "clusters/prod.yaml": cluster, "job.yaml": job, "jobspec.yaml": project})
    done = run_here("render", "--to", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rendered = quick_yaml.load(done.stdout)
    assert len(f"{rendered['metadata']['name']}-node-with-a-very-long-name-0-0-abcde") == 63
    assert rendered["spec"]["trainer"]["args"] == ["--epochs", "2", "--lr", "0.1"]
    done = run_here("blame", "n" * 40, "spec.trainer.args", cwd=tmp_path)
    assert "clusters/prod.yaml:" in done.stdout, done.stderr


@pytest.mark.parametrize("project", [False, True])
def test_a_migration_knows_the_runtimes_of_the_cluster(project: bool, tmp_path: Path) -> None:
    text = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  cluster: clusters/prod.yaml\n"
    text += "  variants: [{name: a, base: job.yaml, namespace: nlp}]\n"
    job = f"{_JOB}  podTemplateOverrides:\n    - targetJobs: [{{name: node}}]\n      spec: {{nodeSelector: {{pool: gpu}}}}\n"
    cluster = _CLUSTER.replace('"8"}}}', '"64"}}}')
    write(tmp_path, {**_FILES, "clusters/prod.yaml": cluster, "job.yaml": job, "jobspec.yaml": text})
    path = ["jobspec.yaml"] if project else ["job.yaml", "--cluster", "clusters/prod.yaml"]
    done = run_here("migrate", *path, "--to", "trainer=2.3", "--in-place", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "runtimePatches" in (tmp_path / "job.yaml").read_text()
    if not project:
        write(tmp_path, {"job.yaml": job})
        assert "is not among the given files" in run_here("migrate", "job.yaml", "--to", "trainer=2.3", cwd=tmp_path).stderr


_STARTING = _CLUSTER.replace('trainer: "2.1.0"', 'trainer: "2.2.0"')
"""With a trainer whose jobs Kueue starts."""


def _nodes(*shapes: str) -> str:
    return _STARTING.replace('"8"}}}', '"64"}}}').replace(
        _CLUSTER[_CLUSTER.index("  nodes:") : _CLUSTER.index("  unread:")], f"  nodes: [{', '.join(shapes)}]\n"
    )


_GPU = '{count: 4, taints: [{key: gpu, effect: NoSchedule}], allocatable: {cpu: "64", memory: 500Gi, nvidia.com/gpu: "8"}}'
_CPU = '{count: 2, labels: {pool: cpu}, allocatable: {cpu: "8", memory: 30Gi}}'
_TOLERATING = "metadata: {name: bert, namespace: nlp, labels: {kueue.x-k8s.io/queue-name: team}}"
_FLAVOR = """\
  objects:
    - {apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: gpu}, spec: {tolerations: [{operator: Exists}]}}
"""


@pytest.mark.parametrize(
    ("cluster", "job", "said"),
    [
        (_nodes(_GPU, _CPU), _JOB, "taint gpu:NoSchedule (4 nodes); it requests 8 nvidia.com/gpu, and the largest node left has 0"),
        (_nodes(_GPU.replace("taints: [{key: gpu, effect: NoSchedule}], ", ""), _CPU), _JOB, ""),
        (_nodes(_GPU).replace("  objects:\n", _FLAVOR), _JOB.replace("metadata: {name: bert, namespace: nlp}", _TOLERATING), ""),
        (_nodes(_CPU), _JOB, "it requests 8 nvidia.com/gpu, and the largest node has 0"),
        (_nodes(_CPU), _JOB.replace("nvidia.com/gpu: 8", "memory: 30.5Gi"), ""),
        (_nodes(_CPU), _JOB.replace("nvidia.com/gpu: 8", "memory: 31Gi"), "it requests 31Gi memory, and the largest node has 30Gi"),
        (_CLUSTER.replace('"8"}}}', '"64"}}}').replace("  nodes:", "  # nodes:"), _JOB, ""),
    ],
)
def test_what_no_node_of_the_cluster_can_run_is_reported_once(cluster: str, job: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, {**_FILES, "clusters/prod.yaml": cluster, "job.yaml": job})
    for command in ("validate", "lint"):
        done = run_here(command, "job.yaml", "--cluster", "clusters/prod.yaml", "-o", "json", cwd=tmp_path)
        assert done.returncode == 0, done.stdout
        found = [
            each
            for file in json.loads(done.stdout)["files"]
            for each in file["diagnostics"]
            if "node" in each["rule"] or "sched" in each["rule"]
        ]
        assert [(each["rule"], each["severity"]) for each in found] == ([("unschedulable", "warning")] if said else []), found
        assert all(said in each["message"] for each in found)


_QUEUES = """\
  objects:
    - {apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: gpu}}
    - {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team, namespace: nlp}, spec: {clusterQueue: team}}
    - apiVersion: kueue.x-k8s.io/v1beta2
      kind: ClusterQueue
      metadata: {name: team}
      spec:
        namespaceSelector: {}
        resourceGroups:
          - coveredResources: [nvidia.com/gpu]
            flavors: [{name: gpu, resources: [{name: nvidia.com/gpu, nominalQuota: 16}]}]
      status: {flavorsReservation: [{name: gpu, resources: [{name: nvidia.com/gpu, total: 8}]}]}
    - {apiVersion: v1, kind: Namespace, metadata: {name: nlp}}
"""


def test_a_project_asks_the_queues_of_its_cluster_and_what_is_used_there(tmp_path: Path) -> None:
    cluster = _STARTING.replace('"8"}}}', '"64"}}}').replace("  objects:\n", _QUEUES)
    project = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  cluster: clusters/prod.yaml\n  variants:\n"
    variants = "    - {name: a, base: job.yaml, queue: team, namespace: nlp}\n"
    write(tmp_path, {**_FILES, "clusters/prod.yaml": cluster, "clusters/test.yaml": cluster, "jobspec.yaml": project + variants})
    done = run_here("queue", "-o", "json", cwd=tmp_path)
    (job,) = json.loads(done.stdout)["workloads"]
    assert job["verdict"] == "waits", done.stdout
    write(tmp_path, {"jobspec.yaml": f"{project}{variants}    - {{name: b, base: job.yaml, cluster: clusters/test.yaml}}\n"})
    done = run_here("queue", cwd=tmp_path)
    assert done.stderr == "jobspec: the jobs meet several clusters; name the one to ask with --cluster\n"
    assert run_here("queue", "--cluster", "clusters/prod.yaml", cwd=tmp_path).returncode == 0


def test_a_pinned_trainer_may_be_too_old_for_the_release_of_kueue(tmp_path: Path) -> None:
    cluster = _CLUSTER.replace('"8"}}}', '"64"}}}').replace("  objects:\n", _QUEUES)
    job = _JOB.replace("metadata: {name: bert, namespace: nlp}", _TOLERATING)
    write(tmp_path, {**_FILES, "clusters/prod.yaml": cluster, "job.yaml": job})
    assert ("job.yaml", "never-started", "error") in _rules("validate", "job.yaml", cwd=tmp_path)
    done = run_here("queue", "job.yaml", "--cluster", "clusters/prod.yaml", "-o", "json", cwd=tmp_path)
    assert [each["verdict"] for each in json.loads(done.stdout)["workloads"]] == ["never"]


def test_lint_holds_flavors_and_quotas_against_the_nodes_of_the_cluster(tmp_path: Path) -> None:
    flavor = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: cpu}\nspec: {nodeLabels: {pool: %s}}\n"
    groups = "[{coveredResources: [cpu], flavors: [{name: cpu, resources: [{name: cpu, nominalQuota: 64}]}]}]"
    queue = f"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {{name: a}}\nspec: {{resourceGroups: {groups}}}\n"
    write(tmp_path, {**_FILES, "clusters/prod.yaml": _nodes(_CPU), "queues.yaml": flavor % "gpu" + queue})
    assert ("queues.yaml", "flavor-without-nodes", "warning") in _rules("lint", "queues.yaml", cwd=tmp_path)
    write(tmp_path, {"queues.yaml": flavor % "cpu" + queue})
    assert ("queues.yaml", "quota-without-nodes", "info") in _rules("lint", "queues.yaml", cwd=tmp_path)


_RACKS = """\
apiVersion: jobspec.dev/v1alpha1
kind: Cluster
metadata: {name: prod}
spec:
  releases: {kubernetes: "1.37", trainer: "2.3.0", kueue: "0.19.2"}
  complete: [ClusterQueue.kueue.x-k8s.io, LocalQueue.kueue.x-k8s.io, ResourceFlavor.kueue.x-k8s.io]
  objects:
    - apiVersion: kueue.x-k8s.io/v1beta2
      kind: ClusterQueue
      metadata: {name: research}
      spec:
        namespaceSelector: {}
        resourceGroups: [{coveredResources: [cpu], flavors: [{name: racks, resources: [{name: cpu, nominalQuota: 64}]}]}]
    - {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team, namespace: nlp}, spec: {clusterQueue: research}}
    - apiVersion: kueue.x-k8s.io/v1beta2
      kind: ResourceFlavor
      metadata: {name: racks}
      spec: {nodeLabels: {pool: cpu}, topologyName: racks}
    - {apiVersion: kueue.x-k8s.io/v1beta2, kind: Topology, metadata: {name: racks}, spec: {levels: [{nodeLabel: rack}]}}
  nodes:
    - {count: 2, labels: {pool: cpu, rack: one}, allocatable: {cpu: "8", pods: "110"}}
    - {count: 1, labels: {pool: cpu, rack: two}, allocatable: {cpu: "8", pods: "110"}}
"""
_IN_ONE_RACK = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: close, namespace: nlp, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 2, command: [torchrun, train.py], resourcesPerNode: {limits: {cpu: 5}}}
  runtimePatches:
    - manager: example.com/racks
      trainingRuntimeSpec:
        template:
          spec:
            replicatedJobs:
              - name: node
                template: {spec: {template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}}}}
"""


def test_a_topology_has_the_nodes_of_the_cluster(tmp_path: Path) -> None:
    """What more nodes would let in is a warning; what no node changes is an error."""
    for nodes, severity, words in [
        (2, None, ""),
        (4, "warning", "3 of 4"),
        (20, "error", "cpu: 100 wanted, 64 at most"),
    ]:
        write(tmp_path, {"prod.yaml": _RACKS, "job.yaml": _IN_ONE_RACK.replace("numNodes: 2", f"numNodes: {nodes}")})
        done = run_here("validate", "job.yaml", "--cluster", "prod.yaml", "-o", "json", cwd=tmp_path)
        found = [each for file in json.loads(done.stdout)["files"] for each in file["diagnostics"] if each["rule"] == "never-admitted"]
        assert [each["severity"] for each in found] == ([severity] if severity else []), done.stdout
        assert all(words in each["message"] for each in found), found
        assert all(("autoscaler" in each["hint"]) == (severity == "warning") for each in found), found
