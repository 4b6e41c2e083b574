"""FashionMNIST and MNIST, as tensors on the device that trains."""

import gzip
import math
import os
import shutil
import socket
import struct
import sys
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torchvision import datasets
from torchvision.datasets.mnist import read_image_file, read_label_file
from torchvision.datasets.utils import download_and_extract_archive

from trainer.config import Config, Refusal
from trainer.files import FILES, MIRRORS, found_folder, given_mirrors


@dataclass(frozen=True)
class Source:
    """Where a data set comes from, and how the guides scale its pixels."""

    dataset: type[datasets.MNIST]
    mirrors: tuple[str, ...]
    mean: float
    deviation: float


SOURCES = {
    "fashion-mnist": Source(datasets.FashionMNIST, MIRRORS["fashion-mnist"], 0.0, 1.0),
    "mnist": Source(datasets.MNIST, MIRRORS["mnist"], 0.1307, 0.3081),
}


@dataclass(frozen=True)
class Images:
    """Images and their labels. Pixels stay bytes, a quarter of the memory, and become numbers a batch at a time."""

    pixels: Tensor
    labels: Tensor
    mean: float
    deviation: float

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, samples: Tensor) -> tuple[Tensor, Tensor]:
        """Some images, scaled, and their labels."""
        numbers = self.pixels[samples].float().sub_(255 * self.mean).div_(255 * self.deviation)
        return numbers, self.labels[samples]


def fetch(config: Config) -> None:
    """See to it that the files are in the folder; one process of a node calls this while the others wait."""
    if found_folder(config) is None:
        if not config.download:
            raise Refusal(f"{config.data_dir}: {_lacking(config)} and --no-download forbids to get them")
        _download(config)


def load(config: Config, device: torch.device, *, train: bool) -> Images:
    """The images for training, or those for testing."""
    folder = found_folder(config)
    if folder is None:
        raise Refusal(f"{config.data_dir}: {_lacking(config)}")
    source = SOURCES[config.dataset]
    names = FILES[:2] if train else FILES[2:]
    with tempfile.TemporaryDirectory() as scratch:
        images, labels = (_plain(folder, name, Path(scratch)) for name in names)
        count = _count(images, folder / names[0])
        if count != _count(labels, folder / names[1]):
            raise Refusal(f"{folder}: {names[0]} and {names[1]} hold different numbers of images and labels")
        pixels, targets = read_image_file(str(images)), read_label_file(str(labels))
    if int(targets.max()) > 9:
        raise Refusal(f"{folder / names[1]}: labels go from 0 to 9, and one is {int(targets.max())}")
    return Images(pixels.unsqueeze(1).to(device), targets.to(device), source.mean, source.deviation)


def _lacking(config: Config) -> str:
    return f"the files of {config.dataset} ({', '.join(FILES)}, each plain or .gz) are not all here,"


def _plain(folder: Path, name: str, scratch: Path) -> Path:
    """A file without its compression, which holds a checksum; *folder* may be read-only."""
    if (folder / name).is_file():
        return folder / name
    try:
        with gzip.open(folder / f"{name}.gz") as packed, (scratch / name).open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    except (OSError, EOFError, zlib.error) as error:
        raise Refusal(f"{folder / name}.gz is damaged: {error}; get it again") from error
    return scratch / name


def _count(path: Path, name: Path) -> int:
    """How many images or labels are in an IDX file of the right shape; *name* is how its user knows it."""
    shape = (28, 28) if "images" in path.name else ()
    with path.open("rb") as file:
        head = file.read(8 + 4 * len(shape))
    expected = (0x800 + 1 + len(shape), *shape)
    if len(head) == 8 + 4 * len(shape):
        magic, count, *sides = struct.unpack(f">{len(head) // 4}I", head)
        if (magic, *sides) == expected and count and path.stat().st_size == len(head) + count * math.prod(shape):
            return int(count)
    what = "images of 28x28" if shape else "labels"
    raise Refusal(f"{name} is damaged, or holds no {what}: its {path.stat().st_size} bytes are not what its head says; get it again")


def _download(config: Config) -> None:
    """Get the files from the first mirror that gives each with the right checksum; they appear in the folder when all are there."""
    source = SOURCES[config.dataset]
    folder = Path(config.data_dir) / source.dataset.__name__ / "raw"
    mirrors = list(dict.fromkeys([*given_mirrors(config), *source.mirrors, *source.dataset.mirrors]))
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".partial-") as partial:
        for packed, checksum in source.dataset.resources:
            _fetch(packed, checksum, mirrors, partial)
        for name in FILES:
            os.replace(Path(partial) / name, folder / name)


def _fetch(name: str, checksum: str, mirrors: list[str], folder: str) -> None:
    problems = []
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(30)  # torchvision's own downloads wait for ever
    try:
        for mirror in mirrors:
            print(f"trainer: downloading {mirror}{name}", file=sys.stderr, flush=True)
            try:
                download_and_extract_archive(mirror + name, folder, filename=name, md5=checksum)
                return
            except (OSError, RuntimeError) as error:  # no network, or another checksum
                problems.append(f"  {mirror}{name}: {error}")
    finally:
        socket.setdefaulttimeout(before)
    why = "\n".join(problems)
    raise Refusal(f"{name} could not be downloaded; give --mirrors a URL that has it, or put all files into --data-dir:\n{why}")
