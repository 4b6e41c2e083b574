"""The types and constants of CEL expressions: what a server refuses of the rules in a CRD, and what it takes."""

import pytest

from jobspec.validation.cel.types import Types
from tests.support import cel_growth

_FILES = {
    "rules": ("bool", False),
    "rules-with-optional-old-self": ("bool", True),
    "messages": ("string", False),
}


@pytest.mark.parametrize("name", _FILES)
def test_expressions_are_refused_where_they_are_expected_to_be(name: str) -> None:
    gives, optional = _FILES[name]
    schema = cel_growth.schema()
    types = Types(schema)
    found = {}
    for text, expected in cel_growth.expressions(name):
        said = types.expression(text, schema, gives=gives, optional=optional)
        refused = bool(said.complaint) or (optional and not said.compares)
        if refused != expected:
            found[text] = said.complaint or "taken"
    assert found == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("self.z == 1", "1:5: there is no field `z`"),
        ("self.o == 1 ||\n  self.s > 1", "1:8: `==` does not take (object, int)"),
        ("self.s", "it gives string, not bool"),
        ("self.l == ['a', 1]", "1:17: it is int, and what stands before it string: a list or a map is of one type"),
        ("self.s.matches('(')", "1:16: `(` is no regular expression of RE2: missing ): ("),
        ("self.d > duration('1 day')", '1:19: "1 day" cannot be made a value of type duration'),
        ("'%d'.format([self.s]) == ''", "1:18: `%d` does not take string"),
        ("nothing", "1:1: there is no `nothing`"),
    ],
)
def test_a_complaint_says_what_does_not_fit_and_where(text: str, complaint: str) -> None:
    schema = cel_growth.schema()
    assert Types(schema).expression(text, schema, gives="bool", optional=False).complaint == complaint


@pytest.mark.parametrize("text", ["+".join(["1"] * 60) + " == 1", "(" * 150 + "true" + ")" * 150])
def test_what_is_too_deep_for_the_library_is_not_said_to_be_wrong(text: str) -> None:
    schema = cel_growth.schema()
    found = Types(schema).expression(text, schema, gives="bool", optional=False)
    assert (found.complaint, found.is_too_deep) == ("", True)
