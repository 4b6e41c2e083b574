"""Resources that are accelerators, by their names: whole GPUs, shares of one, and others such as TPUs; and devices of fast networks.

These are what users call so. What the trainer counts as GPUs is in `trainer.node_resources`: it counts shares, too.
"""

from __future__ import annotations

SEEN_BY_TORCH = ("nvidia.com/gpu", "amd.com/gpu")
"""The GPUs for each of which torchrun starts a process by itself."""
#: Parts of names of accelerators that are no whole GPUs.
OTHER_ACCELERATORS = ("/mig-", "/tpu", "-tpu", "/ascend", "/neuron", "/gaudi", "/npu", "/mlu", "/dcu")
#: Parts of names of devices of fast networks, between the memory of accelerators: RDMA, and the adapters of AWS.
_FABRICS = ("rdma", "infiniband", "/ib", "roce", "mlnx", "mellanox", "hca", "sriov", "hostdev", "efa")
#: Parts of names of resources that count the memory or cores of a shared GPU.
SHARES = ("mem", "core", "percentage", "ratio")
WHOLE_CORE = "neuroncore"
"""A core of an accelerator that a process uses alone."""


def is_accelerator(resource: str) -> bool:
    """True if a resource is a device that models are trained on, or a share of one."""
    return _names_gpu(resource) or _names_other(resource)


def is_fabric(resource: str) -> bool:
    """True if a resource is a device of a fast network."""
    return any(part in resource.lower() for part in _FABRICS)


def is_gpu(resource: str) -> bool:
    """True if a resource is counted in whole GPUs, not in memory or cores of one."""
    return _names_gpu(resource) and not _is_share(resource)


def is_other_accelerator(resource: str) -> bool:
    """True if a resource is counted in slices of a GPU (MIG), TPUs, NPUs or the like.

    A resource that is counted in memory or cores of such a device does not count.
    """
    return _names_other(resource) and not _is_share(resource)


def _names_other(resource: str) -> bool:
    return any(part in resource.lower() for part in OTHER_ACCELERATORS)


def _is_share(resource: str) -> bool:
    """True if a resource is an amount of a device's memory or cores, such as `example.com/npu-memory`."""
    name = resource.lower().rpartition("/")[2].replace(WHOLE_CORE, "")
    return any(part in name for part in SHARES)


def _names_gpu(resource: str) -> bool:
    return "/" in resource and "gpu" in resource.lower()
