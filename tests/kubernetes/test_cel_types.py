"""The types and constants of CEL expressions: what a server refuses of the rules in a CRD, and what it takes."""

import pytest

from jobspec.apis.releases import RELEASES
from jobspec.kubernetes.cel.library import Program
from jobspec.kubernetes.cel.signatures import FUNCTIONS, CelType, Overload
from jobspec.kubernetes.cel.types import SchemaTypes
from tests.support import cel_growth

NEWEST = list(RELEASES["kubernetes"])[-1]
_FILES = {
    "rules": ("bool", False),
    "rules-with-optional-old-self": ("bool", True),
    "messages": ("string", False),
}


@pytest.mark.parametrize("name", _FILES)
def test_expressions_are_refused_where_they_are_expected_to_be(name: str) -> None:
    gives, optional = _FILES[name]
    schema = cel_growth.schema()
    types = SchemaTypes(schema, NEWEST)
    found = {}
    for text, expected in cel_growth.expressions(name):
        said = types.compile(text, schema, result=gives, optional_old_self=optional)
        refused = bool(said.error) or (optional and not said.uses_old_self)
        if refused != expected:
            found[text] = said.error or "taken"
    assert found == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("self.z == 1", "1:5: undefined field 'z'"),
        ("self.o == 1 ||\n  self.s > 1", "1:8: found no matching overload for '_==_' applied to '(object, int)'"),
        ("self.s", "it gives string, not bool"),
        ("self.l == ['a', 1]", "1:17: expected type 'string' but found 'int'"),
        ("self.s.matches('(')", "1:16: invalid matches argument: missing ): ("),
        ("self.d > duration('1 day')", '1:19: invalid duration argument: "1 day"'),
        ("'%d'.format([self.s]) == ''", "1:18: `%d` does not take string"),
        ("nothing", "1:1: undeclared reference to 'nothing' (in container '')"),
    ],
)
def test_a_complaint_says_what_does_not_fit_and_where(text: str, complaint: str) -> None:
    schema = cel_growth.schema()
    assert SchemaTypes(schema, NEWEST).compile(text, schema, result="bool", optional_old_self=False).error == complaint


@pytest.mark.parametrize("text", ["+".join(["1"] * 60) + " == 1", "(" * 150 + "true" + ")" * 150])
def test_what_is_too_deep_for_the_library_is_not_said_to_be_wrong(text: str) -> None:
    schema = cel_growth.schema()
    found = SchemaTypes(schema, NEWEST).compile(text, schema, result="bool", optional_old_self=False)
    assert (found.error, found.is_too_deep) == ("", True)


_SAMPLES = {
    "A": "'1'",
    "B": "2",
    "bool": "true",
    "bytes": "b'a'",
    "double": "1.5",
    "dyn": "1",
    "int": "1",
    "uint": "1u",
    "string": "'1.2.3'",
    "duration": "duration('1h')",
    "timestamp": "timestamp('2026-01-31T00:00:00Z')",
    "type": "int",
    "format": "format.uuid()",
    "quantity": "quantity('1')",
    "semver": "semver('1.2.3')",
    "url": "url('http://a/')",
    "ip": "ip('::1')",
    "cidr": "cidr('::1/8')",
}
_OF_A_SERVER = ("authorizer", "pathCheck", "groupCheck", "resourceCheck", "decision")
_NEITHER_HAS = ["duration(1)"]  # a server cannot evaluate it either


def _sample(kind: CelType) -> str:
    inside = [_sample(each) for each in kind.inside]
    forms = {"list": "[{}]", "map": "{{{}: {}}}", "optional": "optional.of({})"}
    return forms[kind.name].format(*inside) if kind.name in forms else _SAMPLES[kind.name]


def _call(function: str, overload: Overload) -> str:
    takes = [_sample(each) for each in overload.takes]
    operators = {"_?_:_": "{} ? {} : {}", "@in": "{} in {}", "_[_]": "{}[{}]", "_[?_]": "{}[?{}]", "!_": "!{}", "-_": "-{}"}
    if function in operators or function.startswith("_"):
        return operators.get(function, function.replace("_", " {} ")).format(*takes)
    return f"{takes[0]}.{function}({', '.join(takes[1:])})" if overload.is_member else f"{function}({', '.join(takes)})"


def test_every_function_whose_type_is_known_can_be_evaluated() -> None:
    named = [(name, each) for name, overloads in FUNCTIONS.items() for each in overloads if "@" not in name or name == "@in"]
    calls = [_call(name, each) for name, each in named if not each.is_member or each.takes[0].name not in _OF_A_SERVER]
    without = []
    for call in calls:
        try:
            Program(f"[{call}].size() == 1", patches=True).run({})
        except (RuntimeError, ValueError) as error:
            if any(words in str(error) for words in ("overload", "undeclared", "Non-CEL", "there is no")):
                without.append(call)
    assert without == _NEITHER_HAS


def test_every_rule_that_a_server_takes_can_be_evaluated() -> None:
    without = []
    for text, refused in (each for name in ("rules", "messages") for each in cel_growth.expressions(name)):
        try:
            Program(text) if not refused else None
        except RuntimeError:
            without.append(text)
    assert [line for line in without if "net." not in line] == []
    assert len(without) == 3, "the library lacks the types of addresses"
