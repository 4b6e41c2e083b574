"""Rules of operators' webhooks: generators over a workload that hold from one release to another, and their faults as diagnostics."""

from __future__ import annotations

from jobspec.findings import Finding, Rule
from jobspec.kinds import find
from jobspec.kubernetes.metadata import bad_dns1035_label, bad_subdomain, generated_name
from jobspec.targets import is_at_least

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.targets import Target
    from jobspec.workloads import Workload


def findings(rules: Iterable[Rule], workload: Workload, target: Target, release: str) -> Iterator[tuple[str, Finding]]:
    """What rules find in a workload at a release of its operator, each with the name of its rule."""
    passed = {"": True}  # a limit -> whether the release is that one or came after it; most rules have the same limits
    for rule in rules:
        for limit in (rule.since, rule.until):
            if limit not in passed:
                passed[limit] = is_at_least(release, limit)
        if passed[rule.since] and not (rule.until and passed[rule.until]):
            for finding in rule.check(workload, target):
                yield rule.name, finding


# The answer of webhooks to a document: what rules find, as diagnostics, and the objects that were looked up.


class Objects:
    """The objects on the server that a document can refer to."""

    __slots__ = ("beside", "closed", "elsewhere", "refused")

    def __init__(
        self,
        beside: Sequence[Document] = (),
        elsewhere: Sequence[Document] = (),
        *,
        refused: Sequence[Document] = (),
        closed: bool = False,
    ) -> None:
        self.beside = beside
        """The accepted objects of the same file."""
        self.refused = refused
        """The refused objects of the same file."""
        self.elsewhere = elsewhere
        """The accepted objects of other files."""
        self.closed = closed
        """Whether the server has no other objects, but those that the operators ship."""

    def with_others(self, documents: Sequence[Document]) -> Objects:
        """The same with further objects of other files."""
        return Objects(self.beside, [*self.elsewhere, *documents], refused=self.refused, closed=self.closed)


def diagnostics(rules: Iterable[Rule], workload: Workload, target: Target) -> list[Diagnostic]:
    """What rules find in a workload, as diagnostics of its document."""
    document = workload.document
    kind = find(document.api_version, document.kind)
    assert kind
    return [each.diagnostic(document, name) for name, each in findings(rules, workload, target, target[kind.component])]


# Names of jobs, which begin the names of Services and pods, and names of managers.
#
# Follows `NameIsDNS1035Label` and `IsDomainPrefixedPath`, k8s.io/apimachinery pkg/api/validation and pkg/util/validation, 0.36.


_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_PATH = _LETTERS | frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~%!$&'()*+,;=:")


def job_name(workload: Workload, target: Target) -> Iterator[Finding]:
    """The job's name begins the names of its pods and Services, so it has to be a DNS label of RFC 1035.

    That is at most 63 lower-case letters, digits and `-`, a letter first. The API server alone would also take dots and a digit first.
    """
    name, key = name_of(workload)
    why = bad_dns1035_label(name)
    if why:
        message = f"`{workload.document.data['metadata'][key]}` cannot be the name of a job: {why}"
        yield Finding(("metadata", key), message, field="metadata.name")


def name_of(workload: Workload) -> tuple[str, str]:
    """The object's name and its key in `metadata`; a `generateName` gets five more characters."""
    metadata = workload.document.data["metadata"]
    if metadata.get("name"):
        return metadata["name"], "name"
    return generated_name(metadata["generateName"]), "generateName"


def bad_manager(name: str) -> str:
    """Why *name* is no domain-prefixed path such as `example.com/team`; empty where it is one."""
    domain, _, path = name.partition("/")
    if bad_subdomain(domain) or not path:
        return "it has to be a domain, `/` and a name"
    return "" if _PATH.issuperset(path) else "its name holds a character that no URL has"


# Admission: the rules of the operators' webhooks, which review what the server's own checks accept.
#
# A rule is a generator over a workload that yields findings. Its function gives it its name, and the docstring its explanation. The list
# WEBHOOK_RULES below the rules says on which releases each holds. The webhooks see the object without the defaults that an operator fills
# in later.
