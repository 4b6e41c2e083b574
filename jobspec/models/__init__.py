"""The kinds as pydantic models; each is imported when it is first asked for."""

from importlib import import_module
from typing import TYPE_CHECKING

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "base",
    "customresourcedefinition",
    "meta",
    "pod.pod",
    "pod.spec",
    "pod.volume",
)

if TYPE_CHECKING:
    from jobspec.models.base import Model
    from jobspec.models.customresourcedefinition import CustomResourceDefinition as CustomResourceDefinition
    from jobspec.models.jobset import JobSet as JobSet
    from jobspec.models.kueue import AdmissionCheck as AdmissionCheck
    from jobspec.models.kueue import ClusterQueue as ClusterQueue
    from jobspec.models.kueue import Cohort as Cohort
    from jobspec.models.kueue import LocalQueue as LocalQueue
    from jobspec.models.kueue import MultiKueueCluster as MultiKueueCluster
    from jobspec.models.kueue import MultiKueueConfig as MultiKueueConfig
    from jobspec.models.kueue import ProvisioningRequestConfig as ProvisioningRequestConfig
    from jobspec.models.kueue import ResourceFlavor as ResourceFlavor
    from jobspec.models.kueue import Topology as Topology
    from jobspec.models.kueue import WorkloadPriorityClass as WorkloadPriorityClass
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
    from jobspec.models.workload import Workload as Workload

_MODULES = {
    "customresourcedefinition": "CustomResourceDefinition",
    "jobset": "JobSet",
    "kueue": "AdmissionCheck ClusterQueue Cohort LocalQueue MultiKueueCluster MultiKueueConfig ProvisioningRequestConfig ResourceFlavor "
    "Topology WorkloadPriorityClass",
    "pod.pod": "Pod PodTemplate",
    "pod.volume": "PersistentVolumeClaim",
    "project": "Cluster Overlay Prices Project",
    "pytorchjob": "PyTorchJob",
    "runtime": "ClusterTrainingRuntime TrainingRuntime",
    "trainjob": "TrainJob",
    "workload": "Workload",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def roots() -> "list[type[Model]]":
    """Return the models of all kinds."""
    return [__getattr__(name) for name in sorted(_MODULE_OF, key=str.lower)]  # type: ignore[misc]
