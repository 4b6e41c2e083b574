"""Every case file of policies: the lines that a rule is written beside are the lines that `validate` reports it for."""

import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Self

import pytest

from jobspec.apis.kinds import CUSTOM_RESOURCE_DEFINITION, GroupKind
from jobspec.documents.document import Document
from jobspec.documents.reader import read
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Manifests, Source
from jobspec.kubernetes.admission import policies
from jobspec.kubernetes.admission.policies import Request, decisions
from jobspec.kubernetes.custom_kinds import CustomKinds
from jobspec.kubernetes.index import Index
from jobspec.session.found import Found
from jobspec.session.found_file import FoundFile
from jobspec.session.inputs import load_run_context
from jobspec.session.options import Options
from jobspec.world.world import Cluster
from tests.support.cases import assert_reported, expectations, target_of
from tests.support.checking import result
from tests.support.reference import ROOT
from tests.support.seeds import seed

CASES = sorted((ROOT / "tests" / "cases" / "policies").glob("*.yaml"))


def _cluster(path: Path) -> Cluster:
    """The cluster of a case, which has the kinds that CRDs in the file define."""
    text = path.read_text()
    crds = [each for each in read(text, file=str(path))[0] if each.group_kind == CUSTOM_RESOURCE_DEFINITION]
    custom_kinds = CustomKinds(crds) if crds else None
    return Cluster(target_of(text), closed=path.stem == "closed-world", webhooks=False, custom_kinds=custom_kinds)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_rule_is_reported_where_it_is_expected_and_nowhere_else(path: Path) -> None:
    expected, found = expectations(path.read_text()), result(path, _cluster(path)).diagnostics
    assert_reported(expected, found)
    for line, rule, words in expected:
        assert any(words in each.message for each in found if (each.mark.line, each.rule) == (line, rule)), (line, words)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_document_may_stand_in_a_file_of_its_own(path: Path) -> None:
    documents = path.read_text().split("---\n")
    files = [Source(f"{number}.yaml", text) for number, text in enumerate(documents)]
    cluster = _cluster(path)
    together = result(path, cluster)

    class ReadAhead(TextFile):
        def parts_with(self, kinds: Collection[GroupKind], words: Collection[str]) -> list[Self]:
            text = str(self.source.content)
            return [self] if any(kind in text for _, kind in kinds) and (not words or any(word in text for word in words)) else []

    for kind_of_file in (ReadAhead, TextFile):
        found = travel(Journey(list(map(kind_of_file, files)), cluster, outcome=False))
        apart = [_without_file(each.message) for file in found for each in file.result.diagnostics]
        assert sorted(apart) == sorted(_without_file(each.message) for each in together.diagnostics)
        assert [row.status for file in found for row in file.result.documents] == [row.status for row in together.documents]


def _without_file(message: str) -> str:
    """Return a message without the file of the object that it names."""
    return re.sub(r"` \([^)]*\.yaml\)", "`", message)


def test_files_are_checked_once_where_their_policies_are_found_before_and_else_those_that_these_may_be_for(tmp_path: Path) -> None:
    namespace, limits, policy, binding, deployment, *_ = (CASES[0].parent / "validating.yaml").read_text().split("---\n")
    account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}"
    deployment += "  replicas: 9\n"
    paths = [tmp_path / f"{number}.yaml" for number in range(5)]
    for path, text in zip(paths, (f"{policy}---\n{binding}", namespace, f"{account}\n---\n{limits}", deployment, account), strict=True):
        path.write_text(text)
    found = [Found(str(path), named=False) for path in paths]
    loaded: list[str] = []

    class Counted(FoundFile):
        def load(self, world: Cluster) -> Manifests:
            loaded.append(Path(self.found.path).stem)
            return super().load(world)

    def checked(*, reads_ahead: bool) -> list[list[str]]:
        loaded.clear()
        files = [Counted(each.changed(named=True), load_run_context(Options()), False) for each in found]
        journey = Journey(files, Cluster(), outcome=False, reads_ahead=reads_ahead)
        return [[str(row) for row in each.result.diagnostics] for each in travel(journey)]

    once = checked(reads_ahead=True)
    assert [len(each) for each in once] == [0, 0, 0, 1, 0]
    assert "9 replicas, at most 3" in once[3][0]
    assert [loaded.count(each) for each in "34"] == [1, 1]
    assert checked(reads_ahead=False) == once
    assert [loaded.count(each) for each in "34"] == [2, 1]
    paths[0].write_text(paths[0].read_text().replace("kind: ValidatingAdmissionPolicy\n", 'kind: "\\x56alidatingAdmissionPolicy"\n'))
    assert checked(reads_ahead=True) == once, "one whose kind is written with an escape counts, too"


#: Expressions about ConfigMaps, which mostly hold, are false, or have no value; a policy has variables of these names.
_VARIABLES = {"all": "object.data", "last": "object.data.c", "twice": "variables.all.a + variables.all.a", "long": "size(variables.twice)"}
_EXPRESSIONS = (
    "object.data.a != 'a'",
    "!has(object.data.c) || object.data.c == 'b' || variables.last == 'a'",
    "variables.all.a in ['a', 'b', 'c'] || request.operation == 'UPDATE'",
    "variables.long < 30 && variables.twice != 'bb'",
    "variables.all.all(name, name != 'd') && has(variables.twice)",
    "object.data.map(name, object.data[name]).join('').size() < 40",
    "request.namespace != 'other' || request.userInfo.username == 'me'",
    "object.data.c.size() > 0",
)


def _policy(number: int, random: Random) -> Iterator[dict[str, Any]]:
    """A policy for ConfigMaps, of some of them for some alone, and its binding."""
    group = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": f"p{number}"}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    spec: dict[str, Any] = {
        "failurePolicy": random.choice(("Fail", "Ignore")),
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": name, "expression": text} for name, text in _VARIABLES.items()],
        "validations": [{"expression": each} for each in random.sample(_EXPRESSIONS, random.choice((1, 1, 2)))],
    }
    if random.random() < 0.3:
        spec["matchConditions"] = [{"name": "c", "expression": random.choice((*_EXPRESSIONS, "namespaceObject == null"))}]
    if random.random() < 0.3:
        spec["matchConstraints"]["objectSelector"] = {"matchLabels": {"is": "seen"}}
    if random.random() < 0.2:
        spec["matchConstraints"]["namespaceSelector"] = {"matchLabels": {"is": "seen"}}
    yield {**group, "kind": "ValidatingAdmissionPolicy", "spec": spec}
    yield {**group, "kind": "ValidatingAdmissionPolicyBinding", "spec": {"policyName": f"p{number}", "validationActions": ["Deny"]}}


def test_policies_that_are_evaluated_with_each_other_say_what_each_says_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    random, silent = Random(seed()), [0]
    find_silent = policies._silent

    def counted(known: Any, inputs: policies.Inputs) -> Collection[policies.Policy]:
        found = find_silent(known, inputs)
        silent[0] += len(found)
        return found

    for _ in range(5):
        objects = Index([each for number in range(20) for each in _policy(number, random)])
        requests = []
        for _ in range(60):
            data = {name: random.choice(("a", "b", "c", "b" * 20)) for name in random.sample("abcd", random.choice((2, 3, 3, 4)))}
            metadata = {"name": "c", "labels": {"is": random.choice(("seen", "hidden"))}}
            data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "c", **data}}
            requests.append(Request(data, namespace=random.choice(("own", "own", "other"))))
        with monkeypatch.context() as patched:
            patched.setattr(policies, "_silent", counted)
            together = [decisions(each, objects) for each in requests]
            patched.setattr(policies, "_silent", lambda *_: ())
            assert [decisions(each, objects) for each in requests] == together
    assert silent[0] > 100


def test_what_a_server_only_warns_of_is_a_warning() -> None:
    found = result(ROOT / "tests" / "cases" / "policies" / "warnings.yaml", Cluster()).diagnostics
    assert [each.severity for each in found] == ["warning", "warning", "warning", "error"]


def test_policies_are_gathered_once_for_all_documents_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pods.yaml"
    pod = "{apiVersion: v1, kind: Pod, metadata: {name: NAME, namespace: team}, spec: {containers: [{name: a, image: a}]}}"
    quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: none, namespace: team}, spec: {hard: {pods: 0}}}"
    path.write_text("\n---\n".join([quota, *(pod.replace("NAME", name) for name in "abc")]))
    gathered = []

    def data_of(documents: Sequence[Document]) -> list[Any]:
        gathered.append([each.name for each in documents])
        return [each.data for each in documents]

    monkeypatch.setattr("jobspec.kubernetes.index.data_of", data_of)
    assert [each.rule for each in result(path, Cluster()).diagnostics] == ["over-quota"] * 3
    assert [each for each in gathered if each] == [["none", "a", "b", "c"]]


def test_what_a_policy_is_for_loads_the_cel_library_and_nothing_else_does() -> None:
    """Not even a policy for other kinds."""
    script = "import sys; from jobspec.cli import main; main(sys.argv[1:]); sys.exit('jobspec.kubernetes.cel.library' in sys.modules)"

    def loads(name: str) -> bool:
        path = ROOT / "tests" / "cases" / "policies" / name
        return subprocess.run([sys.executable, "-c", script, "validate", path], capture_output=True, check=False).returncode == 1

    assert [loads(name) for name in ("quotas.yaml", "validating-warns.yaml")] == [False, True]


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        (
            "has(object.data) && size(object.data.a) > variables.least",
            "`size(object.data.a) > variables.least`; `size(object.data.a)` is 2",
        ),
        ("object.metadata.?labels.hasValue() && true", "`object.metadata.?labels.hasValue()`"),
        ("'a && b' == object.data.a || false", "`'a && b' == object.data.a || false`; `object.data.a` is \"xy\""),
    ],
)
def test_the_hint_names_the_part_that_is_false_and_its_values(expression: str, hint: str) -> None:
    group = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "variables": [{"name": "least", "expression": "3"}],
        "validations": [{"expression": expression}],
    }
    policy = {**group, "kind": "ValidatingAdmissionPolicy", "spec": spec}
    binding = {**group, "kind": "ValidatingAdmissionPolicyBinding", "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "xy"}}
    (found,) = decisions(Request(data, namespace="n"), Index([policy, binding]))
    assert found.hint.startswith(f"this is false: {hint}")
