"""The command line: every flag is a field of `Config`."""

import argparse
import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal, NoReturn, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo


class Refusal(Exception):
    """Why the program does not begin, or cannot go on, in words for its user."""


def _whole(value: object) -> object:
    """A text that is no integer, such as `1.0` or `1_000`, stays a text, and is refused as one."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value) else value


def _number(value: object) -> object:
    """A text that is no decimal number, such as `nan` or `1_0`, stays a text."""
    return float(value) if isinstance(value, str) and re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value) else value


Integer = Annotated[int, BeforeValidator(_whole), Field(strict=True)]
Number = Annotated[float, BeforeValidator(_number), Field(strict=True, allow_inf_nan=False)]


class Config(BaseModel):
    """The settings of a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: Literal["fashion-mnist", "mnist"] = Field("fashion-mnist", description="images to train on")
    model: Literal["cnn", "cnn-dropout"] = Field("cnn", description="network")
    optimizer: Literal["sgd", "adadelta"] = Field("sgd", description="SGD with momentum, or Adadelta with a decaying learning rate")
    batch_size: Integer = Field(64, ge=1, description="images of a training step, for each process")
    test_batch_size: Integer = Field(1000, ge=1, description="images of an evaluation step, for each process")
    epochs: Integer = Field(1, ge=1, description="times to go through the training images")
    lr: Number = Field(0.01, gt=0, description="learning rate")
    momentum: Number = Field(0.5, ge=0, lt=1, description="momentum (of sgd)")
    gamma: Number = Field(0.7, gt=0, le=1, description="factor on the learning rate after each epoch (of adadelta)")
    no_cuda: bool = Field(False, description="train on the CPU even where there is a GPU")
    amp: bool = Field(False, description="compute in bfloat16 where that is safe")
    seed: Integer = Field(1, ge=0, lt=2**32, description="seed of every random number")
    log_interval: Integer = Field(10, ge=1, description="training steps between two lines of the log")
    backend: Literal["gloo", "nccl", "mpi"] = Field("gloo", description="how several processes talk; nccl needs a GPU for each")
    rendezvous_timeout: Integer = Field(1800, ge=1, description="seconds to wait until all processes have come")
    data_dir: str = Field("data", min_length=1, description="folder of the images, in torchvision's layout or plain")
    download: bool = Field(True, description="get images that are not in the folder from the internet")
    mirrors: str = Field("", description="URLs of folders with the images' files, separated by commas, tried before the known ones")
    output_dir: str = Field("output", min_length=1, description="folder for metrics.jsonl, checkpoint.pt and model.pt")
    dir: str = Field("logs", min_length=1, description="folder for TensorBoard's files")
    save_model: bool = Field(False, description="write the trained weights to model.pt")
    checkpoint_every: Integer = Field(0, ge=0, description="training steps between checkpoints, besides that after each epoch; 0 for none")
    resume: str = Field(
        "auto", min_length=1, description="auto: go on from the output folder's checkpoint if there is one; never; or a checkpoint's path"
    )


def flag(name: str) -> str:
    """How a field is spelt on the command line."""
    return "--" + name.replace("_", "-")


def parse(argv: Sequence[str]) -> Config:
    """Read the command line; a `Refusal` names all that is wrong with it."""
    given, unknown = _parser().parse_known_args(list(argv))
    problems = list(_unknown(unknown))
    try:
        config = Config(**vars(given))
    except ValidationError as error:
        names = [str(each["loc"][0]) for each in error.errors()]
        problems += [f"{flag(name)}: expected {_expected(name)}, got {getattr(given, name)!r}" for name in names]
    if problems:
        raise Refusal("\n".join(problems))
    return config


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refusal(message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m trainer", description="Train an image classifier.", allow_abbrev=False)
    for name, field in Config.model_fields.items():
        parser.add_argument(flag(name), dest=name, help=f"{field.description} (default: {_shown(field.default)})", **_shape(field))
    return parser


def _shape(field: FieldInfo) -> dict[str, Any]:
    """A boolean that is true by default can be denied, `--no-download`; one that is false is a bare flag."""
    if field.annotation is bool:
        return {"action": argparse.BooleanOptionalAction if field.default else "store_true", "default": argparse.SUPPRESS}
    if get_origin(field.annotation) is Literal:
        return {"metavar": "{" + ",".join(get_args(field.annotation)) + "}", "default": argparse.SUPPRESS}
    return {"metavar": "TEXT" if field.annotation is str else "N", "default": argparse.SUPPRESS}


def _shown(default: object) -> str:
    return {"True": "yes", "False": "no", "": "none"}.get(str(default), str(default))


def _unknown(words: Sequence[str]) -> Iterator[str]:
    """What is wrong with words that belong to no flag; the words after an unknown flag may be its values."""
    names = [flag(each) for each in Config.model_fields]
    for before, word in pairwise(["", *words]):
        if word.startswith("-"):
            name = word.partition("=")[0]
            near = difflib.get_close_matches(name, names, 1)
            yield f"{name}: no such flag" + (f"; did you mean {near[0]}?" if near else " (--help lists them)")
        elif not before.startswith("-"):
            yield f"{word}: a value follows its flag, such as --epochs 5"


def _expected(name: str) -> str:
    """The values of a field in words, read from its JSON Schema."""
    schema = Config.model_json_schema()["properties"][name]
    if "enum" in schema:
        return " or ".join(schema["enum"])
    if schema["type"] == "string":
        return "a text that is not empty"
    words = {"minimum": "of at least", "exclusiveMinimum": "above", "maximum": "of at most", "exclusiveMaximum": "below"}
    limits = " and ".join(f"{words[key]} {schema[key]}" for key in words if key in schema)
    return f"{'an integer' if schema['type'] == 'integer' else 'a number'} {limits}"
