"""Settings of the checks: which rules are reported, what fails, the baseline, and the contracts of images."""

from __future__ import annotations

from jobspec.diagnostics import JobspecError, spell
from jobspec.kubernetes.problems import closest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from jobspec.diagnostics import Diagnostic
    from jobspec.results import FileResult

STAGES = ("schema", "admission", "render", "outcome", "lint")
SEVERITIES = ("error", "warning", "info")


class Settings:
    """What is chosen, by options or in a file."""

    __slots__ = ("baseline", "contracts", "fail_on", "ignore", "select")

    def __init__(
        self,
        *,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        fail_on: str = "",
        baseline: str = "",
        contracts: Mapping[str, str] | None = None,
    ) -> None:
        self.select = select
        """Names of rules and stages; none for all."""
        self.ignore = ignore
        self.fail_on = fail_on or SEVERITIES[0]
        self.baseline = baseline
        """The path of the baseline; empty where there is none."""
        self.contracts = contracts or {}
        """Image -> path of the JSON Schema of its flags."""

    def over(self, data: Mapping[str, Any]) -> Settings:
        """These settings, from options, over those of a file: options win, but ignored rules and contracts are added to the file's."""
        return Settings(
            select=self.select or data.get("select") or (),
            ignore=[*(data.get("ignore") or ()), *self.ignore],
            fail_on=data.get("failOn") or "" if self.fail_on == SEVERITIES[0] else self.fail_on,
            baseline=self.baseline or data.get("baseline") or "",
            contracts={**(data.get("contracts") or {}), **self.contracts},
        )

    def tells(self, rule: str, stage: str) -> bool:
        """Whether a rule's diagnostics are reported; those of decoding always are."""
        names = (rule, stage)
        return stage == "decoding" or (
            (not self.select or any(each in names for each in self.select)) and not any(each in names for each in self.ignore)
        )

    def selected(self, diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The diagnostics of the rules that are reported."""
        return [each for each in diagnostics if self.tells(each.rule, each.stage)]

    def fails(self, results: Iterable[FileResult]) -> bool:
        """Whether reported diagnostics make the run fail."""
        enough = SEVERITIES[: SEVERITIES.index(self.fail_on) + 1]
        return any(each.severity in enough for result in results for each in result.diagnostics)


def require_known(settings: Settings, rules: Iterable[str], where: str) -> None:
    """Raises JobspecError for names that are neither a rule nor a stage, and for an unknown severity."""
    known = [*rules, *STAGES]
    wrong = [name for name in (*settings.select, *settings.ignore) if name not in known]
    problems = [f"{where}: there is no rule `{name}`; {closest(name, known) or '`jobspec explain RULE` knows all'}" for name in wrong]
    if settings.fail_on not in SEVERITIES:
        problems.append(f"{where}: what fails is one of {', '.join(SEVERITIES)}, not {settings.fail_on}")
    if problems:
        raise JobspecError("\n".join(problems))


def declared(data: Any, where: str) -> Mapping[str, Any]:
    """The settings that a file declares. Raises JobspecError with all that is wrong with them."""
    from jobspec.kubernetes.structural import schema_problems_at
    from jobspec.schemas.shapes import load
    from jobspec.targets import complete

    project = load("jobspec.dev/v1alpha1", "Project", complete({}))
    shape = project.at(("spec", "checks")) if project else None
    assert shape
    wrong = [f"{where}: {spell(each.path)}: {each.message}" for each in schema_problems_at(data, shape, ())]
    if wrong:
        raise JobspecError("\n".join(wrong))
    return data if isinstance(data, dict) else {}
