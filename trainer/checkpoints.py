"""A training's whole state in one file, which is always whole."""

import io
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from trainer.config import Config, Refusal, flag
from trainer.group import everyone, from_first
from trainer.processes import Place

#: What has to be the same when training goes on. The number of processes and --batch-size may differ.
SAME = ("dataset", "model", "optimizer", "lr", "momentum", "gamma", "seed")


@dataclass(frozen=True)
class Position:
    """How far training is: *seen* images of the order of *epoch* are done, by *step* steps of the optimizer in all."""

    epoch: int = 1
    seen: int = 0
    step: int = 0


@dataclass(frozen=True)
class Training:
    """What changes while a model is trained."""

    model: nn.Module
    optimizer: Optimizer
    scheduler: LRScheduler
    device: torch.device


def path(config: Config) -> Path:
    """Where a run saves its checkpoint."""
    return Path(config.output_dir) / "checkpoint.pt"


def save(training: Training, position: Position, config: Config, place: Place) -> None:
    """Called by every process, since each has random numbers of its own; the first one writes."""
    random = everyone(_random(training.device), place)
    if place.rank == 0:
        state = {
            "config": config.model_dump(),
            "position": vars(position),
            "model": training.model.state_dict(),
            "optimizer": training.optimizer.state_dict(),
            "scheduler": training.scheduler.state_dict(),
            "random": random,
        }
        content = io.BytesIO()
        torch.save(state, content)
        write(path(config), content.getvalue())


def write(path: Path, content: bytes) -> None:
    """Write a file at once: whatever happens, the old content is there, or the new one."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        old = "; what it held before is still there" if path.exists() else ""
        raise Refusal(f"{path} could not be written: {error.strerror}{old}") from error
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)  # the new name lasts too
    os.close(folder)


def resume(training: Training, config: Config, place: Place) -> Position:
    """Go on where a checkpoint ends, in every process; from the beginning where there is none.

    The first process alone needs to see the file. With as many processes as before, all goes on bit for bit. With another number, the
    images of the epoch that are not done are shared out anew, so that a step has another batch; new processes begin random numbers anew.
    """
    content = from_first(_read(config) if place.rank == 0 else b"", place)
    if not content:
        return Position()
    state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    training.model.load_state_dict(state["model"])
    training.optimizer.load_state_dict(state["optimizer"])
    training.scheduler.load_state_dict(state["scheduler"])
    if place.rank < len(state["random"]):
        _set_random(state["random"][place.rank], training.device)
    return Position(**state["position"])


def _read(config: Config) -> bytes:
    """The checkpoint to go on from, if it is one of such a training; nothing where there is none."""
    file = path(config) if config.resume == "auto" else Path(config.resume)
    if config.resume == "never" or (config.resume == "auto" and not file.exists()):
        return b""
    again = "give another one with --resume, or begin again with --resume never"
    try:
        content = file.read_bytes()
        then: dict[str, Any] = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)["config"]
    except OSError as error:
        raise Refusal(f"{file} cannot be read: {error.strerror}; {again}") from error
    except Exception as error:  # torch.load has no one type for what is no checkpoint
        raise Refusal(f"{file} is not a checkpoint of this program, or is damaged; {again}") from error
    now = config.model_dump()
    differences = [f"{flag(name)} {then.get(name)} there and {now[name]} here" for name in SAME if then.get(name) != now[name]]
    if differences:
        raise Refusal(
            f"{file} is of another training ({', '.join(differences)}): give the same flags, another --output-dir, or --resume never"
        )
    return content


def _random(device: torch.device) -> Tensor:
    """The state of the random numbers: the device's behind the CPU's."""
    cpu = torch.get_rng_state()
    return torch.cat([cpu, torch.cuda.get_rng_state(device)]) if device.type == "cuda" else cpu


def _set_random(state: Tensor, device: torch.device) -> None:
    size = len(torch.get_rng_state())
    torch.set_rng_state(state[:size])
    if device.type == "cuda" and len(state) > size:
        torch.cuda.set_rng_state(state[size:], device)
