"""The contract: what the command line takes, as a JSON Schema for those who check manifests and never run the program."""

import json
import sys
from typing import Any

from trainer.config import Config, flag

READING = (
    "The arguments of `python -m trainer` as an object. `--flag value` and `--flag=value` are a member `--flag`, a flag of `switches` "
    "stands alone and is true, and the last of several counts. A value that begins with `-` and is no number needs the form with `=`. "
    "The text of an integer or a number is its decimal notation. There are no other words."
)


def contract() -> dict[str, Any]:
    """The JSON Schema (draft-07) of the arguments, made of the fields of `Config`."""
    flags: dict[str, Any] = {}
    for name, field in Config.model_json_schema()["properties"].items():
        field.pop("title")
        flags[flag(name)] = field
        if field["type"] == "boolean" and field["default"]:
            flags[flag("no_" + name)] = {"default": False, "description": f"the opposite of {flag(name)}", "type": "boolean"}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "trainer",
        "description": READING,
        "type": "object",
        "properties": flags,
        "additionalProperties": False,
        "switches": [name for name, field in flags.items() if field["type"] == "boolean"],
    }


def text() -> str:
    """The contract as it is committed, and as the image carries it."""
    return json.dumps(contract(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
