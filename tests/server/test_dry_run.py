"""`jobspec dry-run` on a cluster that the user names: a real API server's replies at the lines that caused them."""

import json
import os
import re
import shutil
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import manifests, quick_yaml
from tests.support import server as servers
from tests.support.cluster import Run, Runner, stored, untouched, webhook
from tests.support.manifests import placed
from tests.support.reference import ROOT
from tests.support.server import Server

#: Others, and other processes of one run, may ask the same server the same things.
NAMESPACE = f"dry-run-{os.getpid()}"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
JOBS = f"/apis/kubeflow.org/v1/namespaces/{NAMESPACE}/pytorchjobs"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

JOB = placed(manifests.JOB, NAMESPACE)
MAP = placed(manifests.CONFIG, NAMESPACE) + "data:\n  a: b\n"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("PyTorchJob")


@pytest.fixture(scope="module", autouse=True)
def nothing_is_stored(server: Server) -> Iterator[None]:
    """On a cluster that the user names, all dry-runs of this module together leave nothing."""
    with untouched(server, NAMESPACE):
        yield


@pytest.fixture
def live(server: Server) -> Iterator[None]:
    """A job and a settled map, as somebody named `else` left them, and as no dry-run changes them."""
    for place, text, manager in (
        (f"{JOBS}/live", JOB.replace("name: train", "name: live"), "else"),
        (f"{MAPS}/settled", MAP.replace("name: settings", "name: settled") + "immutable: true\n", "else"),
    ):
        assert server.apply(f"{place}?fieldManager={manager}", text).accepted
    places = (f"{JOBS}/live", f"{MAPS}/settled")
    before = [server.get(place) for place in places]
    try:
        yield
        assert [server.get(place) for place in places] == before
    finally:
        for place in places:
            server.call("DELETE", place)


@pytest.fixture
def dry_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(servers.kubeconfig(), monkeypatch, capsys)


def test_what_a_dry_run_would_store_is_noticed(server: Server) -> None:
    before = stored(server, NAMESPACE)
    mine, marked = f"{MAPS}/settings?fieldManager=else", f"/api/v1/namespaces/default/configmaps/{NAMESPACE}?fieldManager=jobspec"
    for place, text in ((mine, MAP), (marked, MAP.replace(f"namespace: {NAMESPACE}", "namespace: default").replace("settings", NAMESPACE))):
        assert server.apply(place, text).accepted
        noticed = stored(server, NAMESPACE).keys() - before.keys()
        assert server.call("DELETE", place.partition("?")[0]).accepted
        assert len(noticed) == 1
    assert stored(server, NAMESPACE).keys() <= before.keys()  # of which the server may still have been deleting some


def test_good_and_bad_documents_of_a_file(dry_run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "jobs.yaml"
    bad = JOB.replace("replicas: 1", "replicaz: 1").replace("name: train", "name: other\n  labels: {a: b, a: c}")
    values = JOB.replace("name: train", "name: third").replace("replicas: 1", 'replicas: "1"').replace("image: ", "tty: 3 # ")
    file.write_text(
        f"# all of ours\n---\n{JOB}---\n{bad}---\n{values}...\n---\n{MAP.replace('a: b', 'a: 5')}---\n# nothing\n---\nkind: [\n"
    )
    done = dry_run.ask(file)
    assert done.code == 1
    assert done.statuses == ["valid", "invalid", "invalid", "invalid", "invalid"]
    assert done.reported == [
        ("jobs.yaml:22:18", "duplicate-key", ""),
        ("jobs.yaml:27:7", "unknown-field", "spec.pytorchReplicaSpecs.Master.replicaz"),
        ("jobs.yaml:42:17", "wrong-type", "spec.pytorchReplicaSpecs.Master.replicas"),
        ("jobs.yaml:47:18", "wrong-type", "spec.pytorchReplicaSpecs.Master.template.spec.containers[0].tty"),
        ("jobs.yaml:56:6", "wrong-type", "data"),
        ("jobs.yaml:61:1", "yaml-syntax", ""),
    ]


def test_names_warnings_and_missing_values(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(MAP.replace("name: settings", "name: Settings_"))
    (tmp_path / "b.yaml").write_text(MAP.replace("name: settings", "generateName: settings-"))
    (tmp_path / "c.yaml").write_text(MAP.replace("name: settings", "labels: {a: b c}"))
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a.b, namespace: {NAMESPACE}}}\nspec:\n  containers: [{{name: a, image: a}}]\n"
    (tmp_path / "d.yaml").write_text(pod)
    done = dry_run.ask(tmp_path)
    assert done.reported == [
        ("a.yaml:4:9", "invalid-name", "metadata.name"),
        ("c.yaml:3:1", "missing-name", "metadata.name"),
        ("c.yaml:4:15", "wrong-format", "metadata.labels"),
        ("d.yaml:3:18", "server-warning", "metadata.name"),
    ]
    assert done.statuses == ["invalid", "valid", "invalid", "valid"]


def test_items_of_a_list_and_what_is_no_object(dry_run: Runner, tmp_path: Path) -> None:
    items = [quick_yaml.load(MAP), quick_yaml.load(JOB.replace("replicas", "replicaz"))]
    (tmp_path / "list.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1))
    (tmp_path / "other.yaml").write_text("on: [push]\n---\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n")
    (tmp_path / "theirs.json").write_text('{"a": 1, // no JSON\n}')
    done = dry_run.ask(tmp_path)
    assert done.reported == [("list.json:26:7", "unknown-field", "spec.pytorchReplicaSpecs.Master.replicaz")]
    assert done.statuses == ["valid", "invalid", "skipped", "skipped", "skipped"]
    assert dry_run.ask(tmp_path / "other.yaml").reported == [("other.yaml:1:1", "not-a-manifest", "")]


def test_a_document_with_merge_keys_is_sent_as_kubectl_sends_it(dry_run: Runner, tmp_path: Path) -> None:
    job = JOB + "    Worker:\n      <<: *master\n      replicas: 2\n"
    good = job.replace("Master:", "Master: &master")
    wrong = good.replace("replicas: 2", "replicas: two")
    behind = JOB.replace("Master:", "Master: &master") + "    Worker:\n      replicas: 2\n      <<: *master\n"
    (tmp_path / "jobs.yaml").write_text("---\n".join((good, wrong, behind)))
    done = dry_run.ask(tmp_path)
    assert done.reported == [
        ("jobs.yaml:35:17", "wrong-type", "spec.pytorchReplicaSpecs.Worker.replicas"),
        ("jobs.yaml:53:7", "ambiguous-merge", ""),
    ]
    assert done.statuses == ["valid", "invalid", "invalid"]


@pytest.mark.usefixtures("live")
def test_an_update_reports_immutable_fields_and_other_managers(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("name: train", "name: live").replace("train:v1", "train:v2"))
    (tmp_path / "map.yaml").write_text(MAP.replace("name: settings", "name: settled").replace("a: b", "a: c"))
    done = dry_run.ask(tmp_path)
    image = 'spec.pytorchReplicaSpecs.Master.template.spec.containers[name="pytorch"].image'
    assert done.reported == [
        ("job.yaml:14:20", "field-conflict", image),
        ("map.yaml:6:1", "immutable-field", "data"),
        ("map.yaml:7:6", "field-conflict", "data.a"),
    ]
    conflict = "`else` manages this field of the live object and set another value"
    assert done.messages == [conflict, "Forbidden: field is immutable when `immutable` is set", conflict]


def test_a_field_in_conflict_with_several_managers_is_reported_once(dry_run: Runner, server: Server, tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(MAP.replace("a: b", "a: c"))
    place = f"{MAPS}/settings"
    try:
        for manager in ("else", "another"):
            assert server.apply(f"{place}?fieldManager={manager}", MAP).accepted
        done = dry_run.ask(tmp_path)
    finally:
        server.call("DELETE", place)
    assert done.messages == ["`another` and `else` manage this field of the live object and set another value"]
    assert done.hints == ["leave the field to `another` and `else`, or take it over: kubectl apply --server-side --force-conflicts"]


@pytest.mark.usefixtures("live")
def test_an_update_is_decoded_as_strictly_as_a_new_object(dry_run: Runner, tmp_path: Path) -> None:
    mine = JOB.replace("name: train", "name: live")
    (tmp_path / "a.yaml").write_text(mine.replace("replicas", "replicaz"))
    (tmp_path / "b.yaml").write_text(mine.replace("replicas: 1", "replicas: x"))
    (tmp_path / "c.yaml").write_text(mine.replace("replicas: 1", "replicas: 1\n      replicas: 1"))
    (tmp_path / "d.yaml").write_text(mine.replace("name: live", 'name: live\n  resourceVersion: "1"'))
    (tmp_path / "e.yaml").write_text("$patch: delete\n" + MAP.replace("name: settings", "name: settled"))
    (tmp_path / "f.yaml").write_text(mine)
    done = dry_run.ask(*sorted(tmp_path.iterdir()))  # a file with `$patch` that nobody names is a patch of kustomize
    assert done.reported == [
        ("a.yaml:9:7", "unknown-field", "spec.pytorchReplicaSpecs.Master.replicaz"),
        ("b.yaml:9:17", "wrong-type", "spec.pytorchReplicaSpecs.Master.replicas"),
        ("c.yaml:10:7", "duplicate-key", ""),
        ("d.yaml:5:20", "refused-by-server", "metadata.resourceVersion"),
        ("e.yaml:1:1", "unknown-field", "$patch"),
    ]
    assert done.statuses[-1] == "valid"


@pytest.mark.usefixtures("live")
def test_diff_reports_what_an_apply_would_change_and_no_defaults(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB.replace("name: train", "name: live\n  labels: {team: vision}"))
    (tmp_path / "map.yaml").write_text(MAP)
    (tmp_path / "same.yaml").write_text(MAP.replace("name: settings", "name: settled") + "immutable: true\n")
    done = dry_run.ask(tmp_path, "--diff", output="text")
    assert done.code == 0
    changed, report = done.out.split(f"--- /dev/null\n+++ {tmp_path}/map.yaml ConfigMap/{NAMESPACE}/settings\n")
    assert changed.splitlines()[:2] == [
        f"--- live PyTorchJob/{NAMESPACE}/live",
        f"+++ {tmp_path}/job.yaml PyTorchJob/{NAMESPACE}/live",
    ]
    assert [line for line in changed.splitlines()[2:] if line[0] in "+-"] == ["+  labels:", "+    team: vision"]
    assert re.match(r"@@ -0,0 \+1,7 @@\n(\+.*\n){7}(?!\+)", report)
    assert "settled" not in done.out


def test_diff_keeps_the_values_of_a_secret_to_itself(dry_run: Runner, server: Server, tmp_path: Path) -> None:
    secret = MAP.replace("ConfigMap", "Secret").replace("  a: b", "  a: bWluZQ==\n  b: c2FtZQ==")
    place = f"/api/v1/namespaces/{NAMESPACE}/secrets/settings"
    (tmp_path / "secret.yaml").write_text(secret)
    new = dry_run.ask(tmp_path, "--diff", output="text").out
    applied = f"  annotations: {{kubectl.kubernetes.io/last-applied-configuration: bXlvbGQ=}}\n  namespace: {NAMESPACE}"
    live = secret.replace("bWluZQ==", "bXlvbGQ=").replace(f"  namespace: {NAMESPACE}", applied)
    assert server.apply(f"{place}?fieldManager=jobspec", live).accepted
    try:
        changed = dry_run.ask(tmp_path, "--diff", output="text").out
    finally:
        assert server.call("DELETE", place).accepted
    assert [line for line in new.splitlines() if "***" in line] == ['+  a: "***"', '+  b: "***"']
    assert [line for line in changed.splitlines() if "***" in line] == ['-  a: "*** (before)"', '+  a: "*** (after)"', '   b: "***"']
    assert [text for text in ("bWluZQ", "bXlvbGQ", "c2FtZQ") if text in new + changed] == []


def test_what_is_missing_on_the_server_comes_with_the_remedy(dry_run: Runner, tmp_path: Path) -> None:
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.dry-run.example.com"},
        "spec": {
            "group": "dry-run.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    }
    (tmp_path / "a.yaml").write_text(quick_yaml.dump(crd) + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: dry-run-absent}\n")
    (tmp_path / "b.yaml").write_text("apiVersion: dry-run.example.com/v1\nkind: Thing\nmetadata: {name: a}\n")
    (tmp_path / "c.yaml").write_text(MAP.replace(NAMESPACE, "dry-run-absent"))
    (tmp_path / "d.yaml").write_text(MAP.replace(NAMESPACE, "dry-run-nowhere"))
    (tmp_path / "e.yaml").write_text(JOB.replace("kubeflow.org/v1", "kubeflow.org/v1beta1"))
    (tmp_path / "f.yaml").write_text("apiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: a}\n")
    done = dry_run.ask(tmp_path)
    assert done.code == 1
    assert list(zip(done.reported, done.hints, strict=True)) == [
        (("b.yaml:2:7", "missing-kind", "kind"), f"its CRD is in {tmp_path}/a.yaml: apply that first: a dry-run stores nothing"),
        (
            ("c.yaml:5:14", "missing-namespace", "metadata.namespace"),
            f"it is in {tmp_path}/a.yaml: apply that first: a dry-run stores nothing",
        ),
        (("d.yaml:5:14", "missing-namespace", "metadata.namespace"), "create it first: kubectl create namespace dry-run-nowhere"),
        (("e.yaml:1:13", "missing-kind", "apiVersion"), "write `apiVersion: kubeflow.org/v1` and `kind: PyTorchJob`"),
        (("f.yaml:2:7", "missing-kind", "kind"), "install the CRD that defines it, or skip the document: --skip-unknown"),
    ]
    passed = dry_run.ask(tmp_path / "f.yaml", "--skip-unknown")
    assert (passed.code, passed.statuses, passed.reported) == (0, ["skipped"], [])


def test_a_value_of_an_overlay_is_reported_in_the_overlay(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    overlay = tmp_path / "wide.yaml"
    overlay.write_text(
        "apiVersion: jobspec.dev/v1alpha1\nkind: Overlay\nmetadata: {name: wide}\nspec:\n  description: wide\n"
        "  pods:\n    - template:\n        spec:\n          containers:\n            - name: ${training}\n"
        "              ports: [{containerPort: 1, name: a}]\n              terminationMessagePolicy: Never\n  job:\n"
        '    PyTorchJob:\n      metadata: {labels: {team: "not one word"}}\n'
    )
    done = dry_run.ask(tmp_path / "job.yaml", "--overlay", overlay)
    layers = [each["layer"] for file in done.report["files"] for each in file["diagnostics"] if each["severity"] == "error"]
    assert done.reported == [("wide.yaml:15:33", "wrong-format", "metadata.labels")]
    assert layers == ["wide"]
    bad = tmp_path / "bad.yaml"
    bad.write_text(JOB.replace("replicas", "replicaz"))
    assert dry_run.ask(bad, "--overlay", overlay).reported == [
        ("bad.yaml:9:7", "unknown-field", "spec.pytorchReplicaSpecs[Master].replicaz")
    ]


def _mark(label: str) -> str:
    """A label for objects of this process alone."""
    return f"{label}-{os.getpid()}"


def _hook(client: dict[str, str], *, label: str, group: str, resource: str) -> str:
    """A webhook for objects with a label."""
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [resource]}
    hook: dict[str, Any] = {
        "name": f"{label}.dry-run.example.com",
        "clientConfig": client,
        "rules": [rule],
        "objectSelector": {"matchLabels": {"dry-run": _mark(label)}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    name = {"name": f"{NAMESPACE}-{label}"}
    return json.dumps(
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": name, "webhooks": [hook]}
    )


def _until_called(dry_run: Runner, file: Path, rule: str) -> Run:
    """The first run in which the server has noticed a new webhook."""
    for _ in range(50):
        done = dry_run.ask(file)
        if done.code == 2 or any(reports[1] == rule for reports in done.reported):
            return done
    raise AssertionError(done)


def test_a_folder_is_asked_about_as_it_is_applied(dry_run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variants of a project in place of its base and of what they were rendered to, and any value for what SOPS has encrypted."""
    platform = ROOT / "tests" / "cases" / "repositories" / "platform"
    shutil.copytree(platform / "teams" / "climate", tmp_path, dirs_exist_ok=True)
    shutil.copy(platform / "tenants" / "registry.yaml", tmp_path)
    for name in ("jobspec.yaml", "registry.yaml"):
        file = tmp_path / name
        file.write_text(re.sub(r"namespace: [\w-]+", f"namespace: {NAMESPACE}", file.read_text()))
    monkeypatch.chdir(tmp_path)
    assert dry_run(command="render", output="text").code == 0
    done = dry_run.ask(".")
    assert done.reported == []
    assert Counter((row["kind"], row.get("reason", row["status"])) for file in done.report["files"] for row in file["documents"]) == {
        ("Project", "skipped"): 1,
        ("Overlay", "skipped"): 1,
        ("PyTorchJob", "project base"): 1,
        ("", "rendered file"): 9,
        ("PyTorchJob", "valid"): 4,
        ("Secret", "without values that are encrypted by SOPS"): 1,
    }


def test_webhooks_that_refuse_warn_and_do_not_answer(dry_run: Runner, server: Server, tmp_path: Path) -> None:
    refused, down = (tmp_path / f"{name}.yaml" for name in ("refused", "down"))
    refused.write_text(MAP.replace("name: settings", "name: settings\n  labels: {dry-run: " + _mark("refuse") + "}"))
    down.write_text(
        MAP.replace("name: settings", "name: settings\n  labels: {dry-run: " + _mark("down") + "}") + "---\n" + MAP.replace("a: b", "a: 5")
    )
    denial = '[data[a]: Invalid value: "b": must be c, or d, metadata.labels.dry-run: Required value: whatever]'
    reply = {"allowed": False, "status": {"code": 403, "message": denial}, "warnings": ["data.a is deprecated"]}
    with webhook(tmp_path, reply) as client:
        try:
            assert server.call("POST", HOOKS, _hook(client, label="refuse", group="", resource="configmaps")).accepted
            done = _until_called(dry_run, refused, "refused-by-webhook")
        finally:
            server.call("DELETE", f"{HOOKS}/{NAMESPACE}-refuse")
    assert done.reported == [
        ("refused.yaml:5:21", "refused-by-webhook", "metadata.labels.dry-run"),
        ("refused.yaml:8:6", "server-warning", "data.a"),
        ("refused.yaml:8:6", "refused-by-webhook", "data[a]"),
    ]
    assert done.messages[-1] == 'Invalid value: "b": must be c, or d (webhook refuse.dry-run.example.com)'
    try:
        nowhere = {"url": "https://127.0.0.1:9/"}
        assert server.call("POST", HOOKS, _hook(nowhere, label="down", group="", resource="configmaps")).accepted
        done = _until_called(dry_run, down, "")
    finally:
        server.call("DELETE", f"{HOOKS}/{NAMESPACE}-down")
    assert done.code == 2
    assert done.statuses == ["skipped", "invalid"]
    assert "down.yaml:1:1: no verdict: the webhook `down.dry-run.example.com` does not answer: " in done.err


RUNTIME = placed(manifests.RUNTIME.replace("name: ours", "name: live"), NAMESPACE)
TRAINJOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: NAMESPACE}
spec: {runtimeRef: {kind: TrainingRuntime, name: live}}
""".replace("NAMESPACE", NAMESPACE)


def test_a_runtime_of_the_server_is_one_that_a_job_can_refer_to(dry_run: Runner, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(TRAINJOB)
    place = f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{NAMESPACE}/trainingruntimes"
    absent = dry_run.ask(file)
    assert server.call("POST", place, RUNTIME).accepted
    try:
        there = dry_run.ask(file)
    finally:
        server.call("DELETE", f"{place}/live")
    assert [absent.reported, there.reported] == [[("job.yaml:4:50", "unresolved-reference", "spec.runtimeRef")], []]
    assert len(there.remarks) == 1


def _changed(kubeconfig: Path, folder: Path, *, user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None) -> Path:
    config = quick_yaml.load(kubeconfig.read_text())
    config["users"][0]["user"] = config["users"][0]["user"] if user is None else user
    config["clusters"][0]["cluster"] = {**config["clusters"][0]["cluster"], **(cluster or {})}
    changed = folder / "kubeconfig"
    changed.write_text(quick_yaml.dump(config))
    return changed


def test_credentials_and_certificates_that_are_not_accepted(dry_run: Runner, tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(MAP)
    mine = dry_run.kubeconfig
    dry_run.kubeconfig = _changed(mine, tmp_path, user={"token": "stale"})
    done = dry_run.ask(file)
    assert done.code == 2
    assert "does not accept the credentials (401)" in done.err
    with webhook(tmp_path, {}):
        strange = str(tmp_path / "webhook.crt")
    trust = {"insecure-skip-tls-verify": False, "certificate-authority": strange}
    dry_run.kubeconfig = _changed(mine, tmp_path, cluster=trust)
    done = dry_run.ask(file)
    assert done.code == 2
    assert "is not one that the kubeconfig trusts (" in done.err
    dry_run.kubeconfig = _changed(mine, tmp_path, cluster={"server": "https://127.0.0.1:9"})
    done = dry_run.ask(file)
    assert done.code == 2
    assert "cannot reach the server at https://127.0.0.1:9: Connection refused" in done.err
    assert [done.out, *re.findall("Traceback", done.err)] == [""]


@pytest.mark.parametrize(
    ("text", "reports"),
    [
        ("a: [", "the kubeconfig cannot be read: while parsing a flow node"),
        ("contexts: 5", "the kubeconfig cannot be read: "),
        ("{}", "Invalid kube-config file. Expected key current-context"),
    ],
)
def test_what_is_no_kubeconfig(text: str, reports: str, dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(MAP)
    dry_run.kubeconfig = tmp_path / "kubeconfig"
    dry_run.kubeconfig.write_text(text)
    done = dry_run(tmp_path / "map.yaml", "--context", "a")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"jobspec: --context a: {reports}")


def test_what_is_no_api_server_and_takes_the_user_for_nobody(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(MAP)
    mine = dry_run.kubeconfig
    url = str(quick_yaml.load(mine.read_text())["clusters"][0]["cluster"]["server"])
    plain = url.replace("https://", "http://")
    for cluster, reports in (
        ({"server": f"{url}/elsewhere"}, f"what answers at {url}/elsewhere is not a Kubernetes API server: 404 page not found"),
        ({"server": plain}, f"what answers at {plain} is not a Kubernetes API server: Client sent an HTTP request to an HTTPS server."),
        ({"server": url[8:]}, f"the `server` of the kubeconfig is `{url[8:]}`; write https:// before it"),
    ):
        dry_run.kubeconfig = _changed(mine, tmp_path, cluster=cluster)
        done = dry_run.ask(tmp_path / "map.yaml")
        assert (done.code, done.out, done.err) == (2, "", f"jobspec: context `{dry_run.context}`: {reports}\n")
    dry_run.kubeconfig = _changed(mine, tmp_path, user={})
    done = dry_run.ask(tmp_path / "map.yaml")
    assert (done.code, done.out) == (2, "")
    assert f"the server at {url} treats you as anonymous (403): the user of the context has no credentials" in done.err


def test_connections_that_are_closed_before_they_are_secure(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(MAP)
    closed = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def close() -> None:
            while connection := _accepted(listener):
                connection.recv(65536)
                connection.close()
                closed.append(connection)

        thread = threading.Thread(target=close)
        thread.start()
        port = listener.getsockname()[1]
        dry_run.kubeconfig = _changed(dry_run.kubeconfig, tmp_path, cluster={"server": f"https://127.0.0.1:{port}"})
        done = dry_run.ask(tmp_path / "map.yaml")
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert (done.code, done.out, len(closed)) == (2, "", 4)
    assert f"the server at https://127.0.0.1:{port} closed the connection, several times: " in done.err


def _accepted(listener: socket.socket) -> socket.socket | None:
    try:
        return listener.accept()[0]
    except OSError:  # it listens no more
        return None


def test_the_missing_rights_of_a_user_are_reported(dry_run: Runner, server: Server, tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(MAP)
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
    body = '{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader"}}'
    assert server.call("POST", account, body).accepted
    try:
        token = server.post(f"{account}/reader/token", '{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}')
        dry_run.kubeconfig = _changed(dry_run.kubeconfig, tmp_path, user={"token": token["status"]["token"]})
        done = dry_run.ask(file)
    finally:
        server.call("DELETE", f"{account}/reader")
    who = f"system:serviceaccount:{NAMESPACE}:reader"
    assert (done.code, done.statuses) == (2, ["skipped"])
    assert f"`{who}` is not allowed to get configmaps in the namespace `{NAMESPACE}` (403)" in done.err


def test_a_context_that_is_not_there(dry_run: Runner, tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(MAP)
    done = dry_run(tmp_path, "--context", "nowhere")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"jobspec: --context nowhere: the kubeconfig has no such context; it has {dry_run.context}\n"
    dry_run.kubeconfig = tmp_path / "none"
    assert dry_run(tmp_path, "--context", "nowhere").code == 2
    both = dry_run(tmp_path, "--context", "nowhere", "--recreate")
    assert (both.code, both.err) == (2, "jobspec: --recreate is for the kind cluster, and cannot be combined with --context or --envtest\n")


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(dry_run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", os.devnull)
    (tmp_path / "map.yaml").write_text(MAP)
    assert dry_run.ask(tmp_path).code == 0
