"""The two optimizers of the guides, each with the rule by which its learning rate changes after an epoch."""

from collections.abc import Iterable

from torch import nn
from torch.optim import SGD, Adadelta, Optimizer
from torch.optim.lr_scheduler import LRScheduler, StepLR

from trainer.config import Config


def optimizer(config: Config, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """SGD with momentum, or Adadelta."""
    if config.optimizer == "sgd":
        return SGD(parameters, lr=config.lr, momentum=config.momentum)
    return Adadelta(parameters, lr=config.lr)


def scheduler(config: Config, optimizer: Optimizer) -> LRScheduler:
    """SGD keeps its learning rate; Adadelta's is multiplied by `--gamma` after each epoch."""
    return StepLR(optimizer, step_size=1, gamma=config.gamma if config.optimizer == "adadelta" else 1.0)
