"""Which resources are accelerators, by their names."""

import pytest

from jobspec.operators.accelerators import is_accelerator, is_gpu, is_other_accelerator

GPUS = ("nvidia.com/gpu", "amd.com/gpu", "nvidia.com/gpu.shared", "gpu.intel.com/i915", "corp.example/a100-gpu", "example.com/GPU")
SHARES = ("tencent.com/gpu-core", "nvidia.com/gpumem", "aliyun.com/gpu-mem", "gpu.intel.com/millicores")
OTHERS = (
    *("nvidia.com/mig-3g.20gb", "google.com/tpu", "cloud.google.com/gke-tpu-topology", "habana.ai/gaudi", "aws.amazon.com/neuroncore"),
    *("huawei.com/Ascend910", "cambricon.com/mlu", "hygon.com/dcu"),
)


@pytest.mark.parametrize("name", [*GPUS, *SHARES, *OTHERS])
def test_devices_that_models_are_trained_on_are_accelerators(name: str) -> None:
    assert is_accelerator(name)
    assert (is_gpu(name), is_other_accelerator(name)) == (name in GPUS, name in OTHERS)


@pytest.mark.parametrize("name", ["cpu", "memory", "ephemeral-storage", "rdma/hca", "gpu", "hugepages-2Mi", "example.com/output"])
def test_other_resources_are_none(name: str) -> None:
    assert not is_accelerator(name)
