"""Streams of several objects in JSON, as kubectl takes them."""

import pytest

from jobspec.documents.reader import read


def test_each_object_that_begins_a_line_is_a_document() -> None:
    text = '\n{"kind": "A",\n "n": 1}\n{"kind": "B"}\n\n{"kind": "C"}\n'
    documents, problems = read(text, file="a.json")
    assert problems == []
    assert [(each.kind, each.index, each.nearest(("kind",)).mark.line) for each in documents] == [("A", 0, 2), ("B", 1, 4), ("C", 2, 6)]


_NO_STREAMS = [
    '{"kind": "A"}\n{"kind": B}\n',
    '{"kind": "A"} {"kind": "B"}\n{"kind": "C"}',
    '{"a": 1}\n{' + '"a": {' * 200,
]


@pytest.mark.parametrize("text", _NO_STREAMS)
def test_what_is_no_stream_is_read_as_yaml(text: str) -> None:
    assert [each.rule for each in read(text, file="a.json")[1]] == ["yaml-syntax"]
