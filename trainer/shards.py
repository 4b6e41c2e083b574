"""Which samples a process sees: in an epoch of training, and in an evaluation."""

from collections.abc import Iterator

import torch
from torch import Tensor

from trainer.processes import Place


def order(count: int, seed: int, epoch: int) -> Tensor:
    """The order of an epoch, the same for all processes: what DistributedSampler makes after `set_epoch`."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed + epoch))


def training(order: Tensor, seen: int, place: Place) -> Tensor:
    """A process' samples of an epoch of which the first *seen* are done; all processes get equally many.

    Processes take turns, so that after each step a prefix of the order is done, and another number of processes can go on behind it.
    Where the rest does not divide evenly, the order begins anew to fill it up.
    """
    count = len(order)
    share = -(-max(0, count - seen) // place.world_size)
    return order[(seen + place.rank + torch.arange(share) * place.world_size) % count]


def evaluation(count: int, place: Place) -> Tensor:
    """A process' samples of an evaluation: each sample is some process', and of one only."""
    return torch.arange(count)[place.rank :: place.world_size]


def batches(samples: Tensor, size: int) -> Iterator[Tensor]:
    """Samples, some at a time; the last batch may be smaller."""
    return (samples[first : first + size] for first in range(0, len(samples), size))
