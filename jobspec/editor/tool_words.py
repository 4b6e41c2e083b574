"""Rewrite texts about options of the command line for agents, who give values to tools."""

from __future__ import annotations

import re
from typing import Any

#: A text about options, as a pattern, and what an agent does instead. The first that fits a place counts.
_REWRITES: tuple[tuple[str, str], ...] = (
    (r"--closed-world decides, as `jobspec queue` does", "the tool `queue` decides"),
    (r"give a value: --substitute \w+=VALUE", "give `text` with a value in its place"),
    (r"give values by --substitute or --set-env", "give `text` with values in their places"),
    (r"pass `--target ([\w-]+)=([\w.]+)`", r'write `\1: "\2"` into `spec.target` of jobspec.yaml'),
    (r"`--target ([\w-]+)=([\w.]+)`", r'`\1: "\2"` in `spec.target` of jobspec.yaml'),
    (r"--fix writes a schema for it, or a JSON patch with --fix-lists json-patch", "repeat what is to stay, or write a JSON patch"),
    (r", as --fix does", ""),
    (r"no CRD in --crd defines", "no CRD among the files defines"),
    (r"by the CRDs of --crd", "by the CRDs among the files"),
    (r"not rendered, use --helm CHART", "not rendered, give the chart's folder in `helm` of `preflight`"),
    (r"pass `--helm [^`]*`", "give the folders in `helm` of `preflight`"),
    (r"`--queued --queues PATH` shows the pods as Kueue starts them", "the tool `queue` says whether Kueue starts it"),
    (r"with --queues", "in `queues`"),
    (r"(a pinned|with) --cluster", r"\1 `cluster`"),
    (r"with `--set ([^.`]+)\.([^=`]+)=[^`]*`", r"in `parameters`: `{\1: {\2: ...}}`"),
    (r", which `--skip-unknown` passes by", ""),
    (r", or compare with the rendered files by --from", ""),
    (r": if it does, use --gang-scheduler", ""),
    (r"by `--project FILE`", "in `project`"),
    (r"`--project FILE` names", "`project` names"),
    (r"`jobspec lint --diff`, or the tool `fix`", "the tool `fix`"),
    (r"`jobspec (queue|diff|migrate|explain|render|expand|lint|preflight)(?: [^`]*)?`", r"the tool `\1`"),
)
_ANY = re.compile("|".join(f"({pattern})" for pattern, _ in _REWRITES))


def in_tool_words(text: str) -> str:
    """Rewrite a finding or an error for a reader who calls tools.

    Name what a tool takes in place of an option.
    """
    if "--" not in text and "`jobspec " not in text:
        return text
    return _ANY.sub(_rewritten, text)


def data_in_tool_words(data: dict[str, Any]) -> dict[str, Any]:
    """Rewrite what an answer says; names, places and values in it stay."""
    return {name: _said(value) if name in _SAYING else _inside(value) for name, value in data.items()}


#: The fields of answers that hold sentences.
_SAYING = frozenset(("message", "hint", "reason", "left", "notes", "together"))


def _said(value: Any) -> Any:
    if isinstance(value, str):
        return in_tool_words(value)
    return [_said(each) for each in value] if isinstance(value, list) else _inside(value)


def _inside(value: Any) -> Any:
    if isinstance(value, dict):
        return data_in_tool_words(value)
    return [_inside(each) for each in value] if isinstance(value, list) else value


def _rewritten(found: re.Match[str]) -> str:
    pattern, said = next(each for each in _REWRITES if re.fullmatch(each[0], found[0]))
    return re.sub(pattern, said, found[0])
