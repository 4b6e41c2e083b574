"""The place of a value at the beginning of a long text is found without the rest of the text."""

import pytest

from jobspec.documents import reader
from jobspec.documents.libyaml import CParser
from jobspec.documents.reader import read

TEXT = """\
# a comment
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  labels: {}
  name: jobs.example.com
spec:
  group: example.com
"""


def _place(text: str, step: str = "name") -> str:
    (document,) = read(text, file="a.yaml")[0]
    document.forget_marks()
    return str(document.nearest(("metadata", step)).place())


@pytest.mark.parametrize(
    ("before", "after", "place"),
    [
        ("", "", "a.yaml:6:9"),
        ("labels: {}", "labels: {app: 'b?'}", "a.yaml:6:9"),  # a flow collection that Go may read differently
        ("  name: jobs", '  "name": jobs', "a.yaml:6:11"),
        ("# a comment", "a: &a\n  b: c\nd: *a", "a.yaml:8:9"),
        ("# a comment", "<<: {metadata: {name: b}}", "a.yaml:6:9"),
        ("  name: jobs.example.com\n", "", "a.yaml:4:1"),
        ("# a comment", "items: [a:, b]\ntype: &b {c: d}", "a.yaml:7:9"),
    ],
)
def test_the_place_is_the_same_as_in_a_short_text(monkeypatch: pytest.MonkeyPatch, before: str, after: str, place: str) -> None:
    text = TEXT.replace(before, after) if before else TEXT
    assert _place(text) == place
    monkeypatch.setattr(reader, "_LONG", 0)
    assert _place(text) == place


def test_the_rest_of_a_long_text_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = read(TEXT + "  text: " + "x" * 20_000 + "\n", file="a.yaml")[0]
    documents[0].forget_marks()
    monkeypatch.setattr(reader, "_parsed", None)
    assert str(documents[0].nearest(("metadata", "name")).place()) == "a.yaml:6:9"


def test_many_places_of_a_long_text_need_no_more_than_two_parsings(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXT + "  names: " + "x" * 20_000 + "\n"
    (document,) = read(text, file="a.yaml")[0]
    document.forget_marks()
    parsed: list[str] = []

    def parser(read_text: str) -> object:
        parsed.append(read_text)
        return CParser(read_text)

    monkeypatch.setattr(reader, "CParser", parser)
    places = [("kind",), ("metadata", "name"), ("spec", "group"), ("spec", "names"), ("apiVersion",), ("spec", "group")]
    found = [str(document.nearest(each).place()) for each in places]
    assert found == ["a.yaml:3:7", "a.yaml:6:9", "a.yaml:8:10", "a.yaml:9:10", "a.yaml:2:13", "a.yaml:8:10"]
    assert len(parsed) == 2
