"""Train: set up, loop, evaluate, save."""

import io
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import nll_loss
from torch.nn.parallel import DistributedDataParallel

from trainer import checkpoints, data, shards
from trainer.checkpoints import Position, Training
from trainer.config import Config, Refusal
from trainer.group import Termination, barrier, joined, together, total
from trainer.networks import NETWORKS
from trainer.optimizers import optimizer, scheduler
from trainer.processes import Place, keep_memory, threads
from trainer.recording import Record

#: The exit code of a process that SIGTERM ends, as a shell gives it: 128 and SIGTERM's number.
ENDED_BY_SIGNAL = 143


@dataclass(frozen=True)
class Run:
    """What does not change while a model is trained."""

    config: Config
    place: Place
    device: torch.device
    images: data.Images
    tests: data.Images


def train(config: Config, place: Place) -> int:
    """Train as one of the job's processes; gives the exit code."""
    device = _device(config, place)
    keep_memory()
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(threads(place, _quota()))
    with joined(place, config):
        _greet(config, place, device)
        run = Run(config, place, device, *_data(config, place, device))
        torch.manual_seed(config.seed)
        training = _training(config, device)
        torch.manual_seed(config.seed + place.rank)  # each process drops units of its own
        _make_folders(config, place)
        position = checkpoints.resume(training, config, place)  # collective
        _tell(config, position)
        with Record(config, place, position, len(run.images)) as record:
            return _loop(run, training, position, record)


def _loop(run: Run, training: Training, position: Position, record: Record) -> int:
    config, place = run.config, run.place
    termination = Termination()
    learner = _distributed(training)
    while position.epoch <= config.epochs:
        record.epoch(position)
        steps = _epoch(run, training, learner, position, record)
        for position in steps:
            asked_to_end = termination.agreed()  # collective
            if asked_to_end or (config.checkpoint_every and position.step % config.checkpoint_every == 0):
                checkpoints.save(training, position, config, place)  # collective
            if asked_to_end:
                return ENDED_BY_SIGNAL
        loss, accuracy = _evaluate(run, training.model)
        record.test(position, loss, accuracy)
        training.scheduler.step()
        position = Position(position.epoch + 1, 0, position.step)
        checkpoints.save(training, position, config, place)  # collective
        if termination.agreed():  # collective
            return ENDED_BY_SIGNAL
    record.end()
    if config.save_model and place.rank == 0:
        weights = io.BytesIO()
        torch.save(training.model.state_dict(), weights)
        checkpoints.write(Path(config.output_dir) / "model.pt", weights.getvalue())
    return 0


def _epoch(run: Run, training: Training, learner: nn.Module, position: Position, record: Record) -> Iterator[Position]:
    """Train the rest of an epoch; gives the position after each step."""
    config, place, count = run.config, run.place, len(run.images)
    samples = shards.training(shards.order(count, config.seed, position.epoch), position.seen, place).to(run.device)
    whole = config.batch_size * place.world_size
    learner.train()
    for batch in shards.batches(samples, config.batch_size):
        inputs, labels = run.images.batch(batch)
        training.optimizer.zero_grad()
        with torch.autocast(run.device.type, torch.bfloat16, enabled=config.amp):
            loss = nll_loss(learner(inputs), labels)
        loss.backward()  # type: ignore[no-untyped-call]  # collective: averages the gradients
        training.optimizer.step()
        if position.seen // whole % config.log_interval == 0:
            mean = total(loss.detach()) / place.world_size  # collective
            record.train(position, mean.item())  # host sync
        position = Position(position.epoch, min(position.seen + whole, count), position.step + 1)
        yield position


def _evaluate(run: Run, model: nn.Module) -> tuple[float, float]:
    """The mean loss and the accuracy over all test images, each counted once."""
    config = run.config
    sums = torch.zeros(2, dtype=torch.float64, device=run.device)
    model.eval()
    with torch.inference_mode(), torch.autocast(run.device.type, torch.bfloat16, enabled=config.amp):
        samples = shards.evaluation(len(run.tests), run.place).to(run.device)
        for batch in shards.batches(samples, config.test_batch_size):
            inputs, labels = run.tests.batch(batch)
            guesses = model(inputs)
            sums[0] += nll_loss(guesses, labels, reduction="sum")
            sums[1] += (guesses.argmax(1) == labels).sum()
    loss, correct = total(sums).tolist()  # collective, host sync
    return loss / len(run.tests), correct / len(run.tests)


def _device(config: Config, place: Place) -> torch.device:
    if config.no_cuda or not torch.cuda.is_available():
        if config.backend == "nccl":
            raise Refusal("--backend nccl: this torch cannot use the GPU here; take the CUDA image, or say --backend gloo")
        return torch.device("cpu")
    device = torch.device("cuda", place.local_rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def _quota() -> str:
    """What the container may use of the node's CPUs, where that is limited."""
    with suppress(OSError):
        return Path("/sys/fs/cgroup/cpu.max").read_text()
    return "max"


def _greet(config: Config, place: Place, device: torch.device) -> None:
    if device.type == "cuda":
        print("Using CUDA")
        if config.backend != "nccl" and place.world_size > 1:
            print("Warning. Please use `nccl` distributed backend for the best performance using GPUs")
    if place.world_size > 1:
        print(f"Using distributed PyTorch with {config.backend} backend")
    print(f"World Size: {place.world_size}. Rank: {place.rank}", flush=True)


def _tell(config: Config, position: Position) -> None:
    if position.epoch > config.epochs:
        print(f"All {config.epochs} epochs are trained already; train from scratch with --resume never", flush=True)
    elif position.step:
        print(f"Going on in epoch {position.epoch} after {position.seen} images, at step {position.step}", flush=True)


def _data(config: Config, place: Place, device: torch.device) -> tuple[data.Images, data.Images]:
    if place.local_rank == 0:
        data.fetch(config)
    barrier()  # collective: the node's other processes wait for the files
    return data.load(config, device, train=True), data.load(config, device, train=False)


def _training(config: Config, device: torch.device) -> Training:
    # With the channels last, the CPU's convolutions take half the time.
    model = NETWORKS[config.model]().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it
    rule = optimizer(config, model.parameters())
    return Training(model, rule, scheduler(config, rule), device)


def _distributed(training: Training) -> nn.Module:
    """The model, with gradients that are averaged over all processes."""
    if not together():
        return training.model
    devices = [training.device] if training.device.type == "cuda" else None
    # collective: all begin with the first process' weights
    return DistributedDataParallel(training.model, devices, gradient_as_bucket_view=True)


def _make_folders(config: Config, place: Place) -> None:
    if place.rank == 0:
        for folder in (config.output_dir, config.dir):
            try:
                Path(folder).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise Refusal(f"{folder}: cannot make this folder: {error.strerror}") from error
