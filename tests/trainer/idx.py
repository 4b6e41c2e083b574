"""Files in the MNIST layout, made of scikit-learn's handwritten digits: scaled to 28x28, each shifted a little."""

import gzip
import struct
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy
from numpy.typing import NDArray

Bytes = NDArray[numpy.uint8]


def write(folder: Path, *, train: int, test: int, packed: bool = False) -> Path:
    """Make *folder*, with so many images for training and for testing; every file is compressed where *packed*."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents(train, test).items():
        path = folder / (f"{name}.gz" if packed else name)
        path.write_bytes(gzip.compress(content, 1, mtime=0) if packed else content)
    return folder


def contents(train: int, test: int) -> dict[str, bytes]:
    """The four files by name; no digit is in both sets."""
    chance = numpy.random.default_rng(0)
    small, digits = _digits()
    fifth = numpy.arange(len(digits)) % 5 == 0
    files = {}
    for kind, count, among in (("train", train, ~fifth), ("t10k", test, fifth)):
        chosen = chance.choice(numpy.flatnonzero(among), count)
        images, labels = _frames(small[chosen], chance), digits[chosen]
        files[f"{kind}-images-idx3-ubyte"] = struct.pack(">4I", 2051, count, 28, 28) + images.tobytes()
        files[f"{kind}-labels-idx1-ubyte"] = struct.pack(">2I", 2049, count) + labels.tobytes()
    return files


@cache
def _digits() -> tuple[NDArray[numpy.float64], Bytes]:
    """Images of 8x8, and which digits they are, read as `load_digits` does, without scikit-learn, which takes seconds to import."""
    found = find_spec("sklearn")
    assert found and found.origin
    table = numpy.loadtxt(Path(found.origin).parent / "datasets" / "data" / "digits.csv.gz", delimiter=",")
    return table[:, :-1].reshape(-1, 8, 8), table[:, -1].astype(numpy.uint8)


def _frames(small: NDArray[numpy.float64], chance: numpy.random.Generator) -> Bytes:
    """Images of 8x8, enlarged to 24x24, somewhere in 28x28."""
    large = (numpy.kron(small, numpy.ones((1, 3, 3))) * (255 / 16)).astype(numpy.uint8)
    frames = numpy.zeros((len(large), 28, 28), numpy.uint8)
    for frame, image, (down, right) in zip(frames, large, chance.integers(0, 5, (len(large), 2)), strict=True):
        frame[down : down + 24, right : right + 24] = image
    return frames
