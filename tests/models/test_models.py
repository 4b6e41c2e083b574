"""Building jobs in Python: strict, frozen, and the same document as in YAML."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

import pytest
from pydantic import ValidationError

from jobspec.models import PersistentVolumeClaim, PyTorchJob, roots
from jobspec.models.base import Keyed, Merge, Model
from jobspec.models.meta import ObjectMeta
from jobspec.models.pod.container import Container, ContainerPort, ResourceRequirements
from jobspec.models.pod.spec import PodSpec, PodTemplateSpec
from jobspec.models.pytorchjob import ElasticPolicy, PyTorchJobSpec, ReplicaSpec
from tests.support import quick_yaml
from tests.support.models import dump, refused_at
from tests.support.processes import python
from tests.support.reference import ROOT

GUIDE = quick_yaml.load((ROOT / "tests" / "cases" / "guides" / "simple.yaml").read_text())


def _models(annotation: Any, around: frozenset[type[Model]] = frozenset()) -> Iterator[type[Model]]:
    """Every model that an annotation leads to; one that stands inside of itself, once."""
    if isinstance(annotation, type) and issubclass(annotation, Model) and annotation not in around:
        yield annotation
        for info in annotation.model_fields.values():
            yield from _models(info.annotation, around | {annotation})
    for argument in get_args(annotation):
        yield from _models(argument, around)


EVERY = sorted({model for root in roots() for model in _models(root)}, key=lambda model: model.__name__)


def test_a_job_in_python_is_the_document_in_yaml() -> None:
    container = Container(
        name="pytorch",
        image="docker.io/kubeflowkatib/pytorch-mnist:v1beta1-45c5727",
        image_pull_policy="Always",
        command=["python3", "/opt/pytorch-mnist/mnist.py", "--epochs=10"],
    )
    replica = ReplicaSpec(replicas=1, restart_policy="OnFailure", template=PodTemplateSpec(spec=PodSpec(containers=[container])))
    job = PyTorchJob(
        api_version="kubeflow.org/v1",
        kind="PyTorchJob",
        metadata=ObjectMeta(name="pytorch-simple"),
        spec=PyTorchJobSpec(pytorch_replica_specs={"Master": replica, "Worker": replica}),
    )
    assert dump(job) == GUIDE


def test_a_document_in_yaml_is_the_job_in_python() -> None:
    assert dump(PyTorchJob.model_validate(GUIDE)) == GUIDE


def test_a_claim() -> None:
    data = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
    }
    assert dump(PersistentVolumeClaim.model_validate(data)) == data


@pytest.mark.parametrize(
    ("model", "data", "where"),
    [
        (ReplicaSpec, {"replicas": "3"}, ("replicas",)),
        (ReplicaSpec, {"replicas": True}, ("replicas",)),
        (ReplicaSpec, {"replicas": 2**31}, ("replicas",)),
        (ReplicaSpec, {"replicaz": 3}, ("replicaz",)),
        (PyTorchJobSpec, {}, ("pytorchReplicaSpecs",)),
        (PyTorchJobSpec, {"nprocPerNode": 2, "pytorchReplicaSpecs": {}}, ("nprocPerNode",)),
        (ContainerPort, {"containerPort": 80, "protocol": 6}, ("protocol",)),
    ],
)
def test_strict(model: type[Model], data: dict[str, Any], where: tuple[str, ...]) -> None:
    assert refused_at(model, data) == [where]


def test_a_quantity_that_is_none() -> None:
    ResourceRequirements(limits={"cpu": 2, "memory": "8Gi"})
    with pytest.raises(ValidationError):
        ResourceRequirements(limits={"memory": "8GB"})


def test_frozen() -> None:
    container = Container(name="pytorch")
    with pytest.raises(ValidationError):
        container.name = "other"  # type: ignore[misc]


def test_names_that_no_rule_makes() -> None:
    assert dump(PodSpec(host_ipc=True, host_pid=True, containers=[])) == {"hostIPC": True, "hostPID": True, "containers": []}
    assert dump(ElasticPolicy(n_proc_per_node=2, rdzv_id="x")) == {"nProcPerNode": 2, "rdzvId": "x"}
    assert dump(PyTorchJobSpec(nproc_per_node="2", pytorch_replica_specs={})) == {"nprocPerNode": "2", "pytorchReplicaSpecs": {}}


def _is_description(text: str | None) -> bool:
    return bool(text) and text[0] not in " ." and not text.endswith(".") and len(text) <= 140


def test_every_model_and_field_is_described() -> None:
    fields = [(model.__name__, name, info.description) for model in EVERY for name, info in model.model_fields.items()]
    assert [model.__name__ for model in EVERY if not model.__doc__] == []
    assert [field for field in fields if not _is_description(field[-1])] == []


def _item(annotation: Any) -> Any:
    """What a list holds, wherever it stands in an annotation."""
    if get_origin(annotation) is list:
        return get_args(annotation)[0]
    return next(filter(None, map(_item, get_args(annotation))), None)


def test_merge_keys_are_fields_of_the_items() -> None:
    for model in EVERY:
        for name, info in model.model_fields.items():
            for fact in info.metadata:
                if isinstance(fact, Keyed | Merge):
                    fields = {field.alias for field in _item(info.annotation).model_fields.values()}
                    assert set(fact.keys) <= fields, (model, name)


def test_importing_one_kind_does_not_load_the_others() -> None:
    code = "from jobspec.models import PersistentVolumeClaim; import sys; print(*sys.modules)"
    loaded = python(code, check=True).stdout.split()
    assert "jobspec.models.pod.volume" in loaded
    assert "jobspec.models.pytorchjob" not in loaded
