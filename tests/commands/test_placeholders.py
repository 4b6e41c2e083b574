"""Placeholders: the forms of variables that Flux knows, and the values that stand in for them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobspec.apis.releases import choose
from jobspec.documents.reader import read
from jobspec.repository.source_files import NoFiles
from jobspec.repository.substitution import Variables, filled_in, substituted
from tests.support.manifests import JOB, write
from tests.support.processes import run_here

_VALUES = {"name": "Mnist-1", "empty": "", "n": "3"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${name}", "Mnist-1"),
        ("$name/${n}", "Mnist-1/3"),
        ("a-${name}-b", "a-Mnist-1-b"),
        ("${nowhere}", "${nowhere}"),
        ("$nowhere", "$nowhere"),
        ("$${name}", "${name}"),
        ("${nowhere:-a b}", "a b"),
        ("${nowhere:=1}", "1"),
        ("${nowhere-x}${nowhere=y}", "${nowhere-x}${nowhere=y}"),  # which Flux cannot parse
        ("${empty:-x}", "x"),
        ("${name:-x}", "Mnist-1"),
        ("${name^^}", "MNIST-1"),
        ("${name,,}", "mnist-1"),
        ("${name,}", "mnist-1"),
        ("${name:2}", "ist-1"),
        ("${name:0:3}", "Mni"),
        ("${name/1/2}", "Mnist-2"),
        ("${name//n/m}", "Mmist-1"),
        ("$(name)", "$(name)"),
        ("a $ b", "a $ b"),
    ],
)
def test_the_forms_of_a_variable(text: str, expected: str) -> None:
    assert substituted(text, Variables(_VALUES, is_open=True)) == expected


@given(st.text(alphabet="ab{}()<>:=-/ ", max_size=30), st.dictionaries(st.sampled_from("ab"), st.text(max_size=3)))
def test_a_text_without_a_variable_stays(text: str, values: dict[str, str]) -> None:
    assert substituted(text, Variables(values, is_open=True)) == text


@given(st.dictionaries(st.sampled_from(["image", "number", "nowhere"]), st.sampled_from(["1", "true", "x", ""])))
def test_values_stay_where_they_were_written(values: dict[str, str]) -> None:
    text = JOB.replace("replicas: 1", "replicas: ${number}").replace("name: pytorch", "name: ${image}")
    (document,), _ = read(text, file="job.yaml")
    (made,), problems = filled_in([document], Variables(values, is_open=True), choose([]), NoFiles())
    assert problems == []
    assert made.marks.paths() == document.marks.paths()
    assert str(made.marks.nearest(("metadata", "name")).mark) == str(document.marks.nearest(("metadata", "name")).mark)


def test_people_read_once_what_several_files_of_a_folder_have(tmp_path: Path) -> None:
    write(tmp_path, {f"{name}.yaml": JOB.replace("replicas: 1", "replicas: ${N}") for name in ("a", "b", "c")})
    lines = run_here("lint", ".", "-o", "concise", "--select", "unjudged-template", cwd=tmp_path).stdout.splitlines()
    assert lines[0] == "a.yaml:8:17: info: placeholders: 1 value not checked (and 2 more places) [unjudged-template]"
    found = json.loads(run_here("lint", ".", "-o", "json", "--select", "unjudged-template", cwd=tmp_path).stdout)
    assert [len(each["diagnostics"]) for each in found["files"]] == [1, 1, 1]


def test_a_default_of_a_variable_that_nobody_fills_in_is_a_placeholder(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB.replace("replicas: 1", "replicas: ${N:-3}").replace("name: train", "name: ${NAME:-train}")})
    done = run_here("lint", ".", "-o", "concise", "--select", "unjudged-template", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "placeholders: 2 values not checked" in done.stdout
    given = run_here("lint", ".", "-o", "concise", "--substitute", "N=two", cwd=tmp_path)  # Flux's rules then, and its defaults
    assert "expected an integer" in given.stdout


def test_an_error_of_a_named_file_says_how_to_give_a_value(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB.replace("replicas: 1", "replicas: ${N}")})
    said = run_here("lint", "job.yaml", cwd=tmp_path).stdout
    assert "hint: if `${N}` is filled in later, give a value: --substitute N=VALUE\n" in said
    assert run_here("lint", "job.yaml", "--substitute", "N=1", cwd=tmp_path).returncode == 0
