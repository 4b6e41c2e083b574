"""Flags in `command` and `args`: found, set, appended, removed; never put into a shell's text."""

from typing import Any

import pytest

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import MarkedTree
from jobspec.overlays.flags import set_flags

BASE, OVERLAY = Mark("base.yaml", 1, 1), Mark("a.yaml", 1, 1, layer="a")


def tree(data: Any, mark: Mark) -> MarkedTree:
    if isinstance(data, dict):
        return MarkedTree({key: tree(value, mark) for key, value in data.items()}, mark)
    return MarkedTree([tree(value, mark) for value in data] if isinstance(data, list) else data, mark)


def set_on(container: dict[str, Any], flags: dict[str, Any]) -> tuple[Any, list[Diagnostic]]:
    changed, problems = set_flags(tree(container, BASE), tree(flags, OVERLAY), ("containers", 0), overlay="a", entry=0)
    return changed.data(), problems


@pytest.mark.parametrize(
    ("args", "flags", "expected"),
    [
        # set where it stands, in its form
        (["--f", "1", "x"], {"--f": 2}, ["--f", "2", "x"]),
        (["--f=1", "x"], {"--f": 2}, ["--f=2", "x"]),
        (["--f="], {"--f": 2}, ["--f=2"]),
        (["--f", ""], {"--f": 2}, ["--f", "2"]),
        (["--f", "-"], {"--f": 2}, ["--f", "2"]),
        (["-f", "1"], {"-f": 2}, ["-f", "2"]),
        (["--foo", "1", "--f", "1"], {"--f": 2}, ["--foo", "1", "--f", "2"]),
        (["--foo=1"], {"--f": 2}, ["--foo=1", "--f", "2"]),
        # appended where it does not stand
        (None, {"--f": 2}, ["--f", "2"]),
        ([], {"--f": 2, "--g": True}, ["--f", "2", "--g"]),
        (["x"], {"--f": "a b"}, ["x", "--f", "a b"]),
        (["x"], {"--f": ""}, ["x", "--f", ""]),
        (["--g", "--f"], {"--g": "--f"}, ["--g=--f", "--f"]),
        # negative numbers are values, and other values with a dash need `=`
        (["--f", "-1"], {"--f": 2}, ["--f", "2"]),
        (["--f", "-1e-3", "x"], {"--f": 0.5}, ["--f", "0.5", "x"]),
        (["--f", "-.5"], {"--f": None}, []),
        (["x"], {"--f": -1}, ["x", "--f", "-1"]),
        (["x"], {"--f": "-1e-3"}, ["x", "--f=-1e-3"]),
        (["--f", "1"], {"--f": "-x"}, ["--f=-x"]),
        (["--f", "-x"], {"--f": 1}, ["--f", "1", "-x"]),
        # bare flags
        (["--f"], {"--f": True}, ["--f"]),
        (["--f", "x"], {"--f": True}, ["--f", "x"]),
        (["--f=1"], {"--f": True}, ["--f"]),
        (["--f", "--g"], {"--f": 1}, ["--f", "1", "--g"]),
        # removed
        (["--f", "1", "x"], {"--f": None}, ["x"]),
        (["--f=1", "x"], {"--f": None}, ["x"]),
        (["--f", "--g"], {"--f": None}, ["--g"]),
        (["x"], {"--f": None}, ["x"]),
        (["--f", "1"], {"--f": None}, []),
        (None, {"--f": None}, None),
        # of several, the first stays
        (["--f", "1", "x", "--f=2", "--f"], {"--f": 3}, ["--f", "3", "x"]),
        (["--f", "1", "x", "--f=2"], {"--f": None}, ["x"]),
        # a flag that is another's value is none
        (["--g=--f", "1"], {"--f": 2}, ["--g=--f", "1", "--f", "2"]),
        # removing one does not bring a bare flag and an argument together
        (["--g", "--f", "1", "x"], {"--f": None, "--g": 2}, ["--g", "2", "x"]),
        (["--g", "--f", "1", "x"], {"--g": 2, "--f": None}, ["--g", "2", "x"]),
    ],
)
def test_args(args: list[str] | None, flags: dict[str, Any], expected: list[str] | None) -> None:
    container = {} if args is None else {"args": args}
    assert set_on(container, flags) == ({"args": expected} if expected else {}, [])


@pytest.mark.parametrize(
    ("container", "flags", "expected"),
    [
        ({"command": ["train", "--f", "1"]}, {"--f": 2}, {"command": ["train", "--f", "2"]}),
        ({"command": ["train"], "args": []}, {"--f": 2}, {"command": ["train"], "args": ["--f", "2"]}),
        ({"command": ["train", "--f=1"], "args": ["--f", "3"]}, {"--f": 2}, {"command": ["train", "--f=2"]}),
        ({"command": None, "args": None}, {"--f": 2}, {"args": ["--f", "2"]}),
        ({"command": ["train"], "args": []}, {"--f": None}, {"command": ["train"]}),
        (
            {"command": ["torchrun", "--nproc_per_node=1", "train.py"]},
            {"--nproc_per_node": 4, "--epochs": 3},
            {"command": ["torchrun", "--nproc_per_node=4", "train.py"], "args": ["--epochs", "3"]},
        ),
        (
            {"command": ["torchrun", "--nnodes", "2"], "args": ["train.py", "--epochs", "1"]},
            {"--epochs": 3},
            {"command": ["torchrun", "--nnodes", "2"], "args": ["train.py", "--epochs", "3"]},
        ),
        ({"command": ["python", "-c", "code"]}, {"--f": 1}, {"command": ["python", "-c", "code"], "args": ["--f", "1"]}),
        # a shell that runs a script passes its arguments on
        ({"command": ["bash", "run.sh", "-c", "x"]}, {"-c": "new"}, {"command": ["bash", "run.sh", "-c", "new"]}),
        ({"command": ["bash", "-x", "run.sh"]}, {"--f": 1}, {"command": ["bash", "-x", "run.sh"], "args": ["--f", "1"]}),
        ({"args": ["--shell", "bash"]}, {"--f": 1}, {"args": ["--shell", "bash", "--f", "1"]}),
    ],
)
def test_command(container: dict[str, Any], flags: dict[str, Any], expected: dict[str, Any]) -> None:
    assert set_on(container, flags) == (expected, [])


@pytest.mark.parametrize(
    ("container", "entries"),
    [
        ({"args": ["x"]}, [{"--f": 1}, {"--f": True}]),
        ({"args": ["--f", "x"]}, [{"--f": 1}, {"--f": True}]),
        ({"args": ["x"]}, [{"--f": 1}, {"--f": None}]),
        ({"args": ["--f", "x"]}, [{"--f": None}, {"--f": 1}]),
        ({"command": ["c", "--f", "1"], "args": []}, [{"--f": 2}, {"--f": None}]),
    ],
)
def test_one_entry_after_the_other_and_all_of_it_twice(container: dict[str, Any], entries: list[dict[str, Any]]) -> None:
    def applied(changed: MarkedTree) -> MarkedTree:
        for number, flags in enumerate(entries):
            changed, problems = set_flags(changed, tree(flags, OVERLAY), (), overlay="a", entry=number)
            assert problems == []
        return changed

    once = applied(tree(container, BASE))
    assert applied(once).data() == once.data()


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c"],
        ["/bin/bash", "-lc"],
        ["bash", "-eux", "-c"],
        ["bash", "-euxc"],
        ["bash", "-o", "pipefail", "-c"],
        ["bash", "-euo", "pipefail", "-c"],
        ["bash", "+x", "-c"],
        ["bash", "--norc", "-c"],
        ["bash", "--rcfile", "f", "-c"],
        ["/usr/bin/env", "FOO=1", "bash", "-c"],
        ["tini", "--", "sh", "-c"],
    ],
)
@pytest.mark.parametrize("cut", [0, 1, 99])
def test_a_program_inside_a_shells_text_cannot_be_given_flags(words: list[str], cut: int) -> None:
    words = [*words, "python train.py"]
    container = {"command": words[:cut], "args": words[cut:]}
    changed, (problem,) = set_on(container, {"--f": 1})
    assert changed == container
    assert (problem.rule, problem.field, problem.mark) == ("shell-command", "containers[0]", BASE)


@pytest.mark.parametrize(("flag", "value"), [("f", 1), ("--f=1", True), ("--f", [1]), ("--f", {"x": 1})])
def test_what_no_flag_can_be(flag: str, value: Any) -> None:
    changed, (problem,) = set_on({"args": ["x"]}, {flag: value})
    assert changed == {"args": ["x"]}
    assert (problem.rule, problem.mark) == ("invalid-overlay", OVERLAY)


def test_marks_say_who_wrote_each_word() -> None:
    container = tree({"args": ["x", "--f", "1", "--g=1"]}, BASE)
    changed, _ = set_flags(container, tree({"--f": 2, "--h": True}, OVERLAY), (), overlay="a", entry=0)
    words = changed.get("args")
    assert words
    assert [(word.value, word.mark.layer) for word in words.value] == [
        ("x", ""),
        ("--f", ""),
        ("2", "a"),
        ("--g=1", ""),
        ("--h", "a"),
    ]


def test_a_value_that_an_overlay_says_once_more_is_its_own_and_the_name_stays_the_bases() -> None:
    container = tree({"args": ["--f", "1", "--g=1", "--h"]}, BASE)
    changed, _ = set_flags(container, tree({"--f": 1, "--g": 1, "--h": True}, OVERLAY), (), overlay="a", entry=0)
    words = changed.get("args")
    assert words
    assert [(word.value, word.mark.layer) for word in words.value] == [("--f", ""), ("1", "a"), ("--g=1", "a"), ("--h", "")]


def test_the_name_of_a_new_flag_stands_at_its_key() -> None:
    flags = MarkedTree({"--f": MarkedTree(1, Mark("o.yaml", 3, 8), Mark("o.yaml", 3, 3))}, Mark("o.yaml", 3, 3))
    words = set_flags(tree({}, BASE), flags, (), overlay="a", entry=0)[0].get("args")
    assert words
    assert [str(word.mark) for word in words.value] == ["o.yaml:3:3", "o.yaml:3:8"]


def test_an_overlay_that_removes_a_flag_does_not_give_its_argument_to_another() -> None:
    def applied(*overlays: dict[str, Any]) -> Any:
        changed = tree({"args": ["--bare", "--f", "1", "x"]}, BASE)
        for flags in overlays:
            changed, _ = set_flags(changed, tree(flags, OVERLAY), (), overlay="a", entry=0)
        return changed.data()

    assert applied({"--f": None}, {"--bare": 2}) == applied({"--bare": 2}, {"--f": None}) == {"args": ["--bare", "2", "x"]}
