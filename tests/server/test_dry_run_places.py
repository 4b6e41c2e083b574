"""`jobspec dry-run` on servers of its own: etcd and kube-apiserver for one run, and the kind cluster."""

import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from jobspec.diagnostics.errors import JobspecError
from jobspec.server import client
from jobspec.server.client import Client, of_config
from jobspec.server.local import control_plane
from tests.support import quick_yaml
from tests.support import server as servers
from tests.support.cluster import (
    Run,
    Runner,
    answering,
    assets,
    config_of,
    environment,
    refused,
    reply,
    servers_in,
)
from tests.support.processes import program, python, run
from tests.support.reference import ROOT, folder

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train, namespace: vision}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template: {spec: {containers: [{name: pytorch, image: "example.com/train:v1"}]}}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
SET = """\
apiVersion: v1
kind: Namespace
metadata: {name: vision}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer}}}}
---
apiVersion: example.com/v1
kind: Thing
metadata: {name: a, namespace: vision}
size: large
"""


@pytest.fixture
def dry_run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Runner:
    """A runner with a kubeconfig that nobody has to read."""
    return Runner(tmp_path / "kubeconfig", monkeypatch, capsys)


def _run(*arguments: str | Path, env: dict[str, str]) -> Run:
    done = run("dry-run", *arguments, env=env)
    return Run(done.returncode, done.stdout, done.stderr)


def test_envtest_gives_a_verdict_and_leaves_nothing_behind(tmp_path: Path) -> None:
    surroundings = environment(tmp_path, KUBEBUILDER_ASSETS=assets(), HTTPS_PROXY="http://127.0.0.1:9")
    (tmp_path / "job.yaml").write_text(JOB + "---\n" + JOB.replace("replicas", "replicaz"))
    (tmp_path / "set.yaml").write_text(SET)
    done = _run(tmp_path / "job.yaml", tmp_path / "set.yaml", "--envtest", "-o", "json", env=surroundings)
    assert done.reported == [
        ("job.yaml:16:7", "unknown-field", "spec.pytorchReplicaSpecs.Master.replicaz"),
        ("set.yaml:21:7", "wrong-type", "size"),
    ]
    assert (done.code, done.statuses) == (1, ["valid", "invalid", "valid", "valid", "invalid"])
    assert "jobspec: asking the envtest server at https://127.0.0.1:" in done.err
    assert list((tmp_path / "scratch").iterdir()) == []
    assert servers_in(tmp_path / "scratch") == []


def test_envtest_without_its_programs(dry_run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    (tmp_path / "map.yaml").write_text(MAP)

    def asked(place: Path | str) -> tuple[int, str]:
        monkeypatch.setenv("KUBEBUILDER_ASSETS", str(place))
        done = dry_run(tmp_path / "map.yaml", "--envtest")
        return done.code, done.err

    def write(name: str, script: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    way = "; `setup-envtest use -p path` prints such a folder\n"
    assert asked("") == (2, f"jobspec: --envtest: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver{way}")
    write("etcd", "exec sleep 60")
    missing = f"jobspec: --envtest: {tmp_path}, which KUBEBUILDER_ASSETS names, has no program kube-apiserver{way}"
    assert asked(tmp_path) == (2, missing)
    write("kube-apiserver", "echo cannot, for a test >&2; exit 1")
    assert asked(tmp_path) == (2, f"jobspec: kube-apiserver of {tmp_path} ends at once: cannot, for a test\n")
    write("etcd", "echo no room >&2; exit 1")
    write("kube-apiserver", "exec sleep 60")
    assert asked(tmp_path) == (2, f"jobspec: etcd of {tmp_path} ends at once: no room\n")
    (tmp_path / "etcd").write_text("a program for another machine")
    assert asked(tmp_path) == (2, f"jobspec: cannot start {tmp_path}/etcd: Exec format error\n")
    assert list(scratch.iterdir()) == []
    assert servers_in(scratch) == []


@pytest.fixture(scope="module")
def own() -> Iterator[Client]:
    with control_plane(assets()) as client:
        yield client


@pytest.mark.slow
def test_a_bare_server_says_to_public_manifests_what_validate_says(dry_run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", assets())
    arguments = (folder("corpus"), "--skip-unknown", "--no-admission")
    asked, judged = dry_run(*arguments, "--envtest"), dry_run.validate(*arguments, "--no-outcome")
    assert len(asked.statuses) > 350
    unserved = {
        f"{Path(file['path']).name}[{each['index']}]"
        for file in asked.report["files"]
        for each in file["documents"]
        if each["status"] == "skipped"
    }
    assert (refused(asked.report) ^ refused(judged.report)) - unserved == set()


def _listens(url: str) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) == 0


def test_a_slow_server_is_not_waited_for_for_ever(own: Client) -> None:
    pid = next(int(each.name) for each in Path("/proc").glob("[0-9]*") if f"--secure-port={own.url.rsplit(':')[-1]}" in _command(each))
    impatient = Client(own.api, own.name, seconds=1)  # which has the same connections
    os.kill(pid, signal.SIGSTOP)
    try:
        while "State:\tT" not in Path(f"/proc/{pid}/status").read_text():
            time.sleep(0.01)
        with pytest.raises(JobspecError, match=r"took the request and did not answer in time"):
            impatient.get("/version")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert own.get("/version").ok
    os.kill(pid, signal.SIGKILL)
    while _listens(own.url):  # Python leaves a socket open whose connection is reset before TLS begins
        time.sleep(0.01)
    with pytest.raises(JobspecError, match=r"cannot reach the server at https://127.0.0.1:\d+: Connection refused; is it running\?"):
        client.in_threads(range(20), lambda _: own.get("/version"), done=lambda: None)


def test_a_busy_server_and_a_lost_connection_are_tried_again() -> None:
    asked = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        if len(asked) == 1:
            return  # and the connection is closed
        reply(request, b'{"gitVersion": "v1"}', status=429 if len(asked) == 2 else 200, Retry_After="0")

    with answering(answer) as port, closing(of_config(config_of(port), "a server")) as client:
        found = client.get("/version")
    assert (found.status, found.body, asked) == (200, {"gitVersion": "v1"}, ["/version"] * 3)


def _command(process: Path) -> str:
    try:
        return (process / "cmdline").read_text()
    except OSError:
        return ""


def _home(place: Path) -> Path:
    config = place / "home" / ".kube" / "config"
    config.parent.mkdir(parents=True)
    config.write_text("# mine\napiVersion: v1\nkind: Config\ncurrent-context: work\n")
    return config


def test_the_real_kind_program(tmp_path: Path) -> None:
    """Where Docker runs, a cluster is made, asked and deleted; where not, that is said. The user's kubeconfig stays as it is."""
    if not shutil.which("kind"):
        pytest.skip("kind is not installed (see CONTRIBUTING.md)")
    config = _home(tmp_path)
    before = config.read_bytes(), config.stat().st_mtime_ns
    (tmp_path / "job.yaml").write_text(JOB)
    has_docker = bool(shutil.which("docker")) and program("docker", "info").returncode == 0
    done = _run(tmp_path / "job.yaml", "--delete", env=environment(tmp_path))
    if has_docker:
        assert (done.code, done.out.splitlines()[-1][:20]) == (0, "1 document: 1 valid (")
    else:
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("jobspec: `kind get clusters` failed: ")
        assert "pass --envtest, which needs neither kind nor Docker" in done.err
    assert (config.read_bytes(), config.stat().st_mtime_ns) == before
    assert [each.name for each in config.parent.iterdir()] == ["config"]


def test_without_the_kind_program(dry_run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(MAP)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = dry_run(tmp_path / "map.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("jobspec: kind is not installed: install kind (https://kind.sigs.k8s.io")
    assert "pass --envtest, which needs neither kind nor Docker" in done.err


@pytest.mark.parametrize(
    ("complaint", "reports"),
    [
        (
            "ERROR: failed to list clusters: Cannot connect to the Docker daemon at unix:///a. Is it running?",
            "Is it running? Start Docker, or pass",
        ),
        (
            "permission denied while trying to connect to the Docker daemon socket.",
            "socket. Get the right to use Docker (its group is `docker`), or pass",
        ),
        (
            'command failed: exec: "docker": executable file not found in $PATH',
            "failed: docker is not installed: install kind",
        ),
        ("Creating cluster\nERROR: no space left", "failed: no space left\n"),
    ],
)
def test_what_kind_complains_of(complaint: str, reports: str, dry_run: Runner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(MAP)
    (tmp_path / "complaint").write_text(complaint)
    (tmp_path / "kind").write_text('#!/bin/sh\n/bin/cat "${0%/*}/complaint" >&2\nexit 1\n')
    (tmp_path / "kind").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = dry_run(tmp_path / "map.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("jobspec: `kind get clusters` failed: ")
    assert reports in done.err


#: Stands in for kind where there is no Docker: knows of one cluster, the API server at hand, and like kind writes where
#: it is into the user's own kubeconfig, unless it is given another file.
_KIND = """\
#!{python}
import pathlib, sys
cluster, log, server = (pathlib.Path(each) for each in {places})
words = sys.argv[1:]
log.open("a").write(" ".join(each for each in words if not each.startswith("/")) + "\\n")
config = pathlib.Path(words[words.index("--kubeconfig") + 1] if "--kubeconfig" in words else pathlib.Path.home() / ".kube" / "config")
if words[:2] == ["create", "cluster"]:
    cluster.touch()
    config.write_text("# of kind\\n")
elif words[:2] == ["delete", "cluster"]:
    cluster.unlink(missing_ok=True)
    config.write_text("")
elif words[:2] == ["get", "kubeconfig"]:
    print(server.read_text())
elif cluster.exists():
    print("jobspec")
"""


@pytest.fixture
def kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[Runner, Path, Path]:
    """A runner in front of the stand-in, the log of what was asked of that, and the user's own kubeconfig."""
    server, log, config = servers.kubeconfig(), tmp_path / "log", _home(tmp_path)
    program = tmp_path / "bin" / "kind"
    program.parent.mkdir()
    program.write_text(_KIND.format(python=sys.executable, places=[str(each) for each in (tmp_path / "cluster", log, server)]))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Runner(config, monkeypatch, capsys), log, config


def test_the_kind_cluster_is_made_once_used_again_and_deleted(kind: tuple[Runner, Path, Path], tmp_path: Path) -> None:
    dry_run, log, config = kind
    before = config.read_bytes(), config.stat().st_mtime_ns
    file = tmp_path / "map.yaml"
    file.write_text(MAP)

    def asked(*arguments: str) -> tuple[int, list[str]]:
        log.write_text("")
        return dry_run(*arguments).code, log.read_text().splitlines()

    create = "create cluster --name jobspec --wait 180s --kubeconfig"
    look, open_, delete = "get clusters", "get kubeconfig --name jobspec", "delete cluster --name jobspec --kubeconfig"
    assert asked(str(file)) == (0, [look, create, open_])
    assert asked(str(file)) == (0, [look, open_])
    assert asked(str(file), "--recreate", "--kubernetes", "1.34.0") == (
        0,
        [look, delete, f"{create} --image kindest/node:v1.34.0", open_],
    )
    assert asked(str(file), "--kubernetes", "1.2") == (2, [look, open_])
    assert asked(str(file), "--delete") == (0, [look, open_, delete])
    assert asked("--delete") == (0, [delete])
    assert asked() == (2, [])
    assert (config.read_bytes(), config.stat().st_mtime_ns) == before


def test_a_kind_cluster_of_another_kubernetes_is_not_taken(kind: tuple[Runner, Path, Path], tmp_path: Path) -> None:
    dry_run, _, _ = kind
    (tmp_path / "map.yaml").write_text(MAP)
    (tmp_path / "cluster").touch()
    done = dry_run(tmp_path / "map.yaml", "--kubernetes", "1.2.3")
    assert (done.code, done.out) == (2, "")
    assert "the kind cluster `jobspec` has Kubernetes v" in done.err
    assert done.err.endswith(", not 1.2.3; recreate it with --recreate\n")


@pytest.mark.parametrize("package", ["kubernetes", "urllib3"])
def test_without_a_package_of_the_extra(package: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    code = f"import sys; sys.modules['{package}'] = None; from jobspec.cli import main; sys.exit(main(sys.argv[1:]))"
    done = python(code, "dry-run", tmp_path)
    message = f"jobspec: dry-run needs the package `{package}`: pip install kubernetes urllib3\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def test_the_hook_asks_for_what_it_needs() -> None:
    hooks = {each["id"]: each for each in quick_yaml.load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert hooks["jobspec-dry-run"]["stages"] == ["manual"]
    assert hooks["jobspec-dry-run"]["additional_dependencies"] == extras["dry-run"]


def test_values_of_a_query_are_encoded() -> None:
    asked: list[str] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        reply(handler, b"{}")

    with answering(answer) as port, closing(of_config(config_of(port), "a server")) as client:
        client.call("GET", "/api", query={"fieldManager": "a b&c"})
    assert asked == ["/api?fieldManager=a+b%26c"]
