"""A script that a ConfigMap holds is looked at as one in the command line is."""

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from jobspec.programs.shells import script_at
from tests.lint.test_lint import CASES, linted

_NAME = "moved"
#: The rules that speak of command lines as they are written, and of ConfigMaps that are not there.
_OF_COMMAND_LINES = ("command-of-several-jobs", "unknown-source")
_STARTS_ANOTHER = "mounted-scripts"
"""The case with a script that starts another one."""


def test_what_is_reported_of_a_script_is_reported_where_a_config_map_holds_it(tmp_path: Path) -> None:
    moved = 0
    for case in CASES:
        documents = [] if case.is_dir() or case.stem == _STARTS_ANOTHER else list(yaml.safe_load_all(case.read_text()))
        changed, scripts = deepcopy(documents), dict[str, str]()
        namespaces = {each["metadata"].get("namespace") for each in changed if isinstance(each, dict) and _move_scripts(each, scripts)}
        if scripts:
            metadata = [{"name": _NAME, **({"namespace": each} if each else {})} for each in namespaces]
            maps = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": each, "data": scripts} for each in metadata]
            before = _reported(tmp_path / "before", case.name, documents)
            assert _reported(tmp_path / "after", case.name, [*changed, *maps]) == before, case
            moved += len(scripts)
    assert moved > 100


def _reported(folder: Path, name: str, documents: list[Any]) -> Counter[tuple[str, str]]:
    """The rules and messages of what is reported."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(yaml.safe_dump_all(documents))
    return Counter((each.rule, each.message) for each in linted(folder / name)[folder / name] if each.rule not in _OF_COMMAND_LINES)


def _move_scripts(data: dict[str, Any], scripts: dict[str, str]) -> bool:
    """Move the scripts of an object's containers to a ConfigMap; returns whether there were any."""
    known = len(scripts)
    for pod in _pods(data):
        for container in (each for field in ("initContainers", "containers") for each in pod.get(field) or () if isinstance(each, dict)):
            words = [*(container.get("command") or ()), *(container.get("args") or ())]
            at = script_at(words) if container.get("command") and all(isinstance(each, str) for each in words) else None
            if at is None or words[at - 1] != "-c" or "$(" in words[at]:
                continue
            key = f"{len(scripts)}.sh"
            scripts[key] = words[at]
            container["command"] = [*words[: at - 1], f"/{_NAME}/{key}", *words[at + 1 :]]
            container.pop("args", None)
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), {"name": _NAME, "mountPath": f"/{_NAME}"}]
            others = [each for each in pod.get("volumes") or () if each["name"] != _NAME]
            pod["volumes"] = [*others, {"name": _NAME, "configMap": {"name": _NAME}}]
    return len(scripts) > known


def _pods(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and isinstance(value.get("containers"), list):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _pods(each)
