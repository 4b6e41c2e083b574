"""The CEL rules of our own kinds, but for those of Kueue.

Each is upstream's text and a Python function with the same meaning. The function gets the value as CEL does, without nulls and with
defaults. If it raises KeyError, AttributeError or TypeError, evaluation fails in CEL, too, and the object is refused.
`tests/apis/test_cel_rules.py` compares each text with its function.
"""

from __future__ import annotations

from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jobspec.diagnostics.places import Path

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_LABEL = _LETTERS | frozenset("0123456789-")
_ANY_LETTERS = _LETTERS | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SCHEME = _ANY_LETTERS | frozenset("0123456789+.-")
_POLICIES = ("torch", "mpi", "jax", "xgboost", "flux")
#: In place of a value that rules fail on, such as one of a wrong type: it equals nothing.
UNFIT = float("nan")


class CelRule(Record):
    """A rule's text, its function, and the hint and path that a diagnostic adds."""

    text: str
    holds: Callable[..., bool]
    """Takes the value; of a transition rule, the value and the stored one."""
    hint: str = ""
    about: Path = ()
    """The path, from the rule's value, of the value that it is about."""


def objection(rule: CelRule, *values: Any) -> str | None:
    """Return the hint for values that break a rule. If the rule holds, return None.

    The hint may be empty.
    """
    try:
        return None if rule.holds(*values) else rule.hint
    except KeyError as error:
        return f"the rule cannot do without `{error.args[0]}`"
    except (AttributeError, TypeError):  # a value of a wrong type
        return rule.hint


def fails(rule: CelRule, *values: Any) -> bool:
    """True if the evaluation of a rule on values fails with an error.

    The server refuses such values even if an update does not change them.
    """
    try:
        rule.holds(*values)
    except (KeyError, AttributeError, TypeError):
        return True
    return False


def is_transition(text: str) -> bool:
    """True if a rule uses `oldSelf`, so that it is evaluated for updates only."""
    return "oldSelf" in text


def same(value: Any, old: Any) -> bool:
    """True if two values are equal in CEL."""
    if isinstance(value, dict) and isinstance(old, dict):
        return value.keys() == old.keys() and all(same(inner, old[name]) for name, inner in value.items())
    if isinstance(value, list) and isinstance(old, list):
        return len(value) == len(old) and all(map(same, value, old))
    return bool(value == old) and isinstance(value, bool) == isinstance(old, bool)  # to Python, true is 1


def _name_is_label(job: dict[str, Any]) -> bool:
    name = job["metadata"]["name"]
    return name[:1] in _LETTERS and _LABEL.issuperset(name) and not name.endswith("-")


def _is_uri(text: str) -> bool:
    scheme, mark, rest = text.partition("://")
    return not text or (scheme[:1] in _ANY_LETTERS and _SCHEME.issuperset(scheme) and mark != "" and rest != "" and "\n" not in rest)


def _has_one_order(jobset: dict[str, Any]) -> bool:
    if "startupPolicy" not in jobset or jobset["startupPolicy"]["startupPolicyOrder"] != "InOrder":
        return True
    return not any("dependsOn" in job for job in jobset["replicatedJobs"])


UNCHANGED = CelRule("self == oldSelf", same)
NAME_IS_LABEL = CelRule(
    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
    _name_is_label,
    "begin the name with a lower-case letter, and go on with lower-case letters, digits and `-`; no dot",
    about=("metadata", "name"),
)
NAME_IS_SHORT = CelRule("size(self.metadata.name) <= 63", lambda job: len(job["metadata"]["name"]) <= 63, about=("metadata", "name"))
KNOWN_MANAGER = CelRule(
    "self in ['trainer.kubeflow.org/trainjob-controller', 'kueue.x-k8s.io/multikueue']",
    lambda manager: manager in ("trainer.kubeflow.org/trainjob-controller", "kueue.x-k8s.io/multikueue"),
    "remove it, and the trainer runs the job",
)
URI = CelRule(
    "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')",
    _is_uri,
    "write the scheme, too, as in `hf://organisation/name`",
)
NUMBER_OF_PROCESSES = CelRule(
    "self > 0 || self in ['auto', 'cpu', 'gpu']",
    lambda value: value in ("auto", "cpu", "gpu") if isinstance(value, str) else value > 0,
)
POSITIVE = CelRule("self >= 1", lambda value: value >= 1)
NO_NODE = CelRule("!self.exists(c, c == 'node')", lambda containers: "node" not in containers, "remove `node`")
NODES_ONCE = CelRule(
    "!(has(self.numNodes) && (has(self.torch) && has(self.torch.elasticPolicy)))",
    lambda policy: not ("numNodes" in policy and "torch" in policy and "elasticPolicy" in policy["torch"]),
    "keep one of the two",
)
TORCH_OR_MPI = CelRule(
    "!(has(self.torch) && has(self.mpi))", lambda policy: not ("torch" in policy and "mpi" in policy), "keep `torch` or `mpi`"
)
ONE_POLICY = CelRule(
    "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost),has(self.flux)].filter(x, x).size() <= 1",
    lambda policy: sum(name in policy for name in _POLICIES) <= 1,
    "keep one of them, besides `numNodes`",
)
ONE_ORDER = CelRule(
    "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && self.replicatedJobs.exists(x, has(x.dependsOn)))",
    _has_one_order,
    "remove `startupPolicy`, and set `dependsOn` of each replicated job",
)
NO_NAMESPACE = CelRule(
    "self.templates.all(t, !has(t.metadata.namespace) || size(t.metadata.namespace) == 0)",
    lambda policy: all(not template["metadata"].get("namespace") for template in policy["templates"]),
    "remove the namespace",
)
UPDATED = CelRule("has(self.lastUpdatedTime)", lambda status: "lastUpdatedTime" in status)

RULES = {rule.text: rule for rule in list(globals().values()) if isinstance(rule, CelRule)}
"""Every rule of this module by its text."""
