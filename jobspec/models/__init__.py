"""The kinds as pydantic models; each is imported when it is first asked for."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobspec.models.base import Model
    from jobspec.models.customresourcedefinition import CustomResourceDefinition as CustomResourceDefinition
    from jobspec.models.jobset import JobSet as JobSet
    from jobspec.models.pod.pod import Pod as Pod
    from jobspec.models.pod.pod import PodTemplate as PodTemplate
    from jobspec.models.pod.volume import PersistentVolumeClaim as PersistentVolumeClaim
    from jobspec.models.project import Cluster as Cluster
    from jobspec.models.project import Overlay as Overlay
    from jobspec.models.project import Prices as Prices
    from jobspec.models.project import Project as Project
    from jobspec.models.pytorchjob import PyTorchJob as PyTorchJob
    from jobspec.models.runtime import ClusterTrainingRuntime as ClusterTrainingRuntime
    from jobspec.models.runtime import TrainingRuntime as TrainingRuntime
    from jobspec.models.trainjob import TrainJob as TrainJob

_MODULES = {
    "Cluster": "project",
    "ClusterTrainingRuntime": "runtime",
    "CustomResourceDefinition": "customresourcedefinition",
    "JobSet": "jobset",
    "Overlay": "project",
    "PersistentVolumeClaim": "pod.volume",
    "Pod": "pod.pod",
    "PodTemplate": "pod.pod",
    "Prices": "project",
    "Project": "project",
    "PyTorchJob": "pytorchjob",
    "TrainJob": "trainjob",
    "TrainingRuntime": "runtime",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def roots() -> "list[type[Model]]":
    """The models of all kinds."""
    return [__getattr__(name) for name in _MODULES]  # type: ignore[misc]
