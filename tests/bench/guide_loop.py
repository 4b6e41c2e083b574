"""The training program of guide 001 or 004, in our own words: what `bench_trainer.py` measures the trainer against.

    python tests/bench/guide_loop.py {001,004} DATA

It does what the guides' programs do, image by image: torchvision's datasets with a transform for each image, a DataLoader
without workers, the guide's network and optimizer, one epoch with a line for every tenth batch, and an evaluation. Guide 001
wraps its model for a process group of one, as its program does where it runs alone.
"""

import argparse
import os
from collections.abc import Iterable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets, transforms

Batches = Iterable[tuple[Tensor, Tensor]]


def network_001() -> nn.Module:
    """Two convolutions of 5 by 5, each halved by pooling, and two linear layers."""
    features = [nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*features, nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10), nn.LogSoftmax(1))


def network_004() -> nn.Module:
    """Two convolutions of 3 by 3, one pooling, and dropout before and between the linear layers."""
    features = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout2d(0.25)]
    linear = [nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10)]
    return nn.Sequential(*features, nn.Flatten(), *linear, nn.LogSoftmax(1))


def train(model: nn.Module, batches: DataLoader[tuple[Tensor, Tensor]], optimizer: torch.optim.Optimizer) -> None:
    """One epoch."""
    model.train()
    for number, (images, labels) in enumerate(batches):
        optimizer.zero_grad()
        loss = functional.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        if number % 10 == 0:
            print(f"Train Epoch: 1 [{number * len(images)} ({number / len(batches):.0%})]\tloss={loss.item():.4f}")


def evaluate(model: nn.Module, batches: Batches, size: int) -> None:
    """The accuracy on the test set."""
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in batches:
            correct += int(model(images).argmax(1).eq(labels).sum().item())
    print(f"accuracy={correct / size:.4f}")


def guide_001(data: Path) -> None:
    """FashionMNIST, SGD with momentum, a process group of one."""
    dist.init_process_group("gloo")
    model = nn.parallel.DistributedDataParallel(network_001())
    each = transforms.Compose([transforms.ToTensor()])
    train_set = datasets.FashionMNIST(data, train=True, transform=each)
    test_set = datasets.FashionMNIST(data, train=False, transform=each)
    train(
        model,
        DataLoader(train_set, batch_size=64, sampler=DistributedSampler(train_set)),
        torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.5),
    )
    evaluate(model, DataLoader(test_set, batch_size=1000, sampler=DistributedSampler(test_set)), len(test_set))
    dist.destroy_process_group()


def guide_004(data: Path) -> None:
    """MNIST, normalised, Adadelta."""
    model = network_004()
    each = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    train_set = datasets.MNIST(data, train=True, transform=each)
    test_set = datasets.MNIST(data, train=False, transform=each)
    train(model, DataLoader(train_set, batch_size=64), torch.optim.Adadelta(model.parameters(), lr=1.0))
    evaluate(model, DataLoader(test_set, batch_size=1000, shuffle=True), len(test_set))


GUIDES = {"001": guide_001, "004": guide_004}


def main() -> None:
    """Run one guide's program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guide", choices=GUIDES)
    parser.add_argument("data", type=Path)
    options = parser.parse_args()
    os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="localhost", MASTER_PORT="0")
    torch.manual_seed(1)
    GUIDES[options.guide](options.data)


if __name__ == "__main__":
    main()
