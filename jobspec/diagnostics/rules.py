"""A rule, and a finding of a rule."""

from __future__ import annotations

from jobspec.diagnostics.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from dataclasses import KW_ONLY
    from typing import Literal, Protocol, TypeAlias

    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.diagnostics.explanations import Stage
    from jobspec.diagnostics.places import Mark, Path
    from jobspec.diagnostics.problems import Change

    #: What a rule of lint is called with: the `LintedJob` of a job of any kind or of one (`MPIJob` is mpi-operator's, `any MPIJob` that of
    #: training-operator, too), of one of training-operator's, of one of KubeRay's, of one that is or makes a JobSet, of a runtime that is
    #: looked at alone, or of jobs and runtimes alike (`pods`); of these and of other kinds with pod templates (`any pods`), or of all of
    #: them but runtimes, whose pods are in no namespace (`any pods in a namespace`); of what Kueue queues (`queued`), the `LintedJob` of a
    #: job or the `LintedDocument` of another kind; the `LintedDocument` of any document, or of a runtime.
    Sees = Literal[
        "pods",
        "any pods",
        "any pods in a namespace",
        "job",
        "MPIJob",
        "any MPIJob",
        "PyTorchJob",
        "training-operator",
        "TrainJob",
        "JobSet",
        "LeaderWorkerSet",
        "Ray",
        "runtime's pods",
        "queued",
        "document",
        "runtime",
    ]

    class HasPlace(Protocol):
        """A value that knows its place, such as a `MarkedTree`."""

        @property
        def mark(self) -> Mark:
            """Where it was written."""

        def place(self) -> Mark:
            """Where to point."""

    #: Where a finding is: a path in the document that a rule looks at, a value with a place, a line, or None for no line of any file.
    Place: TypeAlias = "Path | HasPlace | Mark | None"


#: A place, and a change of the text behind it, whose path begins there.
Edit: TypeAlias = "tuple[Place, Change]"


#: Kind of an object that an operator creates -> the rule that reports its refusal.
REFUSED = {
    "HorizontalPodAutoscaler": "autoscaler-refused",
    "Job": "job-refused",
    "JobSet": "jobset-refused",
    "PersistentVolumeClaim": "claim-refused",
    "Pod": "pods-refused",
    "RayCluster": "ray-cluster-refused",
    "Service": "service-refused",
    "StatefulSet": "stateful-set-refused",
}
REFUSALS = frozenset(REFUSED.values())
UNJUDGED = "unjudged-template"
"""The rule that says what is not judged because of placeholders."""


class Finding(Record):
    """A finding of a rule: its place, a sentence, a hint, and the edits that fix the problem.

    There are edits only if there is only one way.
    """

    at: Place
    message: str
    hint: str = ""
    _: KW_ONLY
    rule: str = ""
    """The name of the rule, where that is not its function's."""
    field: str = ""
    """The field as an operator spells it; empty where that is the path's own spelling."""
    edits: Sequence[Edit] = ()
    changes: Sequence[Change] = ()
    """What fixes it in the document, where the hint is certain; what lint finds in other documents, too, is fixed by `edits`."""
    severity: Severity | None = None
    """Where it is another one than the rule's."""
    stage: Stage | None = None
    """Who says it, where that is another one than of the rule."""


class Rule:
    """A check, its severity, and where it applies: what it sees and reads, at which releases."""

    def __init__(
        self,
        check: Callable[..., Iterator[Finding]],
        severity: Severity = "error",
        *,
        sees: Sees = "pods",
        of: Collection[tuple[str, str]] = (),
        reads: Iterable[str] = (),
        kinds: Sequence[tuple[str, str]] = (),
        since: str = "",
        until: str = "",
        by_default: bool = True,
        has_unsafe_fix: bool = False,
    ) -> None:
        self.check = check
        self.name = check.__name__.replace("_", "-")
        """The rule's name in the catalogue: the function's, in kebab-case."""
        self.severity: Severity = severity
        self.sees: Sees = sees
        self.of = frozenset(of)
        """The kinds of the documents that it looks at; empty if it looks at all that it sees."""
        self.reads = [each.lower() for each in reads]
        """Parts of keys and texts: it finds nothing in a job that says none of them, unless a document is of one of the `kinds`."""
        self.kinds = kinds
        self.since = since
        """The release of the operator from which on it holds, and `until` that from which on it holds no more; empty without a limit."""
        self.until = until
        self.by_default = by_default
        """Whether it is looked at where nobody chooses it by name."""
        self.has_unsafe_fix = has_unsafe_fix
        """Whether its fix changes what runs, so that only `--unsafe-fixes` makes it."""
