"""What Flux reads in place of a text with variables, by the quotes that kustomize writes: answers of kustomize-controller 1.7.3."""

from typing import Any

import pytest

from jobspec.repository.substitution import Variables, read_again
from jobspec.repository.written_scalars import UnreadableYaml, written


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("${A}", "8", 8),
        ("v-${A}", "8", "v-8"),
        ("${A} ", "8", "8 "),
        ("x: ${A}", "8", "x: 8"),
        ("#${A}", "8", "#8"),
        ("%${A}", "8", "%8"),
        ("${A%${B##a/$1}}", "8", 8),
        ("a\n${A}\n", "8", "a\n8\n"),
        ("a\n${A}\n", "b: 'c", "a\nb: 'c\n"),
        ("${A}", "b # c", "b"),
        ("${A}", "", None),
    ],
)
def test_what_is_read_behind_a_key(text: str, value: str, found: Any) -> None:
    assert read_again(text, Variables({"A": value}), "key:") == found


def test_an_item_of_a_list_may_become_an_object() -> None:
    assert read_again("${A}", Variables({"A": "a: b"}), "-") == {"a": "b"}


@pytest.mark.parametrize(("text", "value"), [("${A}", "a: b"), ("${A} ", "'")])
def test_what_is_no_yaml_any_more(text: str, value: str) -> None:
    with pytest.raises(UnreadableYaml):
        read_again(text, Variables({"A": value}), "key:")


@pytest.mark.parametrize(
    ("text", "yaml"),
    [
        ("a b", "key: a b"),
        ("", 'key: ""'),
        ("8", 'key: "8"'),
        ("- a", "key: '- a'"),
        ("it's: a", "key: 'it''s: a'"),
        ("a\tb", 'key: "a\\tb"'),
        ("a\nb", "key: |-\n  a\n  b"),
        ("a\nb\n\n", "key: |+\n  a\n  b\n"),
        (" a\n", "key: |2\n   a"),
    ],
)
def test_how_a_text_is_written(text: str, yaml: str) -> None:
    assert written(text, "key:") == yaml
