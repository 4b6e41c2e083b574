"""Random CEL expressions on a value of many fields, most of them with the right types."""

import json
from random import Random
from typing import Any

from tests.support import quick_yaml
from tests.support.reference import ROOT

FOLDER = ROOT / "tests" / "cases" / "cel-types"
_REFUSED = "  // ~ refused"


def expressions(name: str) -> list[tuple[str, bool]]:
    """The expressions of a file, each with whether a server refuses it."""
    lines = (FOLDER / f"{name}.cel").read_text().splitlines()[1:]
    return [(line.removesuffix(_REFUSED), line.endswith(_REFUSED)) for line in lines]


def schema() -> dict[str, Any]:
    """The schema of the value, without anchors."""
    found: dict[str, Any] = json.loads(json.dumps(quick_yaml.load((FOLDER / "fields.yaml").read_text())))
    return found


def limited(random: Random) -> dict[str, Any]:
    """The schema with other limits, or none, of its texts, lists and maps."""
    return _limited(schema(), random)


def _limited(found: dict[str, Any], random: Random) -> dict[str, Any]:
    limit = _limit(found)
    if limit:
        found.pop(limit, None)
    if limit and random.random() < 0.6:
        found[limit] = random.choice([0, 1, 3, 10, 63, 1000, 5000])
    elif limit == "maxLength" and random.random() < 0.1 and "format" not in found:
        found["enum"] = ["a", "ä", "a" * random.choice([1, 40])]
    names = sorted(found.get("properties") or ())
    if names and random.random() < 0.5:
        found["required"] = random.sample(names, random.randrange(len(names)))
    for inner in (*(found.get("properties") or {}).values(), *(found[name] for name in ("items", "additionalProperties") if name in found)):
        _limited(inner, random)
    return found


def _limit(found: dict[str, Any]) -> str:
    """The keyword that limits the size of values of a schema, empty where there is none."""
    if found.get("type") == "string" or "x-kubernetes-int-or-string" in found:
        return "maxLength"
    return "maxItems" if "items" in found else "maxProperties" if "additionalProperties" in found else ""


_PATHS = {
    "string": [
        "self.s",
        "self.o.s",
        "self.l[0]",
        "self.m['a']",
        "self.m.a",
        "self.mo['a'].s",
        "self.lm[0].a",
        "self.ml['a'][0]",
        "self.e.kind",
        "self.lo[0].l[0]",
    ],
    "int": ["self.i", "self.o.i", "self.li[0]", "self.mi.a", "self.ll[0][0]", "self.mm['a']['b']", "self.mm.a.b", "self.lo[0].i"],
    "double": ["self.n"],
    "bool": ["self.b"],
    "duration": ["self.d"],
    "timestamp": ["self.t"],
    "bytes": ["self.y"],
    "dyn": ["self.x", "dyn(self.s)", "dyn(self.i)"],
    "list<string>": ["self.l", "self.o.l", "self.ml['a']", "self.mo.a.l"],
    "list<int>": ["self.li", "self.ll[0]"],
    "map<string>": ["self.m", "self.lm[0]"],
    "map<int>": ["self.mi", "self.mm.a"],
    "object": ["self.o", "self.lo[0]", "self.mo['a']"],
    "list<object>": ["self.lo"],
    "optional<string>": ["self.?s", "self.?o.s", "self.?o.?s", "self.m[?'a']", "self.l[?0]", "self.?ms.a", "self.l.first()"],
    "wrong": ["self.z", "self.o.z", "self.s.z", "self.p", "self.e.spec", "nothing", "self.l.z", "self[0]", "self.e.metadata.labels"],
}
_LITERALS = {
    "string": ["'a'", "''", '"b"', "r'\\d'", "'%s'"],
    "int": ["0", "1", "-1", "0x10"],
    "double": ["0.5", "1.0", "1e3"],
    "bool": ["true", "false"],
    "duration": ["duration('1h')", "duration('1x')", "duration(self.s)", "duration('1.5s')"],
    "timestamp": ["timestamp('2026-01-01T00:00:00Z')", "timestamp('2026-01-01')", "timestamp(self.s)", "timestamp(0)"],
    "bytes": ["b'a'", "bytes('a')"],
    "dyn": ["dyn(1)", "dyn('a')"],
    "list<string>": ["['a']", "[]", "['a', 'b']", "['a', 1]"],
    "list<int>": ["[1]", "[]", "[1, 2]", "lists.range(3)", "[1, 1.5]"],
    "map<string>": ["{'a': 'b'}", "{}"],
    "map<int>": ["{'a': 1}", "{'a': 1, 'b': 'c'}"],
    "object": ["self.o"],
    "list<object>": ["self.lo", "[self.o]"],
    "optional<string>": ["optional.of('a')", "optional.none()", "optional.ofNonZeroValue(self.s)"],
    "wrong": ["null", "1u"],
}
#: Type -> templates of expressions of that type; `{string}` is replaced by any expression of type string.
_FORMS = {
    "bool": [
        *("{any} == {same}", "{any} != {same}", "{int} < {int}", "{double} >= {double}", "{int} < {double}", "{string} < {string}"),
        *("{duration} > {duration}", "{timestamp} <= {timestamp}", "!{bool}", "({bool}) && ({bool})", "({bool}) || ({bool})"),
        *("{bool} ? {bool} : {bool}", "has(self.s)", "has(self.o.s)", "has(self.z)", "has(self.m.a)", "{string} in {list<string>}"),
        *("{int} in {list<int>}", "{string} in {map<string>}", "{string}.contains({string})", "{string}.startsWith({string})"),
        *("{string}.matches('^a')", "{string}.matches('(')", "{string}.matches({string})", "isQuantity({string})", "isURL({string})"),
        *("quantity({string}).isLessThan(quantity({string}))", "cidr({string}).containsIP({string})", "ip({string}) == ip({string})"),
        *("{list<string>}.all(v, {string} == v)", "{list<string>}.all(v, v == {string})", "{list<int>}.exists(v, v > {int})"),
        *("{list<int>}.exists_one(v, v == {int})", "{map<string>}.all(k, k == {string})", "{map<string>}.all(k, v, v == {string})"),
        *("{list<int>}.all(i, v, v > i)", "{list<string>}.all(i, v, i > {int})", "{list<object>}.all(v, v.s == {string})"),
        *(
            "{list<object>}.exists(v, v.i > {int})",
            "{list<object>}.all(v, v.l.all(w, w == {string}))",
            "self.ll.all(v, v.all(w, w > {int}))",
        ),
        *("self.ml.all(k, self.ml[k].all(v, v == {string}))", "self.mm.exists(k, self.mm[k].exists(j, self.mm[k][j] > {int}))"),
        *("sets.contains({list<string>}, {list<string>})", "sets.intersects({list<int>}, {list<int>})", "{list<int>}.isSorted()"),
        *("{optional<string>}.hasValue()", "type({any}) == string", "type({any}) == type({any})", "{dyn} == {any}", "isSemver({string})"),
        *(
            "format.dns1123Label().validate({string}).hasValue()",
            "!format.named('uri').hasValue()",
            "{object} == {object}",
            "bool({string})",
        ),
        *("{any} == null", "self.all(v, true)", "{string}.all(v, true)", "{list<string>}.all(v, {int})"),
        # several fields of a variable, and loops in loops
        *("{list<object>}.all(v, v.l.all(w, w == v.s))", "{list<object>}.exists(v, v.l.exists_one(w, v.s.startsWith(w) || v.i > 1))"),
        *("self.mo.all(k, self.mo[k].l.all(w, w.size() > self.mo[k].i))", "self.mo.all(k, v, v.l.all(w, w == v.s && w.contains(k)))"),
        *("{list<object>}.all(v, self.lo.exists(w, w.s == v.s && w.l == v.l))", "self.ml.all(k, v, v.all(i, w, w == k || i > {int}))"),
        *(
            "{list<string>}.all(v, {list<string>}.exists(w, w.matches(v)))",
            "{list<object>}.map(v, v.l).flatten().all(w, w in {list<string>})",
        ),
        *("{list<object>}.filter(v, v.l.size() > 1).all(v, v.l.all(w, w != v.s))", "has(self.o.s) && self.o.l.exists(w, w == self.o.s)"),
        *(
            "cidr({string}).containsCIDR({string})",
            "cidr({string}).containsIP(ip({string}))",
            "cidr({string}).containsCIDR(cidr({string}))",
        ),
        *(
            "ip.isCanonical({string})",
            "isIP({string})",
            "isCIDR({string})",
            "cidr({string}).ip() == ip({string})",
            "url({string}) == url('a')",
        ),
        *("semver({string}) == semver({string})", "quantity({string}) != quantity({string})", "format.uri() == format.uuid()"),
        *("cidr({string}) == cidr({string})", "sets.equivalent({list<string>}, {list<string>})", "matches({string}, {string})"),
        *("{string}.endsWith({string})", "{bytes} < {bytes}", "{bytes} == {bytes}", "{list<string>} == {list<string>}", "self == self"),
        *("{map<string>} == {map<string>}", "{map<string>}.exists(k, k.startsWith({string}))", "{string} > {string}", "self.ld.isSorted()"),
    ],
    "string": [
        *("{string} + {string}", "string({int})", "string({double})", "{string}.lowerAscii()", "{string}.replace({string}, {string})"),
        *("{string}.substring({int})", "{string}.trim()", "{list<string>}.join(',')", "{string}.charAt({int})", "string({timestamp})"),
        *("{bool} ? {string} : {string}", "{optional<string>}.orValue({string})", "{optional<string>}.value()", "{string}.find('a+')"),
        *(
            "{string}.find('(')",
            "'%s %d'.format([{string}, {int}])",
            "'%s'.format([{any}])",
            "'%d'.format([{any}])",
            "'%.2f'.format([{double}])",
        ),
        *("url({string}).getHost()", "strings.quote({string})", "string(ip({string}))", "string({bytes})", "{list<string>}.min()"),
        *("{dyn}", "'%s'.format([{list<string>}])", "'%d%%'.format([{int}])", "{string}.format([{int}])"),
        *(
            "{string}.replace({string}, {string}, {int})",
            "{list<string>}.join()",
            "{list<string>}.join({string})",
            "string(bytes({string}))",
        ),
        *("{string}.substring({int}, {int})", "{string}.upperAscii()", "url({string}).getEscapedPath()", "{list<string>}.max()"),
    ],
    "int": [
        *(
            "{int} + {int}",
            "{int} * {int}",
            "{int} - {int}",
            "{int} / {int}",
            "{int} % {int}",
            "-{int}",
            "size({string})",
            "{string}.size()",
        ),
        *("size({list<string>})", "{map<int>}.size()", "int({string})", "int({double})", "{list<int>}.sum()", "{list<int>}.max()"),
        *("{timestamp}.getFullYear()", "{timestamp}.getHours('UTC')", "{duration}.getMinutes()", "{string}.indexOf({string})"),
        *("{list<string>}.indexOf({string})", "quantity({string}).asInteger()", "{bool} ? {int} : {int}", "ip({string}).family()"),
        *(
            "cidr({string}).prefixLength()",
            "semver({string}).major()",
            "{list<object>}.map(v, v.i).sum()",
            "{list<string>}.filter(v, v == {string}).size()",
        ),
        *("int('1')", "int('a')", "size({int})", "{dyn}", "{string}.lastIndexOf({string}, {int})", "{list<int>}.lastIndexOf({int})"),
        *("quantity({string}).compareTo(quantity({string}))", "quantity({string}).add({int}).asInteger()", "{list<int>}.min()"),
    ],
    "double": [
        "{double} + {double}",
        "double({int})",
        "double({string})",
        "quantity({string}).asApproximateFloat()",
        "{double} / {double}",
        "-{double}",
    ],
    "duration": ["{duration} + {duration}", "{timestamp} - {timestamp}", "{duration} - {duration}"],
    "timestamp": ["{timestamp} + {duration}", "{timestamp} - {duration}"],
    "bytes": ["bytes({string})", "{bytes} + {bytes}"],
    "dyn": ["dyn({any})"],
    "list<string>": [
        *(
            "{string}.split(',')",
            "{list<string>} + {list<string>}",
            "{list<string>}.map(v, v + {string})",
            "{list<string>}.filter(v, {bool})",
        ),
        *(
            "{list<object>}.map(v, v.s)",
            "[{string}, {string}]",
            "{string}.findAll('a')",
            "{map<string>}.map(k, k)",
            "{list<string>}.sort()",
        ),
        *("{list<string>}.distinct()", "{list<string>}.slice(0, {int})", "{list<string>}.transformList(i, v, v)", "[?{optional<string>}]"),
        *("{list<int>}.map(v, string(v))", "{list<string>}.reverse()", "{map<string>}.transformList(k, v, v)", "[{string}, {any}]"),
        *(
            "{string}.split({string}, 3)",
            "{string}.split({string}, {int})",
            "{string}.findAll({string}, {int})",
            "{list<string>}.slice(1, 5)",
        ),
        *("{bool} ? {list<string>} : {list<string>}", "{list<string>}.sortBy(v, v.size())", "{list<string>}.map(v, [v, v]).flatten(2)"),
    ],
    "list<int>": [
        "{list<int>} + {list<int>}",
        "{list<int>}.map(v, v + {int})",
        "[{int}, {int}]",
        "self.ll.flatten()",
        "{list<string>}.map(v, v.size())",
        "{list<int>}.map(v, v > {int}, v)",
        "lists.range({int})",
        "{list<int>}.distinct()",
    ],
    "map<string>": [
        "{map<string>}.transformMap(k, v, v + {string})",
        "{'a': {string}}",
        "{?'a': {optional<string>}}",
        "{map<string>}.transformMapEntry(k, v, {v: k})",
    ],
    "map<int>": ["{'a': {int}, {string}: {int}}", "{map<string>}.transformMap(k, v, v.size())"],
    "object": ["{bool} ? {object} : {object}"],
    "list<object>": [
        "{list<object>}.filter(v, has(v.s))",
        "{list<object>}.sortBy(v, v.i)",
        "{list<object>} + {list<object>}",
        "{list<object>}.sortBy(v, v.s)",
    ],
    "optional<string>": [
        "{optional<string>}.or({optional<string>})",
        "{optional<string>}.optMap(v, v + {string})",
        "optional.of({string})",
        "{optional<string>}.optFlatMap(v, optional.of(v + {string}))",
    ],
    "wrong": ["{any}"],
}
_KINDS = [kind for kind in _FORMS if kind != "wrong"]


def expression(random: Random, kind: str = "bool", depth: int = 0) -> str:
    """An expression, mostly of the type *kind*."""
    if random.random() < 0.02:
        kind = random.choice([*_KINDS, "wrong"])
    if depth > 2 or (depth and random.random() < 0.4):
        return random.choice(_PATHS[kind] if random.random() < 0.7 else _LITERALS[kind])
    text = random.choice(_FORMS[kind])
    same = random.choice(_KINDS)
    for wanted in ("any", "same", *_FORMS):
        while f"{{{wanted}}}" in text:
            inner = expression(random, same if wanted in ("any", "same") else wanted, depth + 1)
            text = text.replace(f"{{{wanted}}}", f"({inner})" if " " in inner else inner, 1)
    return text
