"""`jobspec dry-run` where the server is not as documents need it: what a server of our own gets, and what is done beside another's."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jobspec.apis.kinds import MODELS
from jobspec.apis.releases import choose
from jobspec.server import asking
from jobspec.server.api_server import ApiServer
from jobspec.server.client import YAML, Client
from jobspec.server.local import control_plane
from jobspec.server.preparation import install_kinds
from jobspec.server.questions import questions_about
from tests.support import manifests, quick_yaml
from tests.support.checking import read
from tests.support.cluster import Runner, assets
from tests.support.control_plane import kubeconfig

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: {spec: {containers: [{name: train, image: "example.com/train:v1"}]}}
"""


@pytest.fixture(scope="module")
def own() -> Iterator[Client]:
    """A server that has the kinds of all operators."""
    with control_plane(assets()) as client:
        install_kinds(ApiServer(client), MODELS, choose([]))
        yield client


@pytest.fixture
def user(own: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Runner:
    """A runner for the same server as somebody else's."""
    (tmp_path / "kubeconfig").write_text(kubeconfig(own))
    return Runner(tmp_path / "kubeconfig", monkeypatch, capsys)


RUNTIME = manifests.RUNTIME.replace("kind: ", "kind: Cluster").replace(
    "  template:", "  mlPolicy: {numNodes: 1, torch: {}}\n  template:", 1
)
TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec: {runtimeRef: {name: ours}}
"""
RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
#: Stands in for the trainer's webhook, which looks for the runtimes of jobs.
HOOK = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: trainer}
webhooks:
  - name: validator.trainjob.trainer.kubeflow.org
    clientConfig: {url: "https://127.0.0.1:9/"}
    failurePolicy: Ignore
    timeoutSeconds: 1
    rules: [{apiGroups: [trainer.kubeflow.org], apiVersions: ["*"], operations: ["*"], resources: [trainjobs]}]
    admissionReviewVersions: [v1]
    sideEffects: None
"""


def test_what_jobs_refer_to_is_there_while_they_are_asked_about(own: Client, tmp_path: Path) -> None:
    (tmp_path / "jobs.yaml").write_text(f"{RUNTIME}---\n{TRAINJOB}---\n{TRAINJOB.replace('ours', 'torch-distributed')}")
    target, server = choose([]), ApiServer(own)
    questions = questions_about(read(tmp_path / "jobs.yaml", target), target).questions
    assert own.call("POST", HOOKS, HOOK, kind=YAML).ok
    seen: list[list[int]] = []

    def look() -> None:
        seen.append([own.get(f"{RUNTIMES}/{name}").status for name in ("ours", "torch-distributed")])

    try:
        answers = asking.ask(questions, server, target, owned=True, done=look)
    finally:
        assert own.call("DELETE", f"{HOOKS}/trainer").ok
    assert [answer.accepts for answer in answers.values()] == [True, True, True]
    assert seen == [[404, 404], [200, 200], [200, 200]]  # the runtime itself is asked about as a new object
    look()
    assert seen[-1] == [404, 404]


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: notebook}
spec:
  priorityClassName: urgent
  runtimeClassName: gpu
  containers: [{name: notebook, image: "example.com/train:v1"}]
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: gpu}
handler: nvidia
"""
CLASSES = ("/apis/scheduling.k8s.io/v1/priorityclasses/urgent", "/apis/node.k8s.io/v1/runtimeclasses/gpu")


def test_what_pods_need_is_there_while_they_are_asked_about(own: Client, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    questions = questions_about(read(tmp_path / "pod.yaml", choose([])), choose([])).questions
    answers = asking.ask(questions, ApiServer(own), choose([]), owned=True, done=lambda: None)
    assert [answers[question].accepts for question in questions] == [True, True, True]
    assert [own.get(place).status for place in CLASSES] == [404, 404]


def _crd(kind: str, group: str, properties: dict[str, Any]) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


SIZE = {"size": {"type": "integer"}}
THING = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: %s}\nspec: {size: %s}\n"


def test_given_crds_are_stored_before_our_own_and_those_of_the_set(dry_run: Runner, tmp_path: Path) -> None:
    given, files = tmp_path / "crds", tmp_path / "files"
    given.mkdir()
    files.mkdir()
    (given / "thing.json").write_text(json.dumps(_crd("Thing", "example.com", SIZE)))
    (given / "job.json").write_text(json.dumps(_crd("PyTorchJob", "kubeflow.org", SIZE)))
    (files / "a.yaml").write_text(THING % ("a", 1) + "---\n" + THING % ("b", "large"))
    (files / "b.yaml").write_text("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: a}\nspec: {size: 1}\n")
    crd = quick_yaml.dump(_crd("TrainJob", "trainer.kubeflow.org", SIZE)).replace("name: v1\n", "name: v1alpha1\n")
    (files / "c.yaml").write_text(
        f"{crd}---\n" + "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: a}\nspec: {size: 1}\n"
    )
    done = dry_run(files, "--envtest", "--crd", given, "--no-admission")
    assert done.reported == [("a.yaml:9:14", "wrong-type", "spec.size")]
    assert done.statuses == ["valid", "invalid", "valid", "valid", "valid"]


def test_overlays_are_applied_beside_objects_of_a_given_kind(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "crd.json").write_text(json.dumps(_crd("Thing", "example.com", SIZE)))
    (tmp_path / "set.yaml").write_text(JOB.replace("name: train,", "name: pytorch,") + "---\n" + THING % ("a", 1))
    done = dry_run(tmp_path / "set.yaml", "--envtest", "--crd", tmp_path / "crd.json", "--overlay", "cpu")
    assert (done.reported, done.statuses) == ([], ["valid", "valid"])


def test_a_given_crd_is_not_stored_on_a_cluster_of_the_user(user: Runner, own: Client, tmp_path: Path) -> None:
    crd = tmp_path / "crd.json"
    crd.write_text(json.dumps(_crd("Stranger", "example.com", SIZE)))
    (tmp_path / "a.yaml").write_text((THING % ("a", 1)).replace("Thing", "Stranger"))
    done = user.ask(tmp_path / "a.yaml", "--crd", crd)
    assert done.reported == [("a.yaml:2:7", "missing-kind", "kind")]
    assert done.hints == [f"its CRD is in {crd}: apply that first: a dry-run stores nothing"]
    assert own.get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/strangers.example.com").status == 404


def test_a_broken_crd_is_reported_and_no_server_asked(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "crd.yaml").write_text(
        quick_yaml.dump(_crd("Thing", "example.com", SIZE)).replace("scope: Namespaced", "scope: namespaced")
    )
    (tmp_path / "a.yaml").write_text(THING % ("a", 1))
    done = dry_run(tmp_path / "a.yaml", "--crd", tmp_path / "crd.yaml", "--context", "nowhere")
    assert (done.code, [each[1] for each in done.reported], done.err) == (1, ["invalid-crd"], "")


def _hook(name: str, *, configuration: str = "ours", group: str = "kubeflow.org", resource: str = "pytorchjobs") -> str:
    """A webhook that looks at a kind, and whose silence harms nobody."""
    hook = quick_yaml.load(HOOK)
    hook["metadata"]["name"] = configuration
    hook["webhooks"][0]["name"] = name
    hook["webhooks"][0]["rules"][0].update(apiGroups=[group], resources=[resource])
    return json.dumps(hook)


@contextmanager
def _stored(client: Client, hook: str) -> Iterator[None]:
    """A webhook, if any, is stored meanwhile."""
    if hook:
        assert client.call("POST", HOOKS, hook).ok
    try:
        yield
    finally:
        if hook:
            assert client.call("DELETE", f"{HOOKS}/{json.loads(hook)['metadata']['name']}").ok


@pytest.mark.parametrize(
    "hook",
    [
        "",
        _hook("policy.example.com", group="*", resource="*"),
        _hook("vpytorchjob.kb.io", configuration="kueue-validating-webhook-configuration"),
        _hook("validator.tfjob.training-operator.kubeflow.org", resource="tfjobs"),
    ],
    ids=["no webhook", "a policy for everything", "kueue's", "for another kind"],
)
def test_rules_of_webhooks_that_are_not_there_run_offline(hook: str, user: Runner, own: Client, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    with _stored(own, hook):
        done = user.ask(tmp_path / "job.yaml")
    assert done.reported == [("job.yaml:8:25", "training-container", "spec.pytorchReplicaSpecs[Master].template.spec.containers")]
    has_none = "context `tests` has no webhook of training-operator for PyTorchJobs"
    assert done.remarks == [f"{has_none}; the rules of training-operator 1.9.4 were applied beside the server"]


def test_rules_of_webhooks_that_are_there_or_not_wanted_do_not_run_offline(user: Runner, own: Client, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    with _stored(own, _hook("validator.pytorchjob.training-operator.kubeflow.org")):
        done = user.ask(tmp_path / "job.yaml")
    assert (done.code, done.reported, done.remarks) == (0, [], [])
    done = user.ask(tmp_path / "job.yaml", "--no-admission")
    assert (done.code, done.reported, done.remarks) == (0, [], [])


def test_the_webhook_of_kueue_for_jobsets_is_not_the_one_of_jobset(user: Runner, own: Client, tmp_path: Path) -> None:
    replicated = "[{name: a b, template: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}}]"
    (tmp_path / "set.yaml").write_text(
        f"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {{name: a}}\nspec: {{replicatedJobs: {replicated}}}\n"
    )
    rule = {"group": "jobset.x-k8s.io", "resource": "jobsets"}
    with _stored(own, _hook("vjobset.kb.io", configuration="kueue-validating-webhook-configuration", **rule)):
        assert len(user.ask(tmp_path / "set.yaml").remarks) == 1
    with _stored(own, _hook("vjobset.kb.io", configuration="jobset-validating-webhook-configuration", **rule)):
        assert user.ask(tmp_path / "set.yaml").remarks == []


def test_a_missing_right_to_list_webhooks_is_reported(user: Runner, own: Client, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    rules = [{"apiGroups": ["kubeflow.org"], "resources": ["pytorchjobs"], "verbs": ["get", "create", "patch"]}]
    rbac, who = "rbac.authorization.k8s.io", "system:serviceaccount:default:trainer"
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "trainer"}, "rules": rules}
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "trainer"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "trainer"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": who}],
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "trainer"}}
    for place, body in (
        ("/api/v1/namespaces/default/serviceaccounts", account),
        (f"/apis/{rbac}/v1/clusterroles", role),
        (f"/apis/{rbac}/v1/clusterrolebindings", binding),
    ):
        assert own.call("POST", place, json.dumps(body)).ok
    request = '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}'
    token = own.call("POST", "/api/v1/namespaces/default/serviceaccounts/trainer/token", request).body["status"]["token"]
    config = quick_yaml.load(user.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    user.kubeconfig.write_text(quick_yaml.dump(config))
    done = user.ask(tmp_path / "job.yaml")
    assert [each[1] for each in done.reported] == ["training-container"]
    may_not = "not allowed to list the webhooks of context `tests` (403)"
    assert done.remarks == [f"{may_not}; the rules of training-operator 1.9.4 were applied beside the server"]


def test_what_the_server_takes_and_the_target_does_not_is_no_error(user: Runner, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(TRAINJOB.replace("spec: {", "spec: {runtimePatches: [{manager: example.com/a}], "))
    done = user.ask(tmp_path / "job.yaml", "--target", "trainer=2.0.0")
    assert (done.code, done.statuses) == (0, ["valid"])
    assert done.reported == [("job.yaml:4:8", "offline-webhooks", "spec.runtimePatches")]
    assert done.hints == ["name the release that the server has: --target trainer=RELEASE"]
