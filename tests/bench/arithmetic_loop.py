"""Nothing but the arithmetic of a guide's training: the least time that torch needs for it, images and all else for nothing.

    python tests/bench/arithmetic_loop.py {001,004} DATA

The trainer's own networks, layout and optimizers, since they are the fastest; scaled images in memory, in the order of the files; no
shuffling, no log, no record, no checkpoint. As many steps as the guide's program takes, and the same evaluation.
"""

import argparse

import torch
from torch.nn.functional import nll_loss

from trainer.config import Config, parse
from trainer.data import load
from trainer.networks import NETWORKS
from trainer.optimizers import optimizer
from trainer.processes import keep_memory

GUIDES = {"001": [], "004": ["--dataset=mnist", "--model=cnn-dropout", "--optimizer=adadelta", "--lr=1.0"]}


def images(config: Config, *, train: bool, size: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """All images and labels, so many at a time."""
    found = load(config, torch.device("cpu"), train=train)
    return [found.batch(numbers) for numbers in torch.arange(len(found)).split(size)]


def main() -> None:
    """Train an epoch, and evaluate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guide", choices=GUIDES)
    parser.add_argument("data")
    options = parser.parse_args()
    config = parse([*GUIDES[options.guide], f"--data-dir={options.data}"])
    keep_memory()
    torch.manual_seed(config.seed)
    model = NETWORKS[config.model]().to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it
    rule = optimizer(config, model.parameters())
    for inputs, labels in images(config, train=True, size=config.batch_size):
        rule.zero_grad()
        nll_loss(model(inputs), labels).backward()
        rule.step()
    model.eval()
    tests = images(config, train=False, size=config.test_batch_size)
    with torch.inference_mode():
        correct = sum(int((model(inputs).argmax(1) == labels).sum()) for inputs, labels in tests)
    print(f"accuracy={correct / sum(len(labels) for _, labels in tests):.4f}")


if __name__ == "__main__":
    main()
