"""The files of a data set: where they are looked for, and where they come from; without torch, which takes seconds to load."""

import sys
from pathlib import Path

from trainer.config import Config
from trainer.processes import Place

FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
#: Data set -> the folder that torchvision keeps it in.
FOLDERS = {"fashion-mnist": "FashionMNIST", "mnist": "MNIST"}
#: Data set -> where its files are downloaded from, before torchvision's own mirrors.
MIRRORS = {
    "fashion-mnist": ("https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",),
    "mnist": ("https://ossci-datasets.s3.amazonaws.com/mnist/",),
}


def found_folder(config: Config) -> Path | None:
    """The folder that holds all files, each plain or compressed: torchvision's own, or the given one itself."""
    root = Path(config.data_dir)
    for folder in (root / FOLDERS[config.dataset] / "raw", root):
        if all(any((folder / name).is_file() for name in (each, each + ".gz")) for each in FILES):
            return folder
    return None


def given_mirrors(config: Config) -> list[str]:
    """The URLs of `--mirrors`, each with a slash at its end."""
    return [each.strip().rstrip("/") + "/" for each in config.mirrors.split(",") if each.strip()]


def announce(config: Config, place: Place) -> None:
    """Say that the files will be downloaded, and from where; torch takes seconds to load before that."""
    if place.local_rank == 0 and config.download and found_folder(config) is None:
        first = [*given_mirrors(config), *MIRRORS[config.dataset]][0]
        where = f"{config.dataset} is not in {config.data_dir}: downloading it from {first} once torch is loaded"
        print(f"trainer: {where}", file=sys.stderr, flush=True)
