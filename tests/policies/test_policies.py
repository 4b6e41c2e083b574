"""Policies say what their rules say: on each case of lint, and on jobs at random."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from jobspec.apis import kinds
from jobspec.apis.releases import choose
from jobspec.cli import main
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.documents.writer import write
from jobspec.journey.outcomes import foresee
from jobspec.journey.references import resolve
from jobspec.kubernetes.index import Index
from jobspec.lint.catalogue import rules, stage_of
from jobspec.policies.catalogue import POLICIES, unsaid
from jobspec.policies.objects import PLACES, Choices, written
from jobspec.policies.unsaid import REASONS
from jobspec.world.world import Cluster
from tests.hunt import policies as hunted
from tests.hunt.finds import report
from tests.lint.test_lint import CASES, files_of
from tests.support.cases import target_of
from tests.support.checking import checked
from tests.support.reference import ROOT
from tests.support.seeds import seed

#: Cases of names that are too long.
NAMED = [
    ROOT / "tests" / "cases" / "outcome" / f"{name}.yaml"
    for name in ("trainjob-name", "mpi-refused", "ray-clusters-refused", "ray-jobs-refused")
]


@pytest.fixture(scope="module")
def index() -> Index:
    return hunted.policies()


def test_each_rule_of_lint_and_outcome_has_a_policy_or_one_reason() -> None:
    named = [name for several in REASONS.values() for name in several]
    assert sorted(named) == sorted(unsaid())
    assert all(unsaid().values())
    assert {stage_of(name) for name in POLICIES} == {"lint", "outcome"}
    assert POLICIES.keys() <= rules().keys()


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_cases_of_lint(case: Path, index: Index) -> None:
    files = files_of(case)
    cluster = Cluster(target_of(files[0].read_text()))
    found = [
        difference
        for each in hunted.seen_in([checked(each, cluster) for each in files], cluster)
        for difference in hunted.differences(each, hunted.said_by_evaluator(each, index), Counter())
    ]
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("case", NAMED, ids=lambda path: path.stem)
def test_cases_of_names(case: Path, index: Index) -> None:
    seen = [each for text in case.read_text().split("---\n") for each in hunted.seen_in_text(text, Cluster())]
    tally: Counter[str] = Counter()
    assert [one for each in seen for one in hunted.differences(each, hunted.said_by_evaluator(each, index), tally, hunted.OF_NAMES)] == []
    assert tally.total() > len(seen)  # some have a name that is too long


@pytest.mark.slow
def test_random_jobs() -> None:
    tally: Counter[str] = Counter()
    assert report(hunted.evaluator_finds(Random(seed()), tally, count=30)) == ""
    assert {name: tally[hunted.JUDGED + name] for name in POLICIES} == dict.fromkeys(POLICIES, 30)


@pytest.mark.parametrize("place", PLACES)
def test_validate_accepts_all_of_them(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = written([*POLICIES.values()], Choices(parameters=place))
    file = tmp_path / "policies.yaml"
    file.write_text(write(objects))
    assert main(["validate", str(file)]) == 0
    assert capsys.readouterr().out.startswith(f"{len(objects)} documents: {len(objects)} valid (")


_RAY_WITH_MEMORY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: a, namespace: ml}
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: ray, image: "ray:2.46.0"}]}}}
  workerGroupSpecs:
  - groupName: workers
    replicas: 1
    minReplicas: 1
    maxReplicas: 1
    rayStartParams: {}
    template:
      spec:
        containers:
        - {name: ray, image: "ray:2.46.0", resources: {limits: {memory: LIMIT}}, volumeMounts: [{name: data, mountPath: /data}]}
        volumes: [{name: data, emptyDir: {medium: Memory, sizeLimit: 2Gi}}]
"""


@pytest.mark.parametrize(("limit", "is_over"), [("4Gi", False), ("1Gi", True)])
def test_the_container_that_kuberay_adds_limits_no_volume(limit: str, is_over: bool, tmp_path: Path, index: Index) -> None:
    (tmp_path / "ray.yaml").write_text(_RAY_WITH_MEMORY.replace("LIMIT", limit))
    cluster = Cluster()
    (seen,) = hunted.seen_in([checked(tmp_path / "ray.yaml", cluster)], cluster)
    found = [bool(each.get("memory-volume-over-limit")) for each in (seen.findings, hunted.said_by_evaluator(seen, index))]
    assert found == [is_over, is_over]


# Rules of outcome, and parameters.


def _refused(manifest: str, rule: str, trainer: str = "", **parameters: object) -> list[str]:
    """Return what a policy says of a manifest with each way to give parameters.

    They are in a ConfigMap, in a custom resource, or as written.
    """
    said = []
    for place in PLACES[1:] if parameters else PLACES:
        objects = written([POLICIES[rule]], Choices(action="Deny", parameters=place))
        for each in objects:
            for name, value in parameters.items():
                if each["kind"] == "ConfigMap":
                    each["data"][name.replace("_", "-")] = "\n".join(value) if isinstance(value, list) else str(value)
                elif each["kind"] == "PolicyParameters":
                    field = next(one.field for one in POLICIES[rule].parameters if one.name == name.replace("_", "-"))
                    each["spec"][field] = value
        document: Document = read(manifest, file="job.yaml")[0][0]
        request = hunted.Request(hunted.as_admitted(document, choose([f"trainer={trainer}"] if trainer else [])), namespace="default")
        found = hunted.decisions(request, Cluster(objects=objects, closed=True).index)
        said.append([each.message.rpartition("): ")[2] for each in found])
    assert all(each == said[0] for each in said), said
    return said[0]


def _outcomes(file: Path, rule: str) -> list[str]:
    """What becomes of the job in a file, by a rule."""
    cluster = Cluster()
    foreseen = foresee(resolve([checked(file, cluster)], cluster)[0], cluster)
    return [each.message for each in foreseen.result.diagnostics if each.rule == rule]


_TRAINJOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {{name: {}}}
spec: {{runtimeRef: {{name: torch-distributed}}, trainer: {{numNodes: {}}}}}
"""


@pytest.mark.parametrize("length", range(47, 51))
@pytest.mark.parametrize("nodes", [1, 10, 11])
def test_a_trainjob_has_a_name_that_is_too_long_where_its_jobset_is_refused(length: int, nodes: int, tmp_path: Path) -> None:
    manifest = _TRAINJOB.format("a" * length, nodes)
    file = tmp_path / "job.yaml"
    file.write_text(manifest)
    refused = _outcomes(file, "jobset-refused")
    assert bool(_refused(manifest, "jobset-refused")) == bool(refused)


_RAY = """
apiVersion: ray.io/v1
kind: {}
metadata: {{name: {}}}
spec: {}
"""
_CLUSTER = "{headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: ray, image: 'rayproject/ray:2.46.0'}]}}}}"
_SPECS = {
    "RayCluster": _CLUSTER,
    "RayJob": f"{{entrypoint: a, rayClusterSpec: {_CLUSTER}}}",
    "RayService": f"{{serveConfigV2: 'a: b', rayClusterConfig: {_CLUSTER}}}",
    "RayCronJob": f"{{schedule: '0 3 * * *', jobTemplate: {{entrypoint: a, rayClusterSpec: {_CLUSTER}}}}}",
}
_MPIJOB = """
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {{name: {}}}
spec:
  mpiReplicaSpecs:
    Launcher: {{template: {{spec: {{containers: [{{name: a, image: "a:1"}}]}}}}}}
    Worker: {{replicas: {}, template: {{spec: {{containers: [{{name: a, image: "a:1"}}]}}}}}}
"""


@pytest.mark.parametrize(
    "manifest",
    [
        *(_RAY.format(kind, "a" * length, spec) for kind, spec in _SPECS.items() for length in (41, 42, 47, 48, 53, 54)),
        *(_MPIJOB.format("a" * length, workers) for length in (53, 54, 55) for workers in (1, 10, 11)),
    ],
)
def test_an_object_has_a_name_that_is_too_long_where_its_operator_ignores_it(manifest: str, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(manifest)
    refused = _outcomes(file, "refused-by-operator")
    assert bool(_refused(manifest, "refused-by-operator")) == bool(refused)


_POD = """
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {kueue.x-k8s.io/queue-name: team-a}}
spec:
  tolerations: [{key: pool, operator: Exists}]
  volumes: [{name: data, hostPath: {path: /data/sets}}]
  containers:
  - {name: main, image: "ghcr.io/acme/train:main", resources: {limits: {nvidia.com/gpu: 4}}}
"""
_JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: a, labels: {kueue.x-k8s.io/queue-name: team-a}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "a:1"}]}}}
"""


def test_parameters_are_those_of_a_config_map_or_a_custom_resource() -> None:
    assert _refused(_POD, "unpinned-image") == []
    assert _refused(_POD, "unpinned-image", mutable_tags=["latest", "main"]) == ["main has ghcr.io/acme/train:main"]
    assert _refused(_POD, "unpinned-image", mutable_tags=["main"], exempt_images=["ghcr.io/acme/"]) == []
    assert _refused(_POD, "more-gpus-than-a-node") == []
    assert _refused(_POD, "more-gpus-than-a-node", most_gpus=2) == ["main asks for 4 GPUs"]
    assert _refused(_POD, "host-path") == ["data at /data/sets"]
    assert _refused(_POD, "host-path", allowed_host_paths=["/data/"]) == []
    assert _refused(_POD, "pod-without-node") == []
    assert _refused(_POD, "pod-without-node", gpu_taints=["pool"]) == []
    assert _refused(_POD, "pod-without-node", gpu_taints=["pool", "nvidia.com/gpu"]) == ["no toleration of nvidia.com/gpu"]
    assert _refused(_JOB, "unknown-queue") == []
    assert _refused(_JOB, "unknown-queue", queues=["team-b"]) == ["team-a"]
    assert _refused(_JOB, "unknown-queue", queues=["team-b", "team-a"]) == []


_VOLUME = "volumes: [{name: data, hostPath: {path: /data}}], containers: [{name: side, env: [{name: HF_TOKEN, value: abcdefghij}]}]"
_PATCH = f"{{name: NAME, template: {{spec: {{template: {{spec: {{{_VOLUME}}}}}}}}}}}"
_OTHER = "{name: other}"


@pytest.mark.parametrize(
    ("changes", "release"),
    [
        (f"podSpecOverrides: [{{targetJobs: [{{name: node}}], {_VOLUME}}}]", "2.0"),
        (f"podTemplateOverrides: [{{targetJobs: [{{name: node}}], spec: {{{_VOLUME}}}}}]", "2.1"),
        *(
            (
                f"runtimePatches: [{{manager: a.b/c}},"
                f" {{manager: a.b/d, trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: {jobs}}}}}}}}}]",
                "2.3",
            )
            for jobs in (f"[{_PATCH}]", f"[{_OTHER}, {_PATCH}]", f"[{_OTHER}, {_OTHER}, {_PATCH}]")
        ),
    ],
    ids=["2.0", "2.1", "first patch", "second patch", "third patch"],
)
def test_what_a_trainjob_changes_of_its_runtime_is_judged_at_the_trainjob(changes: str, release: str) -> None:
    manifest = _TRAINJOB.format("a", 1).replace("trainer: {", f"{changes}, trainer: {{")
    assert _refused(manifest, "host-path", release) == ["data at /data"]
    assert _refused(manifest, "secret-in-manifest", release) == ["side: HF_TOKEN"]


def test_what_a_controller_makes_is_judged_where_people_write_it() -> None:
    owned = _JOB.replace(
        "name: a,", "name: a, ownerReferences: [{apiVersion: batch/v1, kind: CronJob, name: a, uid: a, controller: true}],", 1
    )
    owned, alone = (each.replace("queue-name: team-a", 'queue-name: ""') for each in (owned, _JOB))
    assert _refused(alone, "empty-queue-name") == ["a"]
    assert _refused(owned, "empty-queue-name") == []


def test_a_policy_holds_in_the_namespaces_that_are_chosen() -> None:
    rule = [POLICIES["host-path"]]
    by_label = written(rule, Choices(labels={"team": "a"}))[-1]["spec"]["matchResources"]["namespaceSelector"]
    assert by_label["matchLabels"] == {"team": "a"}
    by_name = written(rule, Choices(namespaces=["a"]))[-1]["spec"]["matchResources"]["namespaceSelector"]
    assert by_name == {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["a"]}]}


def test_kinds_can_be_chosen() -> None:
    policy, _ = written([POLICIES["host-path"]], Choices(only=[kinds.TRAINJOB]))
    assert [each["resources"] for each in policy["spec"]["matchConstraints"]["resourceRules"]] == [["trainjobs"]]
