"""Names and labels of kustomizations that custom resources do not follow, and the configurations that --fix writes."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support import quick_yaml
from tests.support.manifests import write
from tests.support.processes import program, run_here

OBJECTS = """apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          serviceAccountName: trainer
          priorityClassName: high
          imagePullSecrets: [{name: pull}]
          containers:
          - {name: pytorch, image: "example.com/train:v1", envFrom: [{configMapRef: {name: settings}}]}
          volumes:
          - {name: data, persistentVolumeClaim: {claimName: data}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune}
spec: {runtimeRef: {name: torch, kind: TrainingRuntime}, trainer: {image: "example.com/tune:v1"}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: fetch, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  template:
    spec: {restartPolicy: Never, serviceAccountName: trainer, containers: [{name: a, image: "example.com/a:v1"}]}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: torch, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1}
  template: {spec: {replicatedJobs: []}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team}, spec: {clusterQueue: all}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
  - {coveredResources: [cpu], flavors: [{name: cheap, resources: [{name: cpu, nominalQuota: 1}]}]}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: cheap}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: trainer}}
---
{apiVersion: v1, kind: Secret, metadata: {name: pull}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
"""
PREFIXED = "resources: [objects.yaml]\nnamePrefix: dev-\n"
RULES = ("renamed-reference", "labels-not-on-pods", "hashed-name", "image-not-reached")

pytestmark = pytest.mark.skipif(not shutil.which("kustomize"), reason="kustomize is not installed")


def _found(folder: Path) -> list[tuple[str, int, str, str]]:
    files = json.loads(run_here("validate", ".", "-o", "json", cwd=folder).stdout)["files"]
    found = [one for file in files for one in file["diagnostics"] if one["rule"] in RULES]
    return [(one["file"], one["line"], one["rule"], one["message"]) for one in found]


def _place(folder: Path, kustomization: str, objects: str = OBJECTS, **more: str) -> Path:
    write(folder, {".git/HEAD": "", "objects.yaml": objects, "kustomization.yaml": kustomization, **more})
    return folder


def _built(folder: Path) -> str:
    return program("kustomize", "build", folder, check=True).stdout


def test_each_reference_that_a_prefix_breaks_is_reported_at_the_prefix(tmp_path: Path) -> None:
    found = _found(_place(tmp_path, PREFIXED))
    assert {each[:3] for each in found} == {("kustomization.yaml", 2, "renamed-reference")}
    assert sorted(each[3].split()[0] for each in found) == [
        "ClusterQueue",
        "LocalQueue",
        "PersistentVolumeClaim",
        "PriorityClass",
        "ResourceFlavor",
        "Secret",
        "ServiceAccount",
        "TrainingRuntime",
    ]


@pytest.mark.parametrize(
    ("options", "hashed"),
    [
        ("options: {disableNameSuffixHash: true}", 0),
        ("options: {disableNameSuffixHash: false}", 1),
        ("options: {disableNameSuffixHash: false}\ngeneratorOptions: {disableNameSuffixHash: true}", 0),
    ],
)
def test_options_of_all_generators_take_the_hash_from_each(options: str, hashed: int, tmp_path: Path) -> None:
    """An entry cannot bring back the hash that the options of all generators disable."""
    _place(tmp_path, f"resources: [objects.yaml]\nconfigMapGenerator:\n- name: settings\n  literals: [a=b]\n  {options}\n")
    assert [each[2] for each in _found(tmp_path)] == ["hashed-name"] * hashed
    names = [each["metadata"]["name"] for each in quick_yaml.load_all(_built(tmp_path)) if each["kind"] == "ConfigMap"]
    assert [each != "settings" for each in names] == [bool(hashed)]


def test_what_a_fix_writes_makes_kustomize_follow(tmp_path: Path) -> None:
    labels = "labels:\n- pairs: {team: a}\n  includeTemplates: true\nimages:\n- {name: example.com/tune, newTag: v2}\n"
    generator = "configMapGenerator:\n- {name: settings, literals: [a=b]}\n"
    _place(tmp_path, f"# ours\n{PREFIXED}{labels}{generator}")
    assert {each[2] for each in _found(tmp_path)} == set(RULES)
    done = run_here("validate", ".", "--fix", cwd=tmp_path)
    assert "kustomization.yaml: 12 problems fixed by kustomize-configuration.yaml\n" in done.stderr
    assert (tmp_path / "kustomization.yaml").read_text().startswith(f"# ours\n{PREFIXED}{labels}{generator}")
    objects = {each["kind"]: each for each in quick_yaml.load_all(_built(tmp_path))}
    job = objects["PyTorchJob"]["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]
    assert job["metadata"]["labels"] == {"team": "a"}
    pod = job["spec"]
    assert [pod["serviceAccountName"], pod["priorityClassName"], pod["imagePullSecrets"]] == [
        "dev-trainer",
        "dev-high",
        [{"name": "dev-pull"}],
    ]
    assert pod["containers"][0]["envFrom"][0]["configMapRef"]["name"] == objects["ConfigMap"]["metadata"]["name"]
    assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == "dev-data"
    assert objects["PyTorchJob"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "dev-team"
    assert objects["Job"]["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "dev-team"
    assert objects["TrainJob"]["spec"]["runtimeRef"]["name"] == "dev-torch"
    assert objects["TrainJob"]["spec"]["trainer"]["image"] == "example.com/tune:v2"
    assert objects["LocalQueue"]["spec"]["clusterQueue"] == "dev-all"
    assert objects["ClusterQueue"]["spec"]["resourceGroups"][0]["flavors"][0]["name"] == "dev-cheap"
    assert _found(tmp_path) == []


@pytest.mark.parametrize(
    ("more", "objects"),
    [
        ("", "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team}, spec: {clusterQueue: all}}\n"),
        ("", "{apiVersion: v1, kind: Namespace, metadata: {name: team}}\n"),
        (
            "patches:\n- patch: '[{op: replace, path: /spec/clusterQueue, value: dev-all}]'\n  target: {kind: LocalQueue}\n",
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team}, spec: {clusterQueue: all}}\n---\n"
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: all}}\n",
        ),
    ],
)
def test_what_follows_or_may_follow_is_not_reported(more: str, objects: str, tmp_path: Path) -> None:
    assert _found(_place(tmp_path, PREFIXED + more, objects)) == []


QUEUES = """{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team}, spec: {clusterQueue: all}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec: {admissionChecksStrategy: {admissionChecks: [{name: check}]}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: check}, spec: {controllerName: example.com/check}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: names}, data: {queue: dev-all}}
"""
CHECK = "AdmissionCheck `check` becomes `dev-check`, and `admissionChecks.name` of ClusterQueue `all` keeps the old name"
QUEUE = "ClusterQueue `all` becomes `dev-all`, and `spec.clusterQueue` of LocalQueue `team` keeps the old name"
SOURCE = "- source: {kind: ConfigMap, name: names, fieldPath: data.queue}\n"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("configurations: [own.yaml]\n", [CHECK]),
        ("configurations: [none.yaml]\n", [QUEUE, CHECK]),
        (f"replacements:\n{SOURCE}  targets: [{{select: {{kind: LocalQueue}}, fieldPaths: [spec.clusterQueue]}}]\n", [CHECK]),
        (f"replacements:\n{SOURCE}  targets: [{{select: {{kind: LocalQueue}}, fieldPaths: ['metadata.labels.a']}}]\n", [QUEUE, CHECK]),
        ("replacements: [{path: replacements.yaml}]\n", [CHECK]),
        ("transformers: [transformer.yaml]\n", [CHECK]),
        ("openapi: {path: schema.json}\n", [QUEUE, CHECK]),
        ("crds: [crd.json]\n", []),
        ("vars: [{name: A, objref: {apiVersion: v1, kind: ConfigMap, name: names}, fieldref: {fieldpath: data.queue}}]\n", [QUEUE, CHECK]),
    ],
)
def test_only_a_reference_that_a_kustomization_tells_of_is_followed(more: str, expected: list[str], tmp_path: Path) -> None:
    targets = "  targets: [{select: {kind: LocalQueue}, fieldPaths: [spec.clusterQueue]}]\n"
    transformer = f"apiVersion: builtin\nkind: ReplacementTransformer\nmetadata: {{name: a}}\nreplacements:\n{SOURCE}{targets}"
    files = {
        "own.yaml": "nameReference: [{kind: ClusterQueue, fieldSpecs: [{kind: LocalQueue, path: spec/clusterQueue}]}]\n",
        "none.yaml": "nameReference: [{kind: ClusterQueue, fieldSpecs: [{kind: ClusterQueue, path: spec/clusterQueue}]}]\n",
        "replacements.yaml": SOURCE + targets,
        "transformer.yaml": transformer,
        "schema.json": '{"definitions": {}}',
        "crd.json": '{"a.b": {"Schema": {"properties": {"spec": {"x-kubernetes-object-ref-kind": "ClusterQueue"}}}}}',
    }
    assert [each[3] for each in _found(_place(tmp_path, PREFIXED + more, QUEUES, **files))] == expected


PODS = "containers: [{name: node, image: 'e/a:1', envFrom: [{configMapRef: {name: settings}}, {secretRef: {name: keys}}]}]"
PROJECTED = "volumes: [{name: v, projected: {sources: [{secret: {name: keys}}]}}]"
KINDS = {
    "kubeflow.org/v1 PyTorchJob": f"pytorchReplicaSpecs: {{Worker: {{template: {{spec: {{{PODS}, {PROJECTED}}}}}}}}}",
    "kubeflow.org/v1 TFJob": f"tfReplicaSpecs: {{Worker: {{template: {{spec: {{{PODS}}}}}}}}}",
    "kubeflow.org/v2beta1 MPIJob": f"mpiReplicaSpecs: {{Worker: {{template: {{spec: {{{PODS}}}}}}}}}",
    "trainer.kubeflow.org/v1alpha1 TrainingRuntime": (
        f"template: {{spec: {{replicatedJobs: [{{name: node, template: {{spec: {{template: {{spec: {{{PODS}}}}}}}}}}}]}}}}"
    ),
    "jobset.x-k8s.io/v1alpha2 JobSet": (
        f"replicatedJobs: [{{name: node, replicas: 1, template: {{spec: {{template: {{spec: {{{PODS}}}}}}}}}}}]"
    ),
    "ray.io/v1 RayJob": (
        f"submitterPodTemplate: {{spec: {{{PODS}}}}}, rayClusterSpec: {{headGroupSpec: {{template: {{spec: {{{PODS}}}}}}}, "
        f"workerGroupSpecs: [{{groupName: a, replicas: 1, template: {{spec: {{{PODS}}}}}}}]}}"
    ),
    "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": (
        f"replicas: 1, leaderWorkerTemplate: {{leaderTemplate: {{spec: {{{PODS}}}}}, workerTemplate: {{spec: {{{PODS}}}}}}}"
    ),
}
TRAIN_JOB = (
    "initializer: {dataset: {secretRef: {name: keys}}}, "
    "trainer: {env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: a}}}]}, "
    "runtimePatches: [{manager: a, trainingRuntimeSpec: {template: {spec: {replicatedJobs: "
    f"[{{name: node, template: {{spec: {{template: {{spec: {{{PODS}}}}}}}}}}}]}}}}}}}}]"
)


@pytest.mark.parametrize("labels", ["labels: [{pairs: {team: a}, includeTemplates: true}]", "commonLabels: {team: a}"])
@pytest.mark.parametrize("kind", [*KINDS, "trainer.kubeflow.org/v1alpha1 TrainJob"])
def test_a_fix_makes_hashes_and_labels_reach_every_kind(kind: str, labels: str, tmp_path: Path) -> None:
    version, name = kind.split()
    job = f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: train}}\nspec: {{{KINDS.get(kind, TRAIN_JOB)}}}\n"
    generators = "configMapGenerator: [{name: settings, literals: [a=b]}]\nsecretGenerator: [{name: keys, literals: [a=b]}]\n"
    _place(tmp_path, f"resources: [objects.yaml]\n{generators}{labels}\n", job)
    assert {each[2] for each in _found(tmp_path)} == {"hashed-name", "labels-not-on-pods"}
    run_here("validate", ".", "--fix", cwd=tmp_path)
    assert _found(tmp_path) == []
    built = next(each for each in quick_yaml.load_all(_built(tmp_path)) if each["kind"] == name)
    names, pods = _names_and_labels(built["spec"])
    assert names
    assert all(each.startswith(("settings-", "keys-")) for each in names)
    assert pods
    assert all(each == {"team": "a"} for each in pods)


def _names_and_labels(data: object) -> tuple[list[str], list[object]]:
    """The names of ConfigMaps and Secrets, and the labels of the pods, in an object."""
    names: list[str] = []
    pods: list[object] = []
    for key, each in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        if key in ("configMapRef", "secretRef", "configMapKeyRef", "secret") and isinstance(each, dict):
            names.append(each["name"])
        if str(key).lower().endswith("template") and isinstance(each, dict) and "containers" in each.get("spec", {}):
            pods.append(each.get("metadata", {}).get("labels"))
        more = _names_and_labels(each)
        names, pods = names + more[0], pods + more[1]
    return names, pods


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        ("kubeflow.org/v1 PyTorchJob", KINDS["kubeflow.org/v1 PyTorchJob"], "spec.pytorchReplicaSpecs.Worker.replicas"),
        ("kubeflow.org/v2beta1 MPIJob", KINDS["kubeflow.org/v2beta1 MPIJob"], "spec.mpiReplicaSpecs.Worker.replicas"),
        ("trainer.kubeflow.org/v1alpha1 TrainJob", "runtimeRef: {name: torch}", "spec.trainer.numNodes"),
        ("jobset.x-k8s.io/v1alpha2 JobSet", KINDS["jobset.x-k8s.io/v1alpha2 JobSet"], "spec.replicatedJobs.replicas"),
        ("ray.io/v1 RayJob", KINDS["ray.io/v1 RayJob"], "spec.rayClusterSpec.workerGroupSpecs.replicas"),
        ("leaderworkerset.x-k8s.io/v1 LeaderWorkerSet", KINDS["leaderworkerset.x-k8s.io/v1 LeaderWorkerSet"], "spec.replicas"),
        ("batch/v1 Job", f"template: {{spec: {{{PODS}}}}}", "spec.parallelism"),
    ],
)
def test_a_fix_lets_replicas_set_the_pods_of_other_kinds(kind: str, spec: str, field: str, tmp_path: Path) -> None:
    version, name = kind.split()
    job = f"apiVersion: {version}\nkind: {name}\nmetadata: {{name: train}}\nspec: {{{spec}}}\n"
    _place(tmp_path, "resources: [objects.yaml]\nreplicas:\n- {name: train, count: 7}\n", job)
    files = json.loads(run_here("validate", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    found = [one for file in files for one in file["diagnostics"] if one["rule"] == "broken-kustomization"]
    assert [(each["line"], each["message"]) for each in found] == [
        (3, f"kustomize cannot build this: it knows no field of {name} for `replicas`")
    ]
    assert f"name `{field}` in `replicas`" in found[0]["hint"]
    run_here("validate", ".", "--fix", cwd=tmp_path)
    value = next(iter(quick_yaml.load_all(_built(tmp_path))))
    for step in field.split("."):
        value = (value[0] if isinstance(value, list) else value)[step]
    assert value == 7


SCALED = """{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: serve}, spec: {replicas: 1}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: board}, spec: {}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: groups}
spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, name: serve}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: boards}
spec: {maxReplicas: 2, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: board}}
---
{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: events}, spec: {scaleTargetRef: {name: board}}}
"""


def test_what_an_autoscaler_scales_is_followed_after_a_fix(tmp_path: Path) -> None:
    _place(tmp_path, PREFIXED, SCALED)
    assert [each[3].partition(", and ")[2] for each in _found(tmp_path)] == [
        "`scaleTargetRef.name` of HorizontalPodAutoscaler `groups` keeps the old name",
        "`scaleTargetRef.name` of ScaledObject `events` keeps the old name",
    ]
    run_here("validate", ".", "--fix", cwd=tmp_path)
    scaling = [each for each in quick_yaml.load_all(_built(tmp_path)) if "scaleTargetRef" in each["spec"]]
    named = {each["metadata"]["name"]: each["spec"]["scaleTargetRef"]["name"] for each in scaling}
    assert named == {"dev-groups": "dev-serve", "dev-boards": "dev-board", "dev-events": "dev-board"}


def test_a_fix_adds_to_a_configuration_that_is_there(tmp_path: Path) -> None:
    own = (
        "# ours\nnameReference:\n- group: kueue.x-k8s.io # ours\n  kind: AdmissionCheck\n  fieldSpecs: [{kind: Other, path: spec/check}]\n"
    )
    _place(tmp_path, PREFIXED, QUEUES, **{"kustomize-configuration.yaml": own})
    run_here("validate", ".", "--fix", cwd=tmp_path)
    assert (tmp_path / "kustomization.yaml").read_text() == PREFIXED + "configurations:\n- kustomize-configuration.yaml\n"
    text = (tmp_path / "kustomize-configuration.yaml").read_text()
    assert text.startswith(own.replace("]\n", ", {"))
    objects = {each["kind"]: each for each in quick_yaml.load_all(_built(tmp_path))}
    assert objects["ClusterQueue"]["spec"]["admissionChecksStrategy"]["admissionChecks"] == [{"name": "dev-check"}]
    assert objects["LocalQueue"]["spec"]["clusterQueue"] == "dev-all"


def test_an_image_that_a_configuration_names_is_reached(tmp_path: Path) -> None:
    job = "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: a}, spec: {trainer: {image: 'e/t:1'}}}\n"
    images = "resources: [objects.yaml]\nimages: [{name: e/t, newTag: v2}]\nconfigurations: [own.yaml]\n"
    named = "images: [{path: spec/trainer/image, kind: TrainJob}]\n"
    assert _found(_place(tmp_path / "a", images, job, **{"own.yaml": named})) == []
    other = "images: [{path: spec/trainer/image, kind: Other}]\n"
    assert [each[2] for each in _found(_place(tmp_path / "b", images, job, **{"own.yaml": other}))] == ["image-not-reached"]


def test_a_reference_that_a_base_breaks_is_reported_there_alone(tmp_path: Path) -> None:
    _place(tmp_path / "base", PREFIXED)
    write(tmp_path, {".git/HEAD": "", "prod/kustomization.yaml": "resources: [../base]\nnameSuffix: -1\n"})
    assert {each[0] for each in _found(tmp_path)} == {"base/kustomization.yaml"}
