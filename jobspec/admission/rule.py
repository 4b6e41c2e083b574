"""A rule of a webhook: a generator over a workload, and the releases of the operator on which it holds."""

from __future__ import annotations

from jobspec.targets import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jobspec.diagnostics import Path, Severity
    from jobspec.targets import Target
    from jobspec.workloads import Workload


class Fault:
    """A problem that a rule finds in a workload: its path, a sentence, and how to correct it."""

    __slots__ = ("field", "hint", "message", "path", "severity")

    def __init__(self, path: Path, message: str, hint: str = "", *, field: str = "", severity: Severity = "error") -> None:
        self.path = path
        self.message = message
        self.hint = hint
        self.field = field
        """The field as the operator spells it; empty where that is the path's own spelling."""
        self.severity = severity


class WebhookRule:
    """A check that the operator makes from release *since* on, and before release *until*; empty where there is no such limit."""

    __slots__ = ("_held", "check", "name", "since", "until")

    def __init__(self, check: Callable[[Workload, Target], Iterator[Fault]], since: str = "", until: str = "") -> None:
        self.check = check
        self.name = check.__name__.replace("_", "-")
        """The rule's name in the catalogue: the function's, in kebab-case."""
        self.since = since
        self.until = until
        self._held: dict[str, bool] = {}

    def holds(self, release: str) -> bool:
        """Whether the operator makes the check at a release."""
        held = self._held.get(release)
        if held is None:
            held = reached(release, self.since or release) and not (self.until and reached(release, self.until))
            self._held[release] = held
        return held


def faults(rules: Iterable[WebhookRule], workload: Workload, target: Target, release: str) -> Iterator[tuple[str, Fault]]:
    """All faults of a workload at a release of its operator, each with the name of its rule."""
    for rule in rules:
        if rule.holds(release):
            for fault in rule.check(workload, target):
                yield rule.name, fault
