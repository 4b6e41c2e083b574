"""The kind of every document in a text is found without parsing the text, however the kind is written."""

import pytest

from jobspec.documents.reader import read
from jobspec.documents.streams import cut_of_kinds, kinds_in

_REST = "apiVersion: v1\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    "written",
    [
        "kind: LimitRange\n",
        "kind:   'LimitRange'\n",
        'kind: "LimitRange" # of a namespace\n',
        "kind:\n  LimitRange\n",
        "kind: # of a namespace\n  LimitRange\n",
        "kind: &kind LimitRange\n",
        "kind: &kind\n  LimitRange\n",
        "kind: !!str LimitRange\n",
        "kind: &kind !!str 'LimitRange'\n",
        "kind: !<tag:yaml.org,2002:str> LimitRange\n",
        "x: &kind LimitRange\nkind: *kind\n",
        "x: &kind 'LimitRange'\nkind: *kind # an alias\n",
        '"kind" : LimitRange\n',
        "? kind\n: LimitRange\n",
    ],
)
def test_the_kind_of_a_document_is_found_in_its_text(written: str) -> None:
    text = f"{_REST}{written}"
    documents, problems = read(text, file="")
    assert not problems and [each.kind for each in documents] == ["LimitRange"]
    assert "LimitRange" in kinds_in(text.encode())
    others = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
    found = [piece for piece, *_ in cut_of_kinds(f"{others}---\n{text}---\n{others}", ["LimitRange"], ())]
    assert [each.removeprefix("---\n") for each in found] == [text]


def test_json_names_its_kind_too() -> None:
    text = '{"apiVersion":"v1","kind":"LimitRange","metadata":{"name":"a"}}'
    assert "LimitRange" in kinds_in(text.encode())
    assert [piece for piece, *_ in cut_of_kinds(text, ["LimitRange"], ())] == [text]


@pytest.mark.parametrize("odd", ["!" * 5000, "! " * 5000, "# " * 5000, "# a\n" * 5000, " " * 5000, "&a *a " * 2000, "\n#\n " * 3000])
def test_to_look_for_kinds_takes_no_longer_than_the_text_is_long(odd: str) -> None:
    assert "LimitRange" not in kinds_in(f"kind: {odd}-".encode())
    assert not [*cut_of_kinds(f"kind: {odd}-", ["LimitRange"], ("LimitRange",))]
