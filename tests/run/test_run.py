"""`jobspec run`: real processes with the environment of pods, restarts by their policy, and the end of the job."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support import quick_yaml
from tests.support.manifests import PROJECT_HEAD, write
from tests.support.processes import command, environment, program, run_here

#: So that `python3` in a pod is this interpreter; where a version manager chooses one, it takes longer than most pods.
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

#: What a pod does: it prints some of its variables as JSON, and its own arguments.
SHOW = "import json, os, sys; print(json.dumps({**os.environ, 'ARGUMENTS': sys.argv[1:]}))"


def _template(code: str, **more: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "pytorch", "image": "example.com/train:1", "command": ["python3", "-c", code], **more}]}}


def _job(master: str = "pass", worker: str = "", *, workers: int = 1, policy: str = "OnFailure", **spec: Any) -> str:
    """A PyTorchJob whose pods run Python code; of one Master, and of Workers where they have any."""
    replicas = {"Master": {"replicas": 1, "restartPolicy": policy, "template": _template(master)}} if master else {}
    if worker:
        replicas["Worker"] = {"replicas": workers, "restartPolicy": policy, "template": _template(worker)}
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "train", "namespace": "ml"}}
    return quick_yaml.dump({**job, "spec": {"pytorchReplicaSpecs": replicas, **spec}})


def _run(folder: Path, text: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    (folder / "job.yaml").write_text(text)
    return program(*command("run", "job.yaml", "--back-off", "0", *options), cwd=folder, env=environment(PATH=PATH, **more), timeout=60)


def _shown(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    """The variables that each pod printed."""
    lines = [line.partition("|") for line in done.stdout.splitlines()]
    return {name.strip(): json.loads(text) for name, _, text in lines}


def test_each_pod_has_its_rank_and_the_addresses_of_this_machine(tmp_path: Path) -> None:
    done = _run(tmp_path, _job(SHOW, SHOW, workers=2), RANK="7", PET_NNODES="9", HOME="/home")
    assert done.returncode == 0, done.stderr
    shown = _shown(done)
    assert {name: (each["RANK"], each["WORLD_SIZE"], each["PET_NNODES"], each["HOSTNAME"]) for name, each in shown.items()} == {
        "master-0": ("0", "3", "3", "train-master-0"),
        "worker-0": ("1", "3", "3", "train-worker-0"),
        "worker-1": ("2", "3", "3", "train-worker-1"),
    }
    (address,) = {each["MASTER_ADDR"] for each in shown.values()}
    (port,) = {each["MASTER_PORT"] for each in shown.values()}
    assert address == "127.0.0.1"
    assert port != "23456"
    assert {each["HOME"] for each in shown.values()} == {"/home"}
    assert done.stderr.splitlines()[-1] == "jobspec: the job has succeeded"
    assert "`init-pytorch` of worker" in done.stderr


def test_variables_are_what_the_kubelet_makes_of_them(tmp_path: Path) -> None:
    env = [
        {"name": "URL", "value": "tcp://$(MASTER_ADDR).ml.svc:$(MASTER_PORT)"},
        {"name": "PLAIN", "value": "$(URL) $$(URL) $(NONE) $5"},
        {"name": "OTHER", "value": "train-worker-01:1"},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "INDEX", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['training.kubeflow.org/replica-index']"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
        {"name": "LOST", "valueFrom": {"secretKeyRef": {"name": "nowhere", "key": "token"}}},
    ]
    more = {
        "env": env,
        "envFrom": [{"configMapRef": {"name": "settings"}, "prefix": "S_"}],
        "args": ["--to=$(POD)", "--at", "train-worker-0:29500"],
    }
    replicas = {"Worker": {"replicas": 1, "template": _template(SHOW, **more)}}
    objects = [
        {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "train"}, "spec": {"pytorchReplicaSpecs": replicas}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hub"}, "data": {"token": "aGVsbG8="}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"lr": "0.10"}},
    ]
    done = _run(tmp_path, quick_yaml.dump_all(objects))
    assert done.returncode == 0, done.stderr
    (shown,) = _shown(done).values()
    names = ("URL", "PLAIN", "OTHER", "POD", "INDEX", "IP", "TOKEN", "S_lr")
    assert {name: shown.get(name) for name in names} == {
        "URL": "tcp://$(MASTER_ADDR).ml.svc:$(MASTER_PORT)",
        "PLAIN": "tcp://$(MASTER_ADDR).ml.svc:$(MASTER_PORT) $(URL) $(NONE) $5",
        "OTHER": "train-worker-01:1",
        "POD": "train-worker-0",
        "INDEX": "0",
        "IP": "127.0.0.1",
        "TOKEN": "hello",
        "S_lr": "0.10",
    }
    assert shown["ARGUMENTS"][:2] == ["--to=train-worker-0", "--at"]
    assert re.fullmatch(r"127\.0\.0\.1:\d+", shown["ARGUMENTS"][2])
    assert "LOST" not in shown
    assert "not set, since there is no cluster to give the value: `LOST` of worker" in done.stderr


COUNT = "import pathlib, sys; p = pathlib.Path('{0}'); n = len(p.read_text()) if p.exists() else 0; p.write_text('x' * (n + 1)); "


@pytest.mark.parametrize(
    ("policy", "code", "starts", "ends"),
    [
        ("OnFailure", "sys.exit(0 if n == 2 else 1)", 3, 0),
        ("OnFailure", "sys.exit(0)", 1, 0),
        ("Never", "sys.exit(1)", 1, 1),
        ("ExitCode", "sys.exit(127)", 1, 1),
        ("ExitCode", "sys.exit(0 if n == 1 else 128)", 2, 0),
    ],
)
def test_a_pod_starts_again_as_its_policy_says(policy: str, code: str, starts: int, ends: int, tmp_path: Path) -> None:
    done = _run(tmp_path, _job(COUNT.format("count") + code, policy=policy))
    assert (done.returncode, len((tmp_path / "count").read_text())) == (ends, starts), done.stderr
    restarts = f" after {starts - 1} restart{'' if starts == 2 else 's'}" if starts > 1 else ""
    assert done.stderr.splitlines()[-1] == f"jobspec: the job has {'failed' if ends else 'succeeded'}{restarts}"


@pytest.mark.parametrize(("limit", "starts"), [(0, 1), (1, 1), (3, 3)])
def test_the_restarts_of_all_pods_reach_the_backoff_limit(limit: int, starts: int, tmp_path: Path) -> None:
    done = _run(tmp_path, _job(COUNT.format("count") + "sys.exit(1)", runPolicy={"backoffLimit": limit}))
    assert (done.returncode, len((tmp_path / "count").read_text())) == (1, starts)
    assert "reaches the limit of the job" in done.stderr


def test_pods_that_the_operator_makes_anew_do_not_count_towards_the_limit(tmp_path: Path) -> None:
    code = COUNT.format("count") + "sys.exit(0 if n == 3 else 130)"
    done = _run(tmp_path, _job(code, policy="ExitCode", runPolicy={"backoffLimit": 1}))
    assert (done.returncode, len((tmp_path / "count").read_text())) == (0, 4), done.stderr


SLEEP = "import time; print('up', flush=True); time.sleep(60)"


def test_a_deadline_ends_the_job(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = _run(tmp_path, _job(SLEEP, runPolicy={"activeDeadlineSeconds": 1}))
    assert done.returncode == 1
    assert "the job is still running after 1 s, its activeDeadlineSeconds" in done.stderr
    assert time.monotonic() - begin < 20


def test_a_killed_worker_starts_again_and_the_job_goes_on(tmp_path: Path) -> None:
    worker = COUNT.format("count") + "import time; print('start', n, flush=True); time.sleep(0 if n else 60)"
    done = _run(
        tmp_path,
        _job("import pathlib, time\nwhile not pathlib.Path('count').exists() or len(open('count').read()) < 2: time.sleep(0.05)", worker),
        "--kill",
        "worker-0@1s",
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("worker-0")] == ["worker-0 | start 0", "worker-0 | start 1"]
    assert "jobspec: killing worker-0\njobspec: worker-0 exited with code 137 and restarts (restart 1)\n" in done.stderr


def test_where_a_worker_fails_for_good_the_others_end_with_it(tmp_path: Path) -> None:
    caught = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: (print('ending'), sys.exit(0))); " + SLEEP
    done = _run(tmp_path, _job(caught, "import time; time.sleep(2); raise SystemExit(3)", policy="Never"))
    assert done.returncode == 1
    assert "master-0 | ending" in done.stdout.splitlines()
    assert "jobspec: worker-0 exited with code 3\njobspec: stopping master-0\njobspec: the job has failed\n" in done.stderr


def _heed_interrupts() -> None:
    """For a process of tests that run in the background of a shell, which has them ignore interrupts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_leaves_no_process_behind(number: signal.Signals, code: int, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(_job("import os; print(os.getpid(), flush=True)\n" + SLEEP))
    asked = command("run", "job.yaml")
    with subprocess.Popen(
        asked, cwd=tmp_path, env=environment(PATH=PATH), stdout=subprocess.PIPE, text=True, preexec_fn=_heed_interrupts
    ) as process:
        assert process.stdout
        rank = int(process.stdout.readline().partition("|")[2])
        process.send_signal(number)
        assert process.wait(timeout=20) == code
    assert not Path(f"/proc/{rank}").exists()


def test_a_closed_pipe_ends_the_run_and_its_processes(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(_job("import os\nwhile True: print(os.getpid(), flush=True)"))
    with subprocess.Popen(
        command("run", "job.yaml"), cwd=tmp_path, env=environment(PATH=PATH), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        rank = int(process.stdout.readline().partition("|")[2])
        process.stdout.close()
        assert process.wait(timeout=20) == 2
        assert "Traceback" not in process.stderr.read()
    assert not Path(f"/proc/{rank}").exists()


def test_restarts_wait_as_the_kubelet_does(tmp_path: Path) -> None:
    begin = time.monotonic()
    done = _run(tmp_path, _job(COUNT.format("count") + "sys.exit(n < 3)"), "--back-off", "0.5s")
    assert time.monotonic() - begin > 1.5
    assert [line.partition(" and ")[2] for line in done.stderr.splitlines() if " and " in line] == [
        "restarts (restart 1)",
        "restarts in 0.5 s (restart 2)",
        "restarts in 1 s (restart 3)",
    ]


def test_limits_of_the_user_end_the_job(tmp_path: Path) -> None:
    done = _run(tmp_path, _job("raise SystemExit(1)"), "--max-restarts", "2")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "jobspec: the job has failed after 2 restarts")
    done = _run(tmp_path, _job(SLEEP), "--timeout", "1s")
    assert done.returncode == 1
    assert "jobspec: the job is still running after 1 s, the --timeout\n" in done.stderr


def test_arguments_replace_those_of_the_container(tmp_path: Path) -> None:
    replicas = {"Master": {"replicas": 1, "template": _template(SHOW, args=["--epochs", "1"])}}
    text = quick_yaml.dump({**quick_yaml.load(_job()), "spec": {"pytorchReplicaSpecs": replicas}})
    assert _shown(_run(tmp_path, text, "--args", "--epochs '2 3'"))["master-0"]["ARGUMENTS"] == ["--epochs", "2 3"]
    assert _shown(_run(tmp_path, text, "--args", ""))["master-0"]["ARGUMENTS"] == []


def test_a_command_replaces_that_of_the_container_and_the_arguments_stay(tmp_path: Path) -> None:
    replicas = {"Master": {"replicas": 1, "template": _template("raise SystemExit(9)", args=["--epochs", "1"])}}
    del replicas["Master"]["template"]["spec"]["containers"][0]["command"]
    text = quick_yaml.dump({**quick_yaml.load(_job()), "spec": {"pytorchReplicaSpecs": replicas}})
    done = _run(tmp_path, text)
    assert (done.returncode, "the command of its image, which is not known here" in done.stderr) == (2, True)
    (tmp_path / "show.py").write_text(SHOW)
    done = _run(tmp_path, text, "--command", "python3 show.py --dataset 'my digits'")
    assert done.returncode == 0, done.stderr
    assert _shown(done)["master-0"]["ARGUMENTS"] == ["--dataset", "my digits", "--epochs", "1"]


def test_overlays_are_applied_first(tmp_path: Path) -> None:
    done = _run(tmp_path, _job(SHOW), "--overlay", "gpu-nccl", "--set", "gpu-nccl.backend=nccl")
    assert done.returncode == 0, done.stderr
    assert _shown(done)["master-0"]["ARGUMENTS"] == ["--backend", "nccl"]


def _other(api_version: str, kind: str) -> str:
    """A job of another kind, with pods that train."""
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1", "command": ["python", "train.py"]}]}}
    head = {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "head", "image": "rayproject/ray:2.46.0"}]}}}
    specs = {
        "Job": {"template": pod},
        "MPIJob": {"mpiReplicaSpecs": {"Launcher": {"template": {"spec": {"containers": pod["spec"]["containers"]}}}}},
        "RayJob": {"entrypoint": "python train.py", "rayClusterSpec": {"headGroupSpec": head}},
    }
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": {"name": "other"}, "spec": specs[kind]})


@pytest.mark.parametrize(
    ("text", "options", "says", "code"),
    [
        (_job(), ["--kill", "worker-9@1s"], "--kill worker-9@1s: write POD@TIME, such as master-0@30s; the pods are master-0", 2),
        (_job(), ["--kill", "master-0"], "write POD@TIME", 2),
        (_job(), ["--command", "python3 'train.py"], "jobspec: --command python3 'train.py: no closing quotation", 2),
        (_job(), ["--timeout", "soon"], "--timeout soon: write a time, such as 90s or 10m", 2),
        (_job(), ["--max-restarts", "few"], "--max-restarts few: write a number", 2),
        (_job(), ["--command", "no-such-program"], "master-0 runs `no-such-program`, which is not on this machine", 2),
        (_job(), ["--command", "python3 /opt/none.py"], "master-0 runs `/opt/none.py`, a file of its image", 2),
        (
            f"{_job()}---\n{_job().replace('name: train', 'name: other')}",
            [],
            "run takes one PyTorchJob or TrainJob, and the files hold PyTorchJob train, PyTorchJob other",
            2,
        ),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}", [], "the files hold none", 2),
        (_other("batch/v1", "Job"), [], "run cannot start Job other here: it takes PyTorchJobs and TrainJobs", 2),
        (_other("kubeflow.org/v2beta1", "MPIJob"), [], "its launcher starts the ranks by ssh", 2),
        (_other("ray.io/v1", "RayJob"), [], "its programs are submitted to a Ray cluster", 2),
        (_job(runPolicy={"suspend": True}), [], "there is nothing to run", 2),
        (
            "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: a}, spec: {runtimeRef: {name: ours}}}",
            [],
            "jobspec: no ClusterTrainingRuntime `ours` among the files: pass its file\n",
            2,
        ),
        (_job().replace("replicas", "replicaz"), [], "replicaz", 1),
        (_job(worker="pass", elasticPolicy={"rdzvConf": []}), [], "the operator crashes on an empty `rdzvConf`", 1),
    ],
)
def test_what_cannot_be_run_is_an_error(text: str, options: list[str], says: str, code: int, tmp_path: Path) -> None:
    done = _run(tmp_path, text, *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr


RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: ours}
spec:
  mlPolicy: {numNodes: 2, torch: {}}
  template:
    spec:
      failurePolicy: {maxRestarts: 1}
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              backoffLimit: 1
              template: {spec: {containers: [{name: node, image: example.com/train:1}]}}
---
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train}
spec:
  runtimeRef: {name: ours, kind: TrainingRuntime}
"""


def _trainjob(code: str) -> str:
    return f"{RUNTIME}  trainer: {{command: [python3, -c], args: [{json.dumps(code)}]}}\n"


def test_the_nodes_of_a_trainjob_know_their_rank_and_the_first_of_them(tmp_path: Path) -> None:
    done = _run(tmp_path, _trainjob(SHOW), "--target", "trainer=2.2")
    assert done.returncode == 0, done.stderr
    shown = _shown(done)
    names = ("PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR", "JOB_COMPLETION_INDEX")
    assert {pod: [each[name] for name in names] for pod, each in shown.items()} == {
        "node-0": ["2", "0", "127.0.0.1", "0"],
        "node-1": ["2", "1", "127.0.0.1", "1"],
    }
    assert len({each["PET_MASTER_PORT"] for each in shown.values()}) == 1


def test_a_host_name_made_of_variables_is_an_address_of_this_machine(tmp_path: Path) -> None:
    source = {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/jobset-name']"}}
    env: list[dict[str, Any]] = [{"name": "JOB", "valueFrom": source}, {"name": "PEER", "value": "$(JOB)-node-0-0.$(JOB)"}]
    job = _trainjob(SHOW).removesuffix("}\n") + f", env: {json.dumps(env)}}}\n"
    done = _run(tmp_path, job)
    assert done.returncode == 0, done.stderr
    assert {each["PEER"] for each in _shown(done).values()} == {"127.0.0.1"}


def test_a_master_and_workers_that_differ_know_their_ranks_after_a_migration(tmp_path: Path) -> None:
    job = quick_yaml.load(_job(SHOW, SHOW, workers=2))
    job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["args"] = ["--worker"]
    (tmp_path / "before.yaml").write_text(quick_yaml.dump(job))
    migrated = program(*command("migrate", "before.yaml", "--to", "TrainJob"), cwd=tmp_path, env=environment(), timeout=60).stdout
    before, after = _shown(_run(tmp_path, quick_yaml.dump(job))), _shown(_run(tmp_path, migrated))
    names = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "PET_NODE_RANK", "PET_NNODES", "PET_NPROC_PER_NODE", "ARGUMENTS")
    assert [before[pod][name] for pod in ("master-0", "worker-0", "worker-1") for name in names] == [
        after[pod][name] for pod in ("master-0", "node-0-0", "node-1-0") for name in names
    ]


def test_a_jobset_starts_all_of_a_trainjob_again_after_its_job_has_failed(tmp_path: Path) -> None:
    code = "import os, sys; sys.exit(0) if os.environ['JOB_COMPLETION_INDEX'] == '1' else None; " + COUNT.format("count") + "sys.exit(1)"
    done = _run(tmp_path, _trainjob(code))
    assert (done.returncode, len((tmp_path / "count").read_text())) == (1, 4)  # two rounds of one start and one more
    assert done.stderr.count("the whole job restarts (restart 1 of 1)") == 1


def test_a_base_of_a_project_is_run_as_it_is_written(tmp_path: Path) -> None:
    variants = "  variants: [{name: a, base: job.yaml}, {name: b, base: job.yaml}]\n"
    write(tmp_path, {"job.yaml": _job(), "jobspec.yaml": f"{PROJECT_HEAD}{variants}"})
    done = run_here("run", "job.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "jobspec: the job has succeeded")
    done = run_here("run", ".", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("jobspec: run takes one PyTorchJob or TrainJob, and the files hold PyTorchJob ")
    assert done.stderr.endswith("; pass a file with one\n")


def test_placeholders_that_are_not_filled_in_stop_a_run(tmp_path: Path) -> None:
    done = _run(tmp_path, _job(SHOW).replace("replicas: 1", "replicas: ${N}"))
    assert done.returncode == 1
    assert "placeholders: 1 value not checked" in done.stderr
    assert done.stderr.endswith("nothing is run before these placeholders are filled in, by --substitute or --set-env\n")
