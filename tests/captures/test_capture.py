"""`jobspec capture`: what the Kubeflow SDKs post is written as manifests, and nothing leaves the machine."""

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import jobspec
from jobspec.models import TrainJob
from tests.support.processes import run
from tests.support.sdk_calls import whole

TRAIN = """\
import sys
from kubeflow.trainer import CustomTrainer, TrainerClient

def train(lr):
    print(f"costs $PRICE at {lr}")

client = TrainerClient()
name = client.train(
    runtime="torch-distributed",
    trainer=CustomTrainer(func=train, func_args={"lr": 0.1}, num_nodes=int(sys.argv[1]), resources_per_node={"gpu": 1}),
)
print(client.wait_for_job_status(name).status, list(client.get_job_logs(name)), [each.name for each in client.list_jobs()] == [name])
"""


def capture(script: Path, *arguments: object) -> tuple[list[dict[str, object]], str, int]:
    """The objects that `jobspec capture` writes, standard error and the exit code."""
    done = run("capture", script, *arguments)
    return list(yaml.safe_load_all(done.stdout)), done.stderr, done.returncode


def write(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(text)
    return path


def test_a_job_of_the_sdk_is_written_with_findings_at_the_line_that_posted_it(tmp_path: Path) -> None:
    script = write(tmp_path, TRAIN)
    (job,), said, code = capture(script, "-o", "concise", "--", 3)
    spec = job["spec"]
    assert isinstance(spec, dict)
    assert code == 0
    assert spec["runtimeRef"] == {"kind": "ClusterTrainingRuntime", "name": "torch-distributed"}
    assert spec["trainer"]["numNodes"] == 3
    assert repr(spec["trainer"]["resourcesPerNode"]["limits"]) == "{'nvidia.com/gpu': 1}"
    assert 'print(f"costs $PRICE at {lr}")' in spec["trainer"]["command"][2]
    assert "Complete [] True" in said
    reported = {line.rpartition("[")[2]: line.split(": ")[0] for line in said.splitlines() if line.endswith("]") and ".py:" in line}
    assert reported == dict.fromkeys(("no-deadline]", "expanded-here-document]", "captured-change]"), f"{script}:8:1")
    assert "jobspec: captured 1 object" in said


def test_a_refused_job_raises_in_the_program_and_is_not_written(tmp_path: Path) -> None:
    script = write(tmp_path, TRAIN.replace("num_nodes=int(sys.argv[1])", 'num_nodes=2, env={"PET_NNODES": "2"}'))
    objects, said, code = capture(script, "-o", "concise")
    assert (objects, code) == ([], 1)
    assert "Failed to create TrainJob" in said
    assert f"{script}:8:1: error: " in said
    assert "jobspec: captured 0 objects; the server refuses 1; " in said


def test_objects_go_into_a_folder_with_the_namespace_of_the_client(tmp_path: Path) -> None:
    done = run("capture", write(tmp_path, TRAIN), "--to", tmp_path / "jobs", "--namespace", "team", "--", 2)
    (file,) = (tmp_path / "jobs").iterdir()
    (job,) = yaml.safe_load_all(file.read_text())
    assert (done.stdout, done.returncode) == ("", 0)
    assert file.name == f"trainjob-{job['metadata']['name']}.yaml"
    assert job["metadata"]["namespace"] == "team"


def test_runtimes_of_files_are_served(tmp_path: Path) -> None:
    container = {"name": "node", "image": "own:1"}
    replicated = {"name": "node", "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}}
    replicated["template"]["spec"] = {"template": {"spec": {"containers": [container]}}}  # type: ignore[index]
    metadata = {"name": "own", "labels": {"trainer.kubeflow.org/framework": "torch"}}
    spec = {"mlPolicy": {"numNodes": 2, "torch": {}}, "template": {"spec": {"replicatedJobs": [replicated]}}}
    runtime = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": metadata, "spec": spec}
    (tmp_path / "runtime.yaml").write_text(json.dumps(runtime))
    script = write(tmp_path, TRAIN.replace("torch-distributed", "own"))
    (job,), _, code = capture(script, "--runtimes", tmp_path / "runtime.yaml", "--", 2)
    assert code == 0
    assert job["spec"]["runtimeRef"]["name"] == "own"  # type: ignore[index]


def test_a_function_that_no_launcher_starts_in_several_pods_is_reported(tmp_path: Path) -> None:
    """The SDK starts torchrun if the runtime has the policy `torch`, and else Python itself."""
    container = {"name": "node", "image": "own:1"}
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    replicated = {
        "name": "node",
        "template": {"metadata": {"labels": labels}, "spec": {"template": {"spec": {"containers": [container]}}}},
    }
    metadata = {"name": "own", "labels": {"trainer.kubeflow.org/framework": "plain"}}
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [replicated]}}}
    runtime = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "ClusterTrainingRuntime", "metadata": metadata, "spec": spec}
    (tmp_path / "runtime.yaml").write_text(json.dumps(runtime))
    script = write(tmp_path, TRAIN.replace("torch-distributed", "own"))
    (job,), said, code = capture(script, "--runtimes", tmp_path / "runtime.yaml", "-o", "concise", "--", 2)
    assert code == 0
    assert 'python "train.py"' in job["spec"]["trainer"]["command"][2]  # type: ignore[index]
    assert f"{script}:8:1: warning: each of the 2 pods trains alone" in said


def test_a_job_of_the_training_client_and_an_experiment_are_written(tmp_path: Path) -> None:
    script = write(
        tmp_path,
        """\
from kubeflow.optimizer import OptimizerClient, Search
from kubeflow.trainer import CustomTrainer, TrainerClient
from kubeflow.trainer.types.types import TrainJobTemplate
from kubeflow.training import TrainingClient

def train(parameters):
    pass

client = TrainingClient()
client.create_job(name="mnist", job_kind="PyTorchJob", train_func=train, parameters={}, num_workers=3, base_image="torch:2.9")
for state in ("Running", "Succeeded"):
    client.wait_for_job_conditions("mnist", job_kind="PyTorchJob", expected_conditions={state}, polling_interval=1, wait_timeout=3)
template = TrainJobTemplate(runtime=TrainerClient().get_runtime("torch-distributed"), trainer=CustomTrainer(func=train, num_nodes=1))
OptimizerClient().optimize(template, search_space={"lr": Search.uniform(0.1, 0.2)})
""",
    )
    (job, experiment), _, code = capture(script)
    assert code == 0
    assert {name: each["replicas"] for name, each in job["spec"]["pytorchReplicaSpecs"].items()} == {"Master": 1, "Worker": 2}  # type: ignore[index]
    assert experiment["kind"] == "Experiment"


def test_nothing_leaves_the_machine(tmp_path: Path) -> None:
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "real",
        "clusters": [{"name": "real", "cluster": {"server": "http://127.0.0.1:9"}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "real"}}],
        "users": [{"name": "real", "user": {}}],
    }
    (tmp_path / "config").write_text(json.dumps(kubeconfig))
    script = write(
        tmp_path,
        f"""\
import socket
from kubeflow.common.types import KubernetesBackendConfig
from kubeflow.trainer import CustomTrainer, TrainerClient

def train():
    pass

for address in (("127.0.0.1", 9), ("192.0.2.1", 443)):
    try:
        socket.create_connection(address, timeout=1)
    except OSError as error:
        print(error)
config = KubernetesBackendConfig(config_file={str(tmp_path / "config")!r}, context="real")
TrainerClient(config).train(runtime="torch-distributed", trainer=CustomTrainer(func=train))
""",
    )
    objects, said, code = capture(script)
    assert (len(objects), code) == (1, 0)
    assert "keeps the program on this machine: no connection to 127.0.0.1:9" in said
    assert "keeps the program on this machine: no look-up of 192.0.2.1" in said


@pytest.mark.parametrize(
    ("text", "said"),
    [("print(1)\n", "posted nothing to Kubernetes"), ("raise SystemExit(3)\n", "posted nothing to Kubernetes; {} ended with exit code 3")],
)
def test_a_program_that_posts_nothing_fails(tmp_path: Path, text: str, said: str) -> None:
    script = write(tmp_path, text)
    objects, error, code = capture(script)
    assert (objects, code) == ([], 1)
    assert f"jobspec: {script} {said.format(script)}\n" in error


def test_a_program_or_a_python_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "none.py"
    assert capture(missing)[1:] == (f"jobspec: {missing}: no such file\n", 2)
    assert capture(write(tmp_path, ""), "--python", missing)[2] == 2


def train_in_this_process() -> None:
    """A function whose source the SDK posts."""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_jobs_of_this_process_are_models() -> None:
    with jobspec.capture() as jobs:
        from kubeflow.trainer import CustomTrainer, TrainerClient

        client = TrainerClient()
        client.train(trainer=CustomTrainer(func=train_in_this_process, num_nodes=2, resources_per_node={"cpu": 1}))
        line = sys._getframe().f_lineno - 1
        for api in (client.backend.custom_api, client.backend.core_api):  # the SDK leaves threads and connections to the collector
            api.api_client.close()
            api.api_client.rest_client.pool_manager.clear()
    assert (len(jobs), repr(jobs)) == (1, f"<CapturedJobs: TrainJob {jobs.manifests[0]['metadata']['name']}>")
    job = jobs[0]
    assert isinstance(job, TrainJob)
    assert job.spec.trainer.num_nodes == 2  # type: ignore[union-attr]
    (remark,) = jobs.diagnostics
    assert (remark.rule, remark.mark.file, remark.mark.line) == ("captured-change", __file__, line)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        free.listen()
        socket.create_connection(free.getsockname(), timeout=1).close()


def test_capture_stays_a_function_once_its_modules_are_imported() -> None:
    import jobspec.captures.server  # as the first call of jobspec.capture imports it

    for _ in range(2):
        with jobspec.capture() as jobs:
            assert len(jobs) == 0


DATAGRAMS = """\
import socket

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
    sends = (
        datagrams.sendto,
        lambda data, address: datagrams.sendto(data, 0, address),
        lambda data, address: datagrams.sendmsg([data], [], 0, address),
    )
    for send in sends:
        try:
            send(b"a", ("192.0.2.1", 53))
        except ConnectionError as error:
            print(error)
one, other = socket.socketpair()
with one, other:
    one.sendmsg([b"within"])
    print(other.recv(9))
"""


def test_no_datagram_leaves_the_machine(tmp_path: Path) -> None:
    said = capture(write(tmp_path, DATAGRAMS))[1]
    assert said.count("keeps the program on this machine: no connection to 192.0.2.1:53") == 3
    assert "b'within'" in said


CHILD = """\
import os, urllib.request
for address in ("http://192.0.2.1/", "https://192.0.2.1/", "http://127.0.0.1:9/", os.environ["SERVER"] + "/version"):
    try:
        print(urllib.request.urlopen(address).status)
    except OSError as error:
        print(error)
"""


@pytest.mark.parametrize("own", ["", ', env={"SERVER": os.environ["SERVER"]}'], ids=["environment", "own environment"])
def test_programs_that_it_starts_meet_the_server_as_their_proxy(own: str, tmp_path: Path) -> None:
    start = 'import os, subprocess, sys\nos.environ["SERVER"] = os.environ["HTTP_PROXY"]\n'
    said = capture(write(tmp_path, f'{start}subprocess.run([sys.executable, "-c", {CHILD!r}], check=True{own})\n'))[1]
    assert said.count("HTTP Error 403: jobspec capture keeps the program on this machine") == 2
    assert said.count("Tunnel connection failed: 403 jobspec capture keeps the program on this machine") == 1
    assert "\n200\n" in said


WAIT = """\
job = client.wait_for_job_status(name, {"Running"})
print(job.status, [(each.name, each.status, each.device_count) for each in job.steps])
print(client.wait_for_job_status(name, polling_interval=1).status)
"""
POSTED = TRAIN[: TRAIN.index("print(client.wait_for_job_status")]


def test_a_program_may_wait_until_its_job_runs_and_look_at_its_pods(tmp_path: Path) -> None:
    _, said, code = capture(write(tmp_path, POSTED + WAIT), "--", 2)
    assert code == 0
    assert "Running [('node-0', 'Running', '1'), ('node-1', 'Running', '1')]" in said
    assert "\nComplete\n" in said


def test_jobs_become_bases_and_variants_of_the_project(tmp_path: Path) -> None:
    second = 'client.train(runtime="torch-distributed", trainer=CustomTrainer(func=train, func_args={"lr": 1}), options=[Name("mnist")])\n'
    write(tmp_path, f"from kubeflow.trainer.options import Name\n{POSTED}{second}")
    done = run("capture", "train.py", "--project", "--", 2, cwd=tmp_path)
    files, variants = ["base/train.yaml", "base/mnist.yaml", "jobspec.yaml"], ["train: base/train.yaml", "mnist: base/mnist.yaml"]
    assert (done.returncode, done.stdout.splitlines()) == (0, [*files, *(f"  variant {each}" for each in variants)])
    (job,) = yaml.safe_load_all((tmp_path / "base" / "train.yaml").read_text())
    assert (job["metadata"]["name"], job["spec"]["trainer"]["numNodes"]) == ("train", 2)
    rendered = run("render", "--to", "-", cwd=tmp_path)
    jobs = [each for each in yaml.safe_load_all(rendered.stdout) if each["kind"] == "TrainJob"]
    assert [each["metadata"]["name"] for each in jobs] == ["mnist", "train"]
    again = run("capture", "train.py", "--project", "-o", "concise", "--", 2, cwd=tmp_path)
    assert (again.returncode, again.stdout) == (1, "")
    assert "train.py:9:1: error: TrainJob `train` is imported already: the variant `train` of jobspec.yaml [import-differs]" in again.stderr


def test_nothing_runs_for_a_project_that_is_wrong(tmp_path: Path) -> None:
    write(tmp_path, 'open("ran", "w")\n')
    (tmp_path / "jobspec.yaml").write_text("apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec: {variantz: []}\n")
    done = run("capture", "train.py", "--project", "-o", "concise", cwd=tmp_path)
    assert done.returncode == 1
    assert "variantz" in done.stderr
    assert not (tmp_path / "ran").exists()


#: A program that makes each call of `train` in the SDK's own tests, and writes what these expect to be posted.
OWN_TESTS = """\
import json, sys
from kubeflow.trainer import TrainerClient
from kubeflow.trainer.backends.kubernetes import backend_test

cases = next(each.args[1] for each in backend_test.test_train.pytestmark if each.name == "parametrize")
backend, expected = TrainerClient().backend, {}
for case in cases:
    try:
        runtime = backend.get_runtime(case.config.get("runtime", "torch").replace("torchtune", "torchtune-llama3.2-1b"))
        name = backend.train(runtime=runtime, trainer=case.config.get("trainer"), options=case.config.get("options", []))
    except (RuntimeError, ValueError) as error:
        print("failed", case.name)
    else:
        if case.expected_output:
            case.expected_output.metadata.name = name
            expected[name] = case.expected_output.to_dict()
with open(sys.argv[1], "w") as file:
    json.dump(expected, file)
"""
#: Its tests take for granted that runtimes of these names are in the namespace.
RUNTIME = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {{name: {}, labels: {{trainer.kubeflow.org/framework: {}}}}}
spec:
  mlPolicy: {{numNodes: 1, torch: {{}}}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {{labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}}}
            spec: {{template: {{spec: {{containers: [{{name: node, image: "pytorch/pytorch:2.7.1", command: {}}}]}}}}}}
"""


def test_the_calls_of_the_sdks_own_tests_are_captured_as_these_expect(tmp_path: Path) -> None:
    runtimes = [("torch", "torch", "[python]"), ("runtime-1", "torch", "[python]"), ("torchtune-llama3.2-1b", "torchtune", "[tune, run]")]
    (tmp_path / "runtimes.yaml").write_text("---\n".join(RUNTIME.format(*each) for each in runtimes))
    jobs, said, _ = capture(write(tmp_path, OWN_TESTS), "--runtimes", tmp_path / "runtimes.yaml", "--", tmp_path / "expected.json")
    expected = json.loads((tmp_path / "expected.json").read_text())
    assert len(expected) >= 10
    captured = {each["metadata"]["name"]: each for each in jobs}
    assert {name: captured[name] for name in expected} == {name: whole(each) for name, each in expected.items()}
    assert said.count("failed valid flow with built in trainer") == 2
    assert "torchtune tunes `llama3_2/1B` on one node, not on 2" in said


#: A program that makes each call of `create_job` and `optimize` in the SDKs' own tests, and writes what these expect, by name.
OTHER_OWN_TESTS = """\
import copy, json, sys
from kubeflow.optimizer import OptimizerClient
from kubeflow.optimizer.backends.kubernetes import backend_test
from kubeflow.training import TrainingClient
from kubeflow.training.api import training_client_test

def cases(test):
    return next(each.args[1] for each in test.pytestmark if each.name == "parametrize")

names = {}
for case in cases(backend_test.test_optimize):
    if case.expected_status == backend_test.SUCCESS:
        trainer = backend_test.CustomTrainer(func=lambda: None, func_args={"existing_arg": "original_value"}, num_nodes=1)
        template = backend_test.TrainJobTemplate(trainer=trainer)
        name = OptimizerClient().optimize(trial_template=template, search_space=case.config["search_space"])
        names[name] = len(case.config["search_space"])
for number, (_, arguments, expected, job) in enumerate(cases(training_client_test.test_create_job)):
    if expected == training_client_test.SUCCESS:
        arguments = copy.copy(arguments)  # each with a name of its own
        if "job" in arguments:
            arguments["job"] = copy.deepcopy(arguments["job"])
            arguments["job"].metadata.name = f"own-{number}"
        else:
            arguments["name"] = f"own-{number}"
        TrainingClient().create_job(**arguments)
        names[f"own-{number}"] = (job.metadata.labels or {}) if job else {}
with open(sys.argv[1], "w") as file:
    json.dump(names, file)
"""


def test_the_calls_of_the_optimizers_and_the_training_clients_own_tests_are_captured(tmp_path: Path) -> None:
    objects, said, code = capture(write(tmp_path, OTHER_OWN_TESTS), "-o", "concise", "--", tmp_path / "expected.json")
    expected = json.loads((tmp_path / "expected.json").read_text())
    assert (code, [each for each in said.splitlines() if ": error: " in each]) == (0, [])
    captured: dict[str, dict[str, Any]] = {each["metadata"]["name"]: each for each in objects}  # type: ignore[index]
    assert captured.keys() == expected.keys()
    assert len(expected) >= 15
    for name, facts in expected.items():
        job = captured[name]
        assert (len(job["spec"]["parameters"]) if job["kind"] == "Experiment" else job["metadata"].get("labels") or {}) == facts
