"""Calls of the Kubeflow SDK in every form that its notebooks and tests have: what they post is captured, and sent to a live trainer."""

from typing import Any

#: A program that posts a job by each form of call. Jobs have names, so that two runs post the same.
CALLS = """\
from kubeflow.trainer import BuiltinTrainer, CustomTrainer, CustomTrainerContainer, TrainerClient
from kubeflow.trainer import HuggingFaceDatasetInitializer, HuggingFaceModelInitializer, Initializer, TorchTuneConfig
from kubeflow.trainer.options import (
    ActiveDeadlineSeconds, Annotations, ContainerPatch, JobSetSpecPatch, JobSetTemplatePatch, JobSpecPatch, JobTemplatePatch,
    Labels, Name, PodSpecPatch, PodTemplatePatch, ReplicatedJobPatch, RuntimePatch, TrainerArgs, TrainerCommand, TrainingRuntimeSpecPatch,
)


def train(learning_rate=0.1, path="/data"):
    import os

    print(f"node {os.environ['HOSTNAME']} of {path!r} costs ${learning_rate}")


def patch(**fields):
    pods = PodTemplatePatch(spec=PodSpecPatch(**fields))
    node = ReplicatedJobPatch(name="node", template=JobTemplatePatch(spec=JobSpecPatch(template=pods)))
    return RuntimePatch(training_runtime_spec=TrainingRuntimeSpecPatch(
        template=JobSetTemplatePatch(spec=JobSetSpecPatch(replicated_jobs=[node]))
    ))


client = TrainerClient()
names = []


def post(name, *options, runtime="torch-distributed", **arguments):
    try:
        names.append(client.train(runtime=runtime, options=[Name(name), *options], **arguments))
    except RuntimeError:
        print("refused", name)


post("bare", trainer=CustomTrainer(func=train))
post("nodes", trainer=CustomTrainer(func=train, func_args={"learning_rate": 0.2}, num_nodes=3))
post("resources", trainer=CustomTrainer(func=train, num_nodes=2, resources_per_node={"cpu": 2, "memory": "4Gi", "gpu": 1}))
post("fractions", trainer=CustomTrainer(func=train, resources_per_node={"cpu": 0.5, "memory": "512Mi"}))
INDEX = ["https://pypi.example.com/simple"]
post("packages", trainer=CustomTrainer(func=train, packages_to_install=["transformers==4.57.1"], pip_index_urls=INDEX))
post("environment", trainer=CustomTrainer(func=train, env={"NCCL_DEBUG": "INFO", "EMPTY": "", "NUMBER": "1"}))
post("image", trainer=CustomTrainer(func=train, image="ghcr.io/example/train:1.4"))
post("container", trainer=CustomTrainerContainer(image="train:1.4", num_nodes=2, resources_per_node={"cpu": 1}, env={"A": "b"}))
command = TrainerCommand(["python", "-m", "train"]), TrainerArgs(["--epochs", "3"])
post("command", *command, trainer=CustomTrainerContainer(image="train:1.4"))
post("labels", Labels({"team": "ml"}), Annotations({"note": "a b"}), ActiveDeadlineSeconds(3600), trainer=CustomTrainer(func=train))
placed = patch(node_selector={"gpu": "a100"}, tolerations=[{"key": "gpu", "operator": "Exists"}])
post("selector", placed, trainer=CustomTrainer(func=train))
post(
    "volumes",
    patch(
        volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        containers=[ContainerPatch(name="node", volume_mounts=[{"name": "data", "mountPath": "/data"}])],
    ),
    trainer=CustomTrainer(func=train),
)
post("runtime")
post("deepspeed", runtime="deepspeed-distributed", trainer=CustomTrainer(func=train, num_nodes=2, resources_per_node={"gpu": 2}))
post("jax", runtime="jax-distributed", trainer=CustomTrainer(func=train, num_nodes=3, resources_per_node={"cpu": 3}))
post(
    "initializers",
    trainer=CustomTrainer(func=train),
    initializer=Initializer(
        dataset=HuggingFaceDatasetInitializer(storage_uri="hf://tatsu-lab/alpaca"),
        model=HuggingFaceModelInitializer(storage_uri="hf://Qwen/Qwen2.5-1.5B-Instruct"),
    ),
)
post(
    "tuned",
    runtime="torchtune-qwen2.5-1.5b",
    trainer=BuiltinTrainer(config=TorchTuneConfig(epochs=2, batch_size=8, num_nodes=1, resources_per_node={"gpu": 2})),
    initializer=Initializer(model=HuggingFaceModelInitializer(storage_uri="hf://Qwen/Qwen2.5-1.5B-Instruct")),
)
for name in names:
    assert client.get_job(name).name == name
"""

#: A program that makes each call of `create_job` in the own tests of kubeflow-training that expects a job. Its argument is the namespace.
CREATE_JOB_CALLS = """\
import copy, sys
from kubeflow.training import TrainingClient
from kubeflow.training.api import training_client_test

cases = next(each.args[1] for each in training_client_test.test_create_job.pytestmark if each.name == "parametrize")
for number, (_, arguments, expected, _) in enumerate(cases):
    if expected == training_client_test.SUCCESS:
        arguments = {**arguments, "namespace": sys.argv[1]}
        if "job" in arguments:
            arguments["job"] = copy.deepcopy(arguments["job"])
            arguments["job"].metadata.name, arguments["job"].metadata.namespace = f"own-{number}", sys.argv[1]
        else:
            arguments["name"] = f"own-{number}"
        TrainingClient().create_job(**arguments)
"""


def whole(value: Any) -> Any:
    """A value without nulls, whose numbers without a fraction are integers."""
    if isinstance(value, dict):
        return {name: whole(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return list(map(whole, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value
