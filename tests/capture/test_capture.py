"""`jobspec capture`: what the Kubeflow SDKs post is written as manifests, and nothing leaves the machine."""

import json
import socket
import sys
from pathlib import Path

import pytest
import yaml

import jobspec
from jobspec.models import TrainJob
from tests.support.processes import run

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
assert client.is_job_succeeded("mnist", job_kind="PyTorchJob")
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
