"""A real Argo CD syncs what is rendered as it stands, and says of jobs what became of them.

Real operators make the pods of jobs, and a simulated node runs them: those of a batch/Job end by themselves, those of a PyTorchJob when a
test ends them. Kueue is imitated by what it writes. What Flux is reported of health is evaluated on the same objects.
"""

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from jobspec.project.engines.argocd_health import customizations
from jobspec.project.engines.flux_health import HEALTH_CHECK_EXPRS
from tests.support import cel_health, lua, quick_yaml
from tests.support.applicationsets import applicationset_controller, plugin_server
from tests.support.argocd import APPLICATIONS, VARIABLE, ArgoCD, Repository
from tests.support.manifests import write
from tests.support.processes import run_here
from tests.support.server import kubeconfig

#: Objects by kind and name.
Resources = dict[tuple[str, str], dict[str, Any]]

_TRAINER = "trainer.kubeflow.org/v1alpha1"
_JOBS = {
    "PyTorchJob": "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs",
    "TrainJob": f"/apis/{_TRAINER}/namespaces/{{}}/trainjobs",
    "JobSet": "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
}
#: What becomes of a job that nobody ends: its pods run on, or end by themselves.
_AT_LAST = {"PyTorchJob": "Progressing", "TrainJob": "Healthy"}
_RUNTIMES = f"/apis/{_TRAINER}/namespaces/{{}}/trainingruntimes"
_NAMESPACES = "/api/v1/namespaces?fieldSelector=metadata.name%3D{}"
_CLAIMS = "/api/v1/namespaces/{}/persistentvolumeclaims"
_PODS = "/api/v1/namespaces/{}/pods"
_SERVICES = "/api/v1/namespaces/{}/services"
_EVERYTHING = {**_JOBS, "Pod": _PODS, "Service": _SERVICES, "PersistentVolumeClaim": _CLAIMS, "TrainingRuntime": _RUNTIMES}
_OF_ARGOCD = APPLICATIONS.rpartition("/")[0]
_SETS = f"{_OF_ARGOCD}/applicationsets"
_ALL_NAMESPACES = "/api/v1/namespaces"
_VOLUMES = "/api/v1/persistentvolumes"
_CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
_POLICIES = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
_BINDINGS = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
_LOOK_AGAIN = "argocd.argoproj.io/application-set-refresh=true"
_QUEUE = "kueue.x-k8s.io/queue-name"

_NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: NAMESPACE}\n"
_CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: NAMESPACE
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
"""
_PYTORCHJOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: mnist}
spec:
  runPolicy: {cleanPodPolicy: None}
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: example.com/train:v1
              command: [python, train.py]
              volumeMounts: [{name: data, mountPath: /data}]
          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""
_RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: ours}
spec:
  mlPolicy: {numNodes: 1}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              template:
                spec:
                  restartPolicy: Never
                  containers: [{name: node, image: "example.com/train:v1"}]
"""
_TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: mnist}
spec:
  runtimeRef: {kind: TrainingRuntime, name: ours}
  trainer: {command: [python, train.py]}
"""
_BASES = {
    "PyTorchJob": "---\n".join([_PYTORCHJOB, _CLAIM, _NAMESPACE]),
    "TrainJob": "---\n".join([_TRAINJOB, _RUNTIME, _NAMESPACE]),
}
_TARGET = '  target: {training-operator: "1.8", trainer: "2.0"}'
_PROJECT = f"""\
apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
{_TARGET}
  variants:
    - name: mnist
      base: base/job.yaml
      namespace: NAMESPACE
      flags: {{--lr: "0.1"}}
  engines:
    argocd: {{repoURL: "file://FOLDER", revision: main, name: NAMESPACE, project: NAMESPACE, autosync: true}}
"""


class Place:
    """A namespace for one test, and the application that syncs a repository to it: both have one name."""

    def __init__(self, argocd: ArgoCD, name: str, folder: Path) -> None:
        self.argocd = argocd
        self.name = name
        self.repository = Repository(folder)
        self.begin = argocd.version()

    def render(self, base: str, changes: Mapping[str, str] | None = None) -> str:
        """Commit the project with its rendered tree; returns the commit. *changes* are texts of the project, and others instead."""
        project = _PROJECT.replace("FOLDER", str(self.repository.folder))
        for old, new in (changes or {}).items():
            assert old in project
            project = project.replace(old, new)
        files = {"jobspec.yaml": project, "base/job.yaml": base}
        return self.repository.commit({name: text.replace("NAMESPACE", self.name) for name, text in files.items()})

    def engage(self) -> None:
        """Give Argo CD the engine's objects as they are rendered."""
        folder = self.repository.folder / "engines" / "argocd"
        self.argocd.kubectl("patch", "configmap", "argocd-cm", "--namespace=argocd", f"--patch-file={folder / 'argocd-cm-health.yaml'}")
        self.argocd.kubectl("apply", "--server-side", f"--kustomize={folder}")

    def becomes(self, revision: str, health: str) -> None:
        self.argocd.becomes(self.name, revision, health)

    def uids(self, *kinds: str) -> dict[tuple[str, str], str]:
        """The uids of what is there of some kinds, by kind and name."""
        return {name: each["metadata"]["uid"] for name, each in self.items(*kinds).items()}

    def items(self, *kinds: str) -> Resources:
        return self.argocd.items(*(_EVERYTHING[kind].format(self.name) for kind in kinds))

    def job(self, kind: str) -> dict[str, Any]:
        """The one job of a kind."""
        (found,) = self.items(kind).values()
        return found

    def applications(self) -> list[str]:
        """The applications that sync the repository."""
        found = self.argocd.items(APPLICATIONS).values()
        return sorted(each["metadata"]["name"] for each in found if each["spec"]["source"]["repoURL"] == self.repository.url)

    def made(self, resources: str, least: int = 1) -> list[dict[str, Any]]:
        return self.argocd.made(resources.format(self.name), self.begin, least)

    def have_storage(self, binding: str = "WaitForFirstConsumer") -> None:
        """Have a volume for the claim `data`, which is bound once a pod wants it and not before, as most storage is."""
        name = {"name": self.name}
        kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": name}
        size = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
        volume = {**size, "hostPath": {"path": "/data"}, "storageClassName": self.name}
        self.argocd.apply(
            {
                _CLASSES: {**kind, "provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": binding},
                _VOLUMES: {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": name, "spec": volume},
            }
        )

    def end_pod(self, name: str, code: int = 0) -> None:
        """Let a pod end with an exit code, once it runs."""

        def phase() -> str:
            return str(self.argocd.get(f"{_PODS.format(self.name)}/{name}").get("status", {}).get("phase", "absent"))

        self.argocd.waits_for(lambda: phase() == "Running", lambda: f"pod {name} is {phase()}")
        ended = {
            "name": "pytorch",
            "image": "a",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": {"exitCode": 0}},
        }
        patch = json.dumps({"status": {"phase": "Failed" if code else "Succeeded", "containerStatuses": [ended]}})
        words = ("--subresource=status", "--type=merge", f"--patch={patch}", f"--namespace={self.name}")
        self.argocd.kubectl("patch", "pod", name, *words)

    def remove(self) -> None:
        self.argocd.delete(f"{_SETS}/{self.name}")
        self.argocd.waits_for(lambda: set(self.applications()) <= {self.name}, lambda: f"{self.applications()} stay")
        self.argocd.delete(f"{APPLICATIONS}/{self.name}", f"{_OF_ARGOCD}/appprojects/{self.name}")
        self.argocd.delete(*(f"{place}/{self.name}" for place in (_ALL_NAMESPACES, _VOLUMES, _CLASSES)), waits=False)


@pytest.fixture
def argocd() -> Iterator[ArgoCD]:
    found = ArgoCD()
    yield found
    found.close()


_NUMBERS = count(1)


@pytest.fixture
def place(argocd: ArgoCD, tmp_path: Path) -> Iterator[Place]:
    name = f"argocd-{os.getpid()}-{next(_NUMBERS)}"
    found = Place(argocd, name, tmp_path / name)  # after which `jobspec init` names the application
    yield found
    found.remove()


def _version(resource: dict[str, Any]) -> int:
    return int(resource["metadata"]["resourceVersion"])


@pytest.mark.parametrize("kind", ["PyTorchJob", "TrainJob"])
def test_a_new_repository_runs_as_it_was_written(kind: str, place: Place) -> None:
    """`jobspec init`, the releases of the cluster, a commit and what is said to the engine are all that it takes.

    The trainer of this cluster, 2.0, has no place for what keeps Istio away, and none for a deadline, as `jobspec render` reports.
    """
    folder = place.repository.folder
    done = run_here("init", folder, "--kind", kind, "--namespace", place.name, "--repository", place.repository.url)
    assert done.returncode == 0, done.stderr
    written = (folder / "jobspec.yaml").read_text()
    project = re.sub(r"(?m)^    overlays: \[istio-off\].*\n", "", re.sub(r"(?m)^  target: .*$", _TARGET, written))
    assert project != written
    base = re.sub(r"(?m)^  activeDeadlineSeconds: .*\n", "", (folder / "base" / "mnist.yaml").read_text())
    revision = place.repository.commit({"jobspec.yaml": project, "base/mnist.yaml": base})
    place.engage()
    if kind == "PyTorchJob":
        place.becomes(revision, "Progressing")
        for _, name in place.uids(kind):
            place.end_pod(f"{name}-master-0")
    place.becomes(revision, "Healthy")
    assert len(place.uids(kind)) == 2


@pytest.mark.parametrize(("kind", "before_it"), [("PyTorchJob", _CLAIMS), ("TrainJob", _RUNTIMES)], ids=["PyTorchJob", "TrainJob"])
def test_a_commit_is_a_run_that_ends_healthy_and_a_change_is_another_run(kind: str, before_it: str, place: Place) -> None:
    place.have_storage()
    first = place.render(_BASES[kind])
    place.engage()
    if kind == "PyTorchJob":
        place.becomes(first, "Progressing")
        place.end_pod(f"{place.job(kind)['metadata']['name']}-master-0")
    place.becomes(first, "Healthy")

    (namespace,), (needed,), (job,) = place.made(_NAMESPACES), place.made(before_it), place.made(_JOBS[kind])
    assert _version(namespace) < _version(needed) < _version(job)

    before = place.uids(*_EVERYTHING)
    assert before.keys() > {(kind, job["metadata"]["name"]), (needed["kind"], needed["metadata"]["name"])}
    place.argocd.syncs_again(place.name)
    place.becomes(first, "Healthy")
    assert place.uids(*_EVERYTHING) == before

    second = place.render(_BASES[kind], {'"0.1"': '"0.3"'})
    place.becomes(second, _AT_LAST[kind])
    other = place.job(kind)
    assert other["metadata"]["name"] != job["metadata"]["name"]
    assert [each["metadata"]["uid"] for each in place.made(_JOBS[kind], 2)] == [job["metadata"]["uid"], other["metadata"]["uid"]]
    assert place.uids(needed["kind"]) == {(needed["kind"], needed["metadata"]["name"]): needed["metadata"]["uid"]}


def test_a_plugin_renders_what_nobody_commits(place: Place, tmp_path: Path) -> None:
    folder = place.repository.folder
    write(folder, {".gitignore": "rendered/\n"})
    revision = place.render(_BASES["TrainJob"], {"autosync: true": 'autosync: true, plugin: true, pluginImage: "example.com/jobspec:1"'})
    config = quick_yaml.load((folder / "engines" / "argocd" / "configmap-jobspec-plugin.yaml").read_text())
    with plugin_server(config["data"]["plugin.yaml"], tmp_path / "plugin"):
        place.engage()
        place.becomes(revision, "Healthy")
    assert len(place.uids("TrainJob")) == 1


@pytest.mark.parametrize("kind", _JOBS)
def test_health(kind: str, place: Place) -> None:
    """Of what each state of each kind is to Argo CD, to our Lua by itself, and to Flux."""
    spec = {
        "project": "default",
        "source": {"repoURL": place.repository.url, "targetRevision": "main", "path": "."},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": place.name},
        "syncPolicy": {"automated": {"prune": True}, "syncOptions": ["ServerSideApply=true", "CreateNamespace=true"]},
    }
    metadata = {"name": place.name, "namespace": "argocd"}
    patch = json.dumps({"data": customizations()})
    place.argocd.kubectl("patch", "configmap", "argocd-cm", "--namespace=argocd", "--type=merge", f"--patch={patch}")

    def commit(**how: Any) -> str:
        return place.repository.commit({"job.yaml": "---\n".join(map(json.dumps, _plain(kind, place.name, **how)))})

    def says(revision: str, health: str) -> None:
        place.becomes(revision, health)
        assert _health_of(place.job(kind)) == _expected(kind, health)

    first = commit(name="held", suspend=True)
    place.argocd.apply({APPLICATIONS: {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec}})
    says(first, "Suspended")
    says(commit(name="held", suspend=False), "Progressing")
    failing = commit(name="late", deadline=1, waits=kind != "PyTorchJob")
    if kind == "PyTorchJob":  # whose operator sees a deadline only when something else happens
        says(failing, "Progressing")
        place.end_pod("late-master-0", code=1)
    says(failing, "Degraded")
    last = commit(name="done", waits=False)
    if kind == "PyTorchJob":
        says(last, "Progressing")
        place.end_pod("done-master-0")
    says(last, "Healthy")
    new = place.made(_JOBS[kind], 3)
    assert [each["metadata"]["name"] for each in new] == ["held", "late", "done"]
    assert [_health_of(each) for each in new] == [_expected(kind, "Progressing")] * 3


_EXPRESSIONS = {each["kind"]: each for each in HEALTH_CHECK_EXPRS}


def _health_of(job: dict[str, Any]) -> tuple[str, str | None]:
    """What Lua and CEL say."""
    (script,) = (script for key, script in customizations().items() if key.endswith(f"_{job['kind']}"))
    expressions = _EXPRESSIONS.get(job["kind"])
    return lua.health(script, job)["status"], cel_health.health(expressions, job) if expressions else None


def _expected(kind: str, health: str) -> tuple[str, str | None]:
    flux = {"Healthy": "Current", "Degraded": "Failed"}.get(health, "InProgress")
    return health, flux if kind in _EXPRESSIONS else None


def _plain(
    kind: str, namespace: str, *, name: str, suspend: bool = False, deadline: int | None = None, waits: bool = True
) -> list[dict[str, Any]]:
    """A job of a kind, and what it needs. Where it *waits*, no node takes its pods."""
    metadata = {"name": name, "namespace": namespace}
    selector = {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}} if waits else {}
    container = "pytorch" if kind == "PyTorchJob" else "node"
    pods = {"restartPolicy": "Never", "containers": [{"name": container, "image": "example.com/train:v1"}], **selector}
    limit = {"activeDeadlineSeconds": deadline} if deadline else {}
    step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    jobs = [{"name": "node", "template": {"metadata": step, "spec": {**limit, "template": {"spec": pods}}}}]
    specs: dict[str, tuple[str, dict[str, Any]]] = {
        "PyTorchJob": (
            "kubeflow.org/v1",
            {
                "runPolicy": {"suspend": suspend},
                "pytorchReplicaSpecs": {"Master": {"replicas": 1, "restartPolicy": "Never", "template": {"spec": pods}}},
            },
        ),
        "TrainJob": (_TRAINER, {"suspend": suspend, "runtimeRef": {"kind": "TrainingRuntime", "name": name}}),
        "JobSet": ("jobset.x-k8s.io/v1alpha2", {"suspend": suspend, "replicatedJobs": jobs}),
        "Job": ("batch/v1", {"suspend": suspend, **limit, "template": {"spec": pods}}),
    }
    version, spec = specs[kind]
    job = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
    first = {**metadata, "annotations": {"argocd.argoproj.io/sync-wave": "-1"}}
    runtime = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": jobs}}}
    needed = {"apiVersion": _TRAINER, "kind": "TrainingRuntime", "metadata": first, "spec": runtime}
    return [needed, job] if kind == "TrainJob" else [job]


_TOLERATING = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}
_PLACED = {"metadata": {"labels": {"kueue.x-k8s.io/podset": "master"}}, "spec": _TOLERATING}
#: What Kueue writes when it lets a job run, one after the other: the trainer wants overrides while the job is suspended.
_ADMITTED: dict[str, list[dict[str, Any]]] = {
    "PyTorchJob": [{"runPolicy": {"suspend": False}, "pytorchReplicaSpecs": {"Master": {"template": _PLACED}}}],
    "TrainJob": [{"podSpecOverrides": [{"targetJobs": [{"name": "node"}], **_TOLERATING}]}, {"suspend": False}],
}


@pytest.mark.parametrize("says", [False, True], ids=["silent", "suspended"])
@pytest.mark.parametrize("kind", ["PyTorchJob", "TrainJob"])
def test_what_kueue_and_operators_write_is_no_difference_and_stays(kind: str, says: bool, place: Place) -> None:
    """Kueue suspends a job of a queue when it is made, whether its manifest *says* so or not, and later lets it run."""
    place.have_storage("Immediate")  # a claim that waits for a job's pods is Progressing, and so is its application
    base = _BASES[kind]
    with _suspended_when_made(kind, place):
        revision = place.render(_suspended(base) if says else base, {"flags:": f"labels: {{{_QUEUE}: gpus}}\n      flags:"})
        place.engage()
        place.becomes(revision, "Suspended")
    job = place.job(kind)
    words = (kind, job["metadata"]["name"], f"--namespace={place.name}")
    for written in _ADMITTED[kind]:
        patch = json.dumps({"metadata": {"labels": {"kueue.x-k8s.io/priority": "1"}}, "spec": written})
        place.argocd.kubectl("patch", *words, "--type=merge", "--field-manager=kueue", f"--patch={patch}")
    place.becomes(revision, _AT_LAST[kind])
    admitted = place.job(kind)
    assert admitted["spec"] != job["spec"]

    place.argocd.syncs_again(place.name)
    place.becomes(revision, _AT_LAST[kind])
    assert (place.job(kind)["metadata"]["uid"], place.job(kind)["spec"]) == (job["metadata"]["uid"], admitted["spec"])


def _suspended(base: str) -> str:
    changed = base.replace("runPolicy: {", "runPolicy: {suspend: true, ").replace("  runtimeRef:", "  suspend: true\n  runtimeRef:")
    assert changed != base
    return changed


@contextmanager
def _suspended_when_made(kind: str, place: Place) -> Iterator[None]:
    """While this lasts, jobs that are made in the namespace are suspended, as Kueue's webhook suspends those of its queues."""
    name = {"name": place.name}
    change = {"PyTorchJob": "runPolicy: Object.spec.runPolicy{suspend: true}", "TrainJob": "suspend: true"}[kind]
    group, version, *_, plural = _JOBS[kind].split("/")[2:]
    rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": [plural]}
    spec = {
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place.name}}},
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": f"Object{{spec: Object.spec{{{change}}}}}"}}
        ],
        "reinvocationPolicy": "Never",
    }
    api = "admissionregistration.k8s.io/v1"
    policy = {"apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": name, "spec": spec}
    binding = {"apiVersion": api, "kind": "MutatingAdmissionPolicyBinding", "metadata": name, "spec": {"policyName": place.name}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": name}
    place.argocd.apply({_ALL_NAMESPACES: namespace, _POLICIES: policy, _BINDINGS: binding})
    job = _plain(kind, place.name, name="probe")[-1]
    probe = json.dumps({**job, "spec": {**job["spec"], **({"runtimeRef": {"name": "torch-distributed"}} if kind == "TrainJob" else {})}})

    def is_suspended() -> bool:
        made = json.loads(place.argocd.kubectl("create", "--dry-run=server", "--output=json", "--filename=-", stdin=probe))
        return bool({**made["spec"], **made["spec"].get("runPolicy", {})}["suspend"])

    try:
        place.argocd.waits_for(is_suspended, lambda: "the server does not suspend jobs")
        yield
    finally:
        place.argocd.delete(f"{_POLICIES}/{place.name}", f"{_BINDINGS}/{place.name}")


@pytest.mark.parametrize("kind", ["PyTorchJob", "TrainJob"])
def test_a_change_replaces_a_job_with_a_fixed_name_exactly_once(kind: str, place: Place) -> None:
    place.have_storage()
    fixed = {"flags:": "naming: fixed\n      flags:"}
    first = place.render(_BASES[kind], fixed)
    place.engage()
    place.becomes(first, _AT_LAST[kind])
    job = place.job(kind)
    second = place.render(_BASES[kind], {**fixed, '"0.1"': '"0.3"'})
    place.becomes(second, _AT_LAST[kind])
    other = place.job(kind)
    place.argocd.syncs_again(place.name)
    place.becomes(second, _AT_LAST[kind])
    made = [(each["metadata"]["name"], each["metadata"]["uid"]) for each in place.made(_JOBS[kind], 2)]
    assert made == [("mnist", job["metadata"]["uid"]), ("mnist", other["metadata"]["uid"])]
    assert place.job(kind)["metadata"]["uid"] == other["metadata"]["uid"]
    assert "0.3" in json.dumps(place.job(kind)["spec"])


_PLAIN = "".join(line for line in _PYTORCHJOB.splitlines(keepends=True) if "claim" not in line and "volume" not in line)


def test_an_application_set_syncs_each_variant_by_itself(place: Place, tmp_path: Path) -> None:
    """Its real controller makes an application of each folder, another for a new one, and removes that of a folder that is gone."""
    several = {"autosync: true": "autosync: true, applicationSet: true"}
    other = "    - name: other\n      base: base/job.yaml\n      namespace: NAMESPACE\n  engines:"
    applications = [f"{place.name}-{variant}" for variant in ("mnist", "other")]

    def are(names: list[str]) -> None:
        place.argocd.kubectl("annotate", "applicationset", place.name, "--namespace=argocd", _LOOK_AGAIN)
        place.argocd.waits_for(lambda: place.applications() == names, lambda: f"{place.applications()} are there, not {names}")

    first = place.render(_PLAIN, several)
    place.engage()
    with applicationset_controller(kubeconfig(VARIABLE), tmp_path / "controller"):
        are(applications[:1])
        place.argocd.becomes(applications[0], first, "Progressing")
        (job,) = place.uids("PyTorchJob").items()
        second = place.render(_PLAIN, {**several, "  engines:": other})
        are(applications)
        place.argocd.becomes(applications[1], second, "Progressing")
        both = place.uids("PyTorchJob")
        assert (len(both), both[job[0]]) == (2, job[1])
        place.render(_PLAIN, {**several, "- name: mnist": "- name: other"})
        are(applications[1:])
        assert place.uids("PyTorchJob") == {name: uid for name, uid in both.items() if name != job[0]}


def test_an_application_set_brings_what_its_variants_share_before_their_jobs(place: Place, tmp_path: Path) -> None:
    """That is a folder of its own, and so an application of its own: the others may fail at first, and are tried again."""
    both = "- name: other\n      base: base/job.yaml\n      namespace: NAMESPACE\n    - name: mnist"
    revision = place.render(_BASES["TrainJob"], {"autosync: true": "autosync: true, applicationSet: true", "- name: mnist": both})
    place.engage()
    with applicationset_controller(kubeconfig(VARIABLE), tmp_path / "controller"):
        for part in ("shared", "mnist", "other"):
            name = f"{place.name}-{part}"
            place.argocd.waits_for(lambda name=name: name in place.applications(), lambda: f"only {place.applications()} are there")
            place.argocd.becomes(name, revision, "Healthy")
        assert len(place.uids("TrainJob")) == 2


def test_a_tree_that_is_applied_again_changes_nothing(place: Place) -> None:
    """By kubectl alone, and by the letter: not even a version or a time changes.

    The API server has two exceptions, both gone the third time. It stores a new claim without `status.phase` and shows the default,
    `Pending`, all the same; whatever writes the claim next has that stored, which gives it another version. And whoever applies a new
    namespace of which he says nothing but the name manages no field of it, which it notes the second time.
    """
    project = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  variants:\n"
    bases = {kind.lower(): _suspended(_BASES[kind]) for kind in _BASES}
    variants = "".join(f"    - {{name: {name}, base: base/{name}.yaml, namespace: {place.name}}}\n" for name in bases)
    files = {f"base/{name}.yaml": base.replace("NAMESPACE", place.name) for name, base in bases.items()}
    place.repository.commit({"jobspec.yaml": project + variants, **files})
    tree = place.argocd.kubectl("kustomize", place.repository.folder / "rendered")
    namespace = f"--namespace={place.name}"

    def apply_tree() -> bool:
        """Apply the tree. False if trainer's webhook refused the TrainJob because its cache does not hold the new runtime yet."""
        done = place.argocd.run_kubectl("apply", "--server-side", "--filename=-", stdin=tree)
        unseen = "must be created before the TrainJob" in done.stderr
        assert unseen or not done.returncode, done.stderr
        return not unseen

    def applied() -> Resources:
        place.argocd.waits_for(apply_tree, lambda: "trainer does not see the new runtime")
        place.argocd.kubectl("wait", "pytorchjobs,trainjobs,jobsets", "--all", namespace, "--for=condition=Suspended", "--timeout=60s")
        place.argocd.kubectl("wait", "jobs", "--all", namespace, "--for=condition=Suspended", "--timeout=60s")
        return _settled(there)

    def there() -> Resources:
        kinds = (*_JOBS, "TrainingRuntime", "PersistentVolumeClaim")
        return {("Namespace", place.name): place.argocd.get(f"/api/v1/namespaces/{place.name}"), **place.items(*kinds)}

    first, second, third = applied(), applied(), applied()
    assert sorted(kind for kind, _ in first) == [
        *("Job", "JobSet", "Namespace", "PersistentVolumeClaim", "PyTorchJob", "TrainJob", "TrainingRuntime"),
    ]
    assert second == third
    written = {name: _unversioned(first[name]) for name in (("PersistentVolumeClaim", "data"), ("Namespace", place.name))}
    assert {**second, **{name: _unversioned(second[name]) for name in written}} == {**first, **written}


def _settled(there: Callable[[], Resources]) -> Resources:
    """What is there once no operator changes it any more: the trainer marks a runtime as in use some time after its job has come."""
    until = time.monotonic() + 60
    before = there()
    while time.monotonic() < until:
        time.sleep(3)
        now = there()
        if now == before:
            return now
        before = now
    raise AssertionError("the objects do not come to rest")


def _unversioned(resource: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in resource["metadata"].items() if name not in ("resourceVersion", "managedFields")}
    return {**resource, "metadata": metadata}
