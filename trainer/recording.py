"""What a run says: log lines or a bar, TensorBoard scalars, and `metrics.jsonl` in the output folder.

`metrics.jsonl` holds one JSON object a line, of four kinds; `time` is in seconds since 1970:

    {"event": "run", "time": 1.0, "config": {...}, "world_size": 1, "step": 0}
    {"event": "train", "time": 2.0, "epoch": 1, "step": 10, "images": 640, "loss": 2.21, "images_per_second": 5000.0}
    {"event": "test", "time": 3.0, "epoch": 1, "step": 938, "loss": 0.61, "accuracy": 0.77}
    {"event": "end", "time": 3.5, "seconds": 2.5}

`step` counts the optimizer steps of one process since training began, `images` the images of the epoch that all processes have seen.
A resumed run appends: its `run` event says at which step it goes on, and what older lines say of later steps is void.
An interrupted run has no `end`.
"""

import json
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from trainer.checkpoints import Position
from trainer.config import Config, Refusal
from trainer.processes import Place


class Record:
    """A run's record. The first process of a node writes to its log or terminal, the first of all keeps the files."""

    def __init__(self, config: Config, place: Place, position: Position, images: int) -> None:
        self.began = self.marked = time.time()
        self.images, self.seen = images, position.seen
        self.speaks = place.local_rank == 0
        self.bar = tqdm(file=sys.stdout, unit=" images", disable=not (self.speaks and sys.stdout.isatty()))
        self.file = self.board = None
        if place.rank == 0:
            self.file = (Path(config.output_dir) / "metrics.jsonl").open("ab", buffering=0)
            self.board = SummaryWriter(config.dir, purge_step=position.step + 1 if position.step else None)
        self._line("run", config=config.model_dump(), world_size=place.world_size, step=position.step)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.bar.close()
        if self.file and self.board:
            self.file.close()
            self.board.close()

    def epoch(self, position: Position) -> None:
        """The images of *position*'s epoch begin to be trained."""
        self.marked, self.seen = time.time(), position.seen
        self.bar.reset(self.images)
        self.bar.update(position.seen)
        self.bar.set_description(f"Epoch {position.epoch}")

    def train(self, position: Position, loss: float) -> None:
        """The *loss* of the step that comes after *position*."""
        now, done = time.time(), position.seen - self.seen
        rate = done / (now - self.marked) if done else None
        self.marked, self.seen = now, position.seen
        percent = 100 * position.seen / self.images
        self._say(f"Train Epoch: {position.epoch} [{position.seen}/{self.images} ({percent:.0f}%)]\tloss={loss:.4f}")
        self.bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
        self.bar.update(done)
        self._line("train", epoch=position.epoch, step=position.step, images=position.seen, loss=loss, images_per_second=rate)
        if self.board:
            self.board.add_scalar("loss", loss, position.step)

    def test(self, position: Position, loss: float, accuracy: float) -> None:
        """What the test images gave after *position*'s epoch."""
        self.bar.update(self.images - self.bar.n)
        self._say(f"\naccuracy={accuracy:.4f}\n")
        self.bar.write(f"Epoch {position.epoch}: accuracy={accuracy:.4f}", file=sys.stdout) if not self.bar.disable else None
        self._line("test", epoch=position.epoch, step=position.step, loss=loss, accuracy=accuracy)
        if self.board:
            self.board.add_scalar("test_loss", loss, position.step)
            self.board.add_scalar("accuracy", accuracy, position.epoch)

    def end(self) -> None:
        """Training is done, all of it."""
        self._line("end", seconds=time.time() - self.began)

    def _say(self, line: str) -> None:
        if self.speaks and self.bar.disable:
            print(line, flush=True)

    def _line(self, event: str, **values: object) -> None:
        if self.file:
            line = json.dumps({"event": event, "time": time.time(), **values}) + "\n"
            try:
                self.file.write(line.encode())
            except OSError as error:
                raise Refusal(f"{self.file.name} could not be written: {error.strerror}") from error
