"""Whatever stands in a pod or a template, it is judged: no value is too odd for a rule, and each problem has words."""

from copy import deepcopy
from random import Random
from typing import Any

from jobspec.apis.releases import choose
from jobspec.kubernetes.builtin import builtin_problems
from jobspec.schemas import shapes
from tests.support import pod_mutants
from tests.support.seeds import seed

_TARGET = choose([])
_ODD: tuple[Any, ...] = (
    None,
    0,
    -1,
    1.5,
    1 << 40,
    "",
    "a",
    "\n",
    "ä" * 300,
    True,
    [],
    {},
    [None],
    [{}],
    [[]],
    {"a": None},
    {"a": {}},
    {"": ""},
)


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every mapping and list with each of its keys."""
    found = [(value, key) for key in value] if isinstance(value, dict) else [(value, at) for at in range(len(value))]
    return found + [place for around, key in found if isinstance(around[key], dict | list) for place in _places(around[key])]


def test_odd_values_anywhere() -> None:
    random, shape = Random(seed()), shapes.load("v1", "Pod", _TARGET)
    assert shape
    refused = 0
    for _ in range(1000):
        pod = pod_mutants.changed(random.choice((pod_mutants.SMALL, pod_mutants.LARGER)), shape, random, times=random.choice((1, 3, 6)))
        for _ in range(random.choice((0, 1, 2))):
            around, key = random.choice(_places(pod))
            around[key] = deepcopy(random.choice(_ODD))
        kept = {name: pod[name] for name in ("metadata", "spec") if name in pod}
        template = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "a"}, "template": kept}
        found = [*builtin_problems(pod, "v1", "Pod", _TARGET), *builtin_problems(template, "v1", "PodTemplate", _TARGET)]
        assert all(each.message and isinstance(each.path, tuple) for each in found)
        refused += bool(found)
    assert 300 < refused < 1000
