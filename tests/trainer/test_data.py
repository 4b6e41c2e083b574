"""Images from a folder or a mirror, and what is said of files that are missing or damaged."""

import gzip
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import torch
from torchvision import datasets, transforms

from tests.trainer import idx
from trainer import data
from trainer.config import Config, Refusal
from trainer.data import fetch, load
from trainer.files import FILES

CPU = torch.device("cpu")


def _config(folder: Path, **values: object) -> Config:
    return Config.model_validate({"data_dir": str(folder), "download": False, **values})


@pytest.mark.parametrize(("place", "packed"), [(".", False), (".", True), ("FashionMNIST/raw", False), ("FashionMNIST/raw", True)])
def test_a_plain_folder_and_torchvisions_layout_compressed_or_not(place: str, packed: bool, tmp_path: Path) -> None:
    idx.write(tmp_path / place, train=50, test=20, packed=packed)
    before = sorted(tmp_path.rglob("*"))
    fetch(_config(tmp_path))
    train, test = (load(_config(tmp_path), CPU, train=each) for each in (True, False))
    assert (train.pixels.shape, test.pixels.shape) == ((50, 1, 28, 28), (20, 1, 28, 28))
    assert train.pixels.flatten().tolist() == list(idx.contents(50, 20)["train-images-idx3-ubyte"][16:])
    assert test.labels.tolist() == list(idx.contents(50, 20)["t10k-labels-idx1-ubyte"][8:])
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("name", "scale"), [("fashion-mnist", None), ("mnist", transforms.Normalize((0.1307,), (0.3081,)))])
def test_a_batch_is_what_the_guides_make_of_single_images(name: str, scale: transforms.Normalize | None, tmp_path: Path) -> None:
    idx.write(tmp_path / "MNIST" / "raw", train=50, test=20)
    idx.write(tmp_path / "FashionMNIST" / "raw", train=50, test=20)
    steps = [transforms.ToTensor(), *([scale] if scale else [])]
    guide = data.SOURCES[name].dataset(tmp_path, train=True, transform=transforms.Compose(steps))
    samples = torch.tensor([3, 1, 49])
    inputs, labels = load(_config(tmp_path, dataset=name), CPU, train=True).batch(samples)
    torch.testing.assert_close(inputs, torch.stack([guide[int(each)][0] for each in samples]))
    assert labels.tolist() == [guide[int(each)][1] for each in samples]


def test_missing_files_are_named(tmp_path: Path) -> None:
    idx.write(tmp_path, train=50, test=20)
    (tmp_path / FILES[3]).unlink()
    with pytest.raises(Refusal, match=r"the files of fashion-mnist \(train-images-idx3-ubyte, .*\) are not all here, and --no-download"):
        fetch(_config(tmp_path))


def _damage_head(content: bytes) -> bytes:
    return b"\x00\x00\x08\x02" + content[4:]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", [lambda each: each[:-1], lambda each: each + b"\0", lambda _: b"", _damage_head])
def test_a_damaged_file_is_named(name: str, damage: partial[bytes], tmp_path: Path) -> None:
    idx.write(tmp_path, train=50, test=20)
    (tmp_path / name).write_bytes(damage((tmp_path / name).read_bytes()))
    with pytest.raises(Refusal, match=f"{name} is damaged, or holds no (images|labels)"):
        load(_config(tmp_path), CPU, train=name.startswith("train"))


@pytest.mark.parametrize("damage", [lambda each: each[:-9], lambda each: each[:40] + b"\xff\xff" + each[42:], lambda _: b"x"])
def test_a_damaged_archive_is_named(damage: partial[bytes], tmp_path: Path) -> None:
    idx.write(tmp_path, train=50, test=20, packed=True)
    packed = tmp_path / f"{FILES[0]}.gz"
    packed.write_bytes(damage(packed.read_bytes()))
    with pytest.raises(Refusal, match=r"train-images-idx3-ubyte\.gz is damaged: .*; get it again"):
        load(_config(tmp_path), CPU, train=True)


def test_labels_beyond_nine_and_of_another_number(tmp_path: Path) -> None:
    idx.write(tmp_path, train=50, test=20)
    labels = tmp_path / FILES[1]
    whole = labels.read_bytes()
    labels.write_bytes(whole[:-1] + b"\x0a")
    with pytest.raises(Refusal, match="labels go from 0 to 9, and one is 10"):
        load(_config(tmp_path), CPU, train=True)
    labels.write_bytes(whole[:4] + (49).to_bytes(4, "big") + whole[8:-1])
    with pytest.raises(Refusal, match="hold different numbers of images and labels"):
        load(_config(tmp_path), CPU, train=True)


@pytest.fixture
def mirrors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Two mirrors in one server, `damaged/` and `whole/`; the known ones are out of reach, and the checksums those of our files."""
    for folder in ("whole", "damaged"):
        idx.write(tmp_path / "served" / folder, train=50, test=20, packed=True)
    sums = [(f"{each}.gz", hashlib.md5((tmp_path / "served" / "whole" / f"{each}.gz").read_bytes()).hexdigest()) for each in FILES]
    (tmp_path / "served" / "damaged" / f"{FILES[2]}.gz").write_bytes(gzip.compress(b"something else"))
    monkeypatch.setattr(datasets.FashionMNIST, "resources", sums)
    monkeypatch.setattr(datasets.FashionMNIST, "mirrors", [])
    monkeypatch.setitem(data.SOURCES, "fashion-mnist", replace(data.SOURCES["fashion-mnist"], mirrors=()))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "served")))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_download_goes_to_the_next_mirror_where_one_has_another_checksum(
    mirrors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = _config(tmp_path / "data", download=True, mirrors=f"http://127.0.0.1:9/,{mirrors}/damaged, {mirrors}/whole/")
    fetch(config)
    assert sorted(each.name for each in (tmp_path / "data" / "FashionMNIST" / "raw").iterdir()) == sorted(FILES)
    assert len(load(config, CPU, train=False)) == 20
    said = capsys.readouterr().err  # with progress bars, which write over themselves
    assert f"trainer: downloading {mirrors}/whole/{FILES[2]}.gz\n" in said  # the damaged one
    assert said.count("trainer: downloading ") == 2 * len(FILES) + 1


def test_a_download_that_no_mirror_gives_says_why_and_leaves_nothing(mirrors: str, tmp_path: Path) -> None:
    config = _config(tmp_path / "data", download=True, mirrors=f"{mirrors}/nowhere,{mirrors}/damaged")
    with pytest.raises(Refusal) as refusal:
        fetch(config)
    why = f"{FILES[2]}.gz could not be downloaded; give --mirrors a URL that has it, or put all files into --data-dir:"
    tried = [
        f"  {mirrors}/nowhere/{FILES[2]}.gz: HTTP Error 404: File not found",
        f"  {mirrors}/damaged/{FILES[2]}.gz: File not found or corrupted.",
    ]
    assert str(refusal.value).splitlines() == [why, *tried]
    assert [each for each in (tmp_path / "data").rglob("*") if each.is_file()] == []
