"""What findings say of options of the command line, in the words of the tools."""

import ast
import re
from argparse import ArgumentParser
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec

import pytest

from jobspec.commands import COMMANDS
from jobspec.editor.tool_words import data_in_tool_words, in_tool_words
from tests.support.reference import ROOT

#: The rooms whose findings and answers tools give. The others speak at the command line alone.
SPEAKING = ("diagnostics", "documents", "go", "kubernetes", "lint", "migrate", "operators", "outcome", "overlays", "repository", "world")
#: Modules of `session` and `reports` whose texts are in answers of tools.
ANSWERING = ("session/builds.py", "session/comparing_repositories.py", "session/expanding.py", "session/queues.py", "session/stored.py")
#: Parts of texts that answers of tools do not have: those of last lines, of written files, and of other programs.
ELSEWHERE = (
    *("fixable with", "not rendered without", "with --to", "not a baseline", "Fix, with", "not a flag of the form"),
    *("kubectl", "ray kuberay", "mpirun", "wget", "git clone"),
)


def _options() -> set[str]:
    parser = ArgumentParser(add_help=False, conflict_handler="resolve")
    for name in COMMANDS:
        module = {"import": "import_manifests", "list": "listing"}.get(name, name.replace("-", "_"))
        if find_spec(f"jobspec.commands.{module}"):  # those of the editor's room take no options of findings
            import_module(f"jobspec.commands.{module}").add_arguments(parser)
    return {name for action in parser._actions for name in action.option_strings if name.startswith("--")}


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return (
        "".join(_text(each) if isinstance(each, ast.Constant) else "x" for each in node.values) if isinstance(node, ast.JoinedStr) else ""
    )


def _said() -> Iterator[tuple[str, str]]:
    """The texts of the rooms, without docstrings."""
    files = [path for room in SPEAKING for path in sorted((ROOT / "jobspec" / room).rglob("*.py"))]
    for path in (*files, *(ROOT / "jobspec" / each for each in ANSWERING)):
        tree = ast.parse(path.read_text())
        bare = {id(each.value) for each in ast.walk(tree) if isinstance(each, ast.Expr)}
        inside = {id(part) for each in ast.walk(tree) if isinstance(each, ast.JoinedStr) for part in each.values}
        for each in ast.walk(tree):
            if isinstance(each, ast.Constant | ast.JoinedStr) and id(each) not in bare | inside:
                yield f"{path.name}:{each.lineno}", _text(each)


def test_no_finding_tells_an_agent_to_give_an_option() -> None:
    options = _options() - {"--server-side", "--context"}
    assert {"--closed-world", "--helm", "--queues", "--target", "--fix"} <= options
    found = []
    for place, text in _said():
        words = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", in_tool_words(text))) & options
        is_about_a_given_option = text.startswith("--") and not text.startswith("--fix writes")
        if words and " " in text and not is_about_a_given_option and not any(each in text for each in ELSEWHERE):
            found.append((place, text))
    assert found == []


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "if the files have all queues, --closed-world decides, as `jobspec queue` does",
            "if the files have all queues, the tool `queue` decides",
        ),
        (
            "if the cluster has trainer 2.0, pass `--target trainer=2.0`",
            'if the cluster has trainer 2.0, write `trainer: "2.0"` into `spec.target` of jobspec.yaml',
        ),
        (
            "3 Helm chart files (a, b, c): not rendered, use --helm CHART, 1 not a manifest",
            "3 Helm chart files (a, b, c): not rendered, give the chart's folder in `helm` of `preflight`, 1 not a manifest",
        ),
        ("give one with `--set gpu-nccl.gpus=...`", "give one in `parameters`: `{gpu-nccl: {gpus: ...}}`"),
        ("`jobspec migrate FILE --to TrainJob --in-place` converts it", "the tool `migrate` converts it"),
        ("write `--nnodes=2`", "write `--nnodes=2`"),
    ],
)
def test_hints_name_what_tools_take(said: str, expected: str) -> None:
    assert in_tool_words(said) == expected


def test_names_and_values_stay() -> None:
    answer = {"findings": [{"hint": "name them with --queues", "source": "args: [with --queues]"}], "left": ["pass `--helm a`"]}
    assert data_in_tool_words(answer) == {
        "findings": [{"hint": "name them in `queues`", "source": "args: [with --queues]"}],
        "left": ["give the folders in `helm` of `preflight`"],
    }
