"""Each rule's function says what its text says, by a CEL interpreter and by a real API server."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from cel_expr_python import cel
from hypothesis import given, settings
from hypothesis import strategies as some

from jobspec.apis import cel_rules, queue_rules
from jobspec.apis.cel_rules import is_transition, objection
from tests.hunt import rules
from tests.hunt.finds import report
from tests.support import server as servers
from tests.support.reference import ROOT
from tests.support.seeds import seed
from tests.support.server import Server

_NAMES = some.text(some.sampled_from("az09-.A_ä\n"), max_size=6) | some.integers(60, 66).map("a".__mul__)
_URIS = some.lists(some.sampled_from(["s3", "hf", "S", "1", "+", ".-", "_", "ä", ":", "/", "://", "a", "\n", " "]), max_size=5).map("".join)
_JSON: some.SearchStrategy[Any] = some.recursive(
    some.integers(-2, 2) | some.sampled_from(["", "a", "1"]) | some.booleans(),
    lambda inner: some.lists(inner, max_size=2) | some.dictionaries(some.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)


def _object(**fields: some.SearchStrategy[Any]) -> some.SearchStrategy[dict[str, Any]]:
    """Mappings in which each field may be absent."""
    return some.fixed_dictionaries({}, optional=fields)


def _items(**fields: some.SearchStrategy[Any]) -> some.SearchStrategy[list[Any]]:
    return some.lists(_object(**fields), max_size=3)


_POLICIES = _object(
    numNodes=some.just(1),
    torch=_object(elasticPolicy=some.just({})),
    **{name: some.just({}) for name in ("mpi", "jax", "xgboost", "flux")},
)

_SOME = some.sampled_from(["a", "b"])
_QUOTAS = _items(borrowingLimit=some.just(1))
_GROUPS = some.lists(
    some.fixed_dictionaries({"flavors": some.lists(some.fixed_dictionaries({"resources": _QUOTAS}), max_size=2)}), max_size=2
)
_HOW = some.sampled_from(["Never", "Any"])
_NEXT = some.sampled_from(["TryNextFlavor", "MayStopSearch"])
_FLAVORS = _object(topologyName=_SOME, nodeLabels=_object(a=_SOME), tolerations=_items(key=_SOME))
_TAINTS = _items(
    key=_SOME,
    operator=some.sampled_from(["Exists", "Equal", "Lt"]),
    effect=some.sampled_from(["NoSchedule", "NoExecute", ""]),
    value=_SOME,
    tolerationSeconds=some.just(1),
)
RULES = cel_rules.RULES | queue_rules.RULES
#: For each rule, the values that it can be about.
_VALUES: dict[str, some.SearchStrategy[Any]] = {
    cel_rules.UNCHANGED.text: _JSON,
    cel_rules.NAME_IS_LABEL.text: some.fixed_dictionaries({"metadata": some.fixed_dictionaries({"name": _NAMES})}),
    cel_rules.NAME_IS_SHORT.text: some.fixed_dictionaries({"metadata": some.fixed_dictionaries({"name": _NAMES})}),
    cel_rules.KNOWN_MANAGER.text: some.sampled_from(["", "trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue", "kueue"]),
    cel_rules.URI.text: _URIS,
    cel_rules.NUMBER_OF_PROCESSES.text: some.integers(-2, 2) | some.sampled_from(["auto", "cpu", "gpu", "", "1", "tpu"]),
    cel_rules.POSITIVE.text: some.integers(-(2**31), 2**31 - 1) | some.integers(-1, 2),
    cel_rules.NO_NODE.text: some.lists(some.sampled_from(["node", "", "nodes", "a"]), max_size=3),
    cel_rules.NODES_ONCE.text: _POLICIES,
    cel_rules.TORCH_OR_MPI.text: _POLICIES,
    cel_rules.ONE_POLICY.text: _POLICIES,
    cel_rules.ONE_ORDER.text: _object(
        startupPolicy=some.fixed_dictionaries({"startupPolicyOrder": some.sampled_from(["InOrder", "AnyOrder"])}),
        replicatedJobs=_items(dependsOn=some.just([])),
    ),
    cel_rules.NO_NAMESPACE.text: _object(templates=_items(metadata=_object(namespace=some.sampled_from(["", "a"])))),
    cel_rules.UPDATED.text: _object(lastUpdatedTime=some.just("2001-01-01T00:00:00Z")),
    queue_rules.BORROWS_IN_COHORT.text: _object(cohortName=_SOME, resourceGroups=_GROUPS),
    queue_rules.BORROWS_IN_OLD_COHORT.text: _object(cohort=_SOME, resourceGroups=_GROUPS),
    queue_rules.PREFERENCE.text: _object(preference=_SOME, whenCanBorrow=_NEXT, whenCanPreempt=_NEXT),
    queue_rules.RECLAIMS.text: _object(reclaimWithinCohort=_HOW, borrowWithinCohort=_object(policy=_HOW)),
    queue_rules.ALL_COVERED.text: some.fixed_dictionaries(
        {"coveredResources": some.lists(_SOME, max_size=2), "flavors": _items(resources=some.lists(_SOME, max_size=2))}
    ),
    queue_rules.UNIQUE.text: some.lists(_JSON, max_size=3),
    queue_rules.HOSTNAME_LAST.text: some.lists(
        some.fixed_dictionaries({"nodeLabel": some.sampled_from(["kubernetes.io/hostname", "a"])}), max_size=3
    ),
    queue_rules.TOPOLOGY_HAS_LABEL.text: _FLAVORS,
    queue_rules.FLAVOR_LABELS.text: _FLAVORS,
    queue_rules.FLAVOR_TOLERATIONS.text: _FLAVORS,
    queue_rules.FLAVOR_TOPOLOGY.text: _FLAVORS,
    queue_rules.TAINT_EFFECTS.text: _TAINTS,
    queue_rules.EVERY_KEY.text: _TAINTS,
    queue_rules.SECONDS_OF_NO_EXECUTE.text: _TAINTS,
    queue_rules.TOLERATION_OPERATORS.text: _TAINTS,
    queue_rules.EXISTS_HAS_NO_VALUE.text: _TAINTS,
    queue_rules.TOLERATION_EFFECTS.text: _TAINTS,
    queue_rules.ONE_SOURCE.text: _object(kubeConfig=some.just({}), clusterProfileRef=some.just({})),
}


def test_every_rule_of_every_release_has_a_function_and_no_function_is_left_over() -> None:
    """By the schemas that are committed, which are what the models give."""
    texts = [path.read_text() for path in (ROOT / "schemas" / "compiled").rglob("*.json")]
    assert {rule for rule in RULES if any(_quoted(rule) in text for text in texts)} == set(RULES)
    assert set(_VALUES) == set(RULES)


def _quoted(rule: str) -> str:
    return f'"rule":"{rule}"'


@pytest.mark.parametrize("text", RULES)
def test_function_and_text_agree(text: str) -> None:
    rule = RULES[text]
    program = cel.NewEnv(variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN}).compile(text)
    answers = set()

    @settings(max_examples=120, deadline=None)
    @given(_VALUES[text], _VALUES[text])
    def agrees(value: Any, old: Any) -> None:
        values = (value, old) if is_transition(text) else (value,)
        reported = program.eval(data={"self": value, "oldSelf": old}).value()
        assert (objection(rule, *values) is None) == (reported is True), (value, old, reported)
        answers.add(reported is True)

    agrees()
    assert answers == {True, False}, "values of one sort alone prove nothing"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    yield from servers.find("TrainJob", "TrainingRuntime", "JobSet")


def test_a_server_says_the_same_to_generated_objects(server: Server, tmp_path: Path) -> None:
    tally: Counter[str] = Counter()
    assert report(rules.finds(server, Random(seed()), tmp_path, tally)) == ""
    assert tally["accepted"] > 20 < tally["refused"]
