"""What a rule looks like: of our cases, for each rule the shortest lines that trip it, its message, and the lines after its fix.

Of rules of webhooks, the upstream code that the rule's module follows is there, too. `jobspec explain` shows all of it, from
`jobspec/lint/rule_examples.json`.
"""

import inspect
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

from jobspec import api
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.lint.catalogue import ADMISSION, rules
from jobspec.lint.topics import every_rule
from jobspec.session.fixes import with_remedies
from tests.support.processes import run_here
from tests.support.reference import ROOT

CASES = ROOT / "tests" / "cases"
SHIPPED = ROOT / "jobspec" / "lint" / "rule_examples.json"
#: The folders of cases whose files are judged one by one.
FOLDERS = ("validate", "admission", "outcome", "policies", "kueue", "crds")
#: Folders of cases, each for the rule that it is named for: rules of kustomizations, engines and comments, which see several files.
RULE_FOLDERS = CASES / "rules"
_COMMENT = re.compile(r"\s+# ~.*$")
_MARKED = re.compile(r"# ~ ([a-z-]+)(?:: (.*))?$")
_FOLLOWS = re.compile(r"Follows (.+?)(?:\.\n|\.\s*\"\"\"|\n\s*#?\s*\n)", re.DOTALL)
_LINES_BEFORE, _LINES_BELOW = 2, 2


def examples() -> dict[str, dict[str, str]]:
    """The example of each rule that has one, by the rule's name."""
    advice = {rule.name for rule in every_rule()}
    best: dict[str, tuple[tuple[int, str], dict[str, str]]] = {}
    for rule, example in seen():
        if rule in advice or rule not in rules():
            continue
        rank = "hint" not in example, "after" not in example, sum(map(len, example.values())), json.dumps(example, sort_keys=True)
        if rule not in best or (rank < best[rule][0] and "hint" in example):
            best[rule] = rank, example
    found = {rule: example for rule, (_, example) in best.items()}
    for name, upstream in followed().items():
        found[name] = {**found.get(name, {}), "follows": upstream}
    return {rule: found[rule] for rule in sorted(found)}


def seen() -> list[tuple[str, dict[str, str]]]:
    """Every example in the cases, with its rule."""
    judged = [each for folder in FOLDERS for path in sorted((CASES / folder).glob("*.yaml")) for each in _of_file(path)]
    marked = [path for path in sorted(CASES.rglob("*.yaml")) if not path.is_relative_to(RULE_FOLDERS)]
    of_folders = [each for folder in sorted(RULE_FOLDERS.iterdir()) for each in _of_folder(folder)]
    return judged + of_folders + [each for path in marked for each in _marked_in(path)]


def followed() -> dict[str, str]:
    """The upstream code that each rule of a webhook follows, as the last sentence before the rule's function says it."""
    found = {}
    for rule in (rule for each in ADMISSION for rule in each):
        module = inspect.getmodule(rule.check)
        source = inspect.getsource(module) if module else ""
        before = source[: source.find(f"\ndef {rule.check.__name__}(")]
        if named := _FOLLOWS.findall(f"{before}\n\n"):
            found[rule.name] = " ".join(re.sub(r"\n\s*#", " ", named[-1]).split())
    return found


def _marked_in(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what the marks of a case say, for rules that need another world than the default one."""
    text = path.read_text(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if (found := _MARKED.search(line)) and not line.strip().startswith("#"):
            message = {"message": found[2]} if found[2] else {}
            yield found[1], {"before": _excerpt(text, number), **message}


def _of_file(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    for found in api.check(text, name=path.name, outcome=True).diagnostics:
        if found.mark.line and not found.mark.layer and found.mark.file == path.name and found.message:
            yield found.rule, _example(text, found)


def findings_in(folder: Path) -> list[dict[str, Any]]:
    """Lint a copy of a folder as a repository of its own, and return its findings as the JSON report has them."""
    with tempfile.TemporaryDirectory() as temporary:
        copy = shutil.copytree(folder, Path(temporary) / folder.name)
        (copy / ".git").mkdir()
        (copy / ".git" / "HEAD").touch()
        report = json.loads(run_here("lint", ".", "-o", "json", cwd=copy).stdout)
    return [each for file in report["files"] for each in file["diagnostics"]]


def _of_folder(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for found in findings_in(folder):
        if found["rule"] == folder.name:
            example = {
                "before": _excerpt((folder / found["file"]).read_text(), found["line"]),
                **{key: found[key] for key in ("message", "hint")},
            }
            yield found["rule"], {key: value for key, value in example.items() if value}


def _example(text: str, found: Diagnostic) -> dict[str, str]:
    before = _excerpt(text, found.mark.line)
    example: dict[str, Any] = {"before": before, "message": str(found.message), "hint": found.hint}
    if found.changes and found.document is not None:
        fixed, made = with_remedies(text, [(found.document, found.changes)], file=found.mark.file)
        after = _excerpt(fixed, found.mark.line) if made else ""
        if after != before:
            example["after"] = after
    return {key: value for key, value in example.items() if value}


def _excerpt(text: str, line: int) -> str:
    """The line of a finding with up to two lines that it is in, without the marks of cases."""
    lines = [_COMMENT.sub("", each) for each in text.splitlines()]
    chosen = [lines[line - 1]]
    depth = _depth(lines[line - 1])
    for each in reversed(lines[: line - 1]):
        if each.startswith("---") or len(chosen) > _LINES_BEFORE:
            break
        is_list = chosen[0].lstrip().startswith("-") and each.rstrip().endswith(":") and _depth(each) == depth
        if each.strip() and not each.strip().startswith("#") and (_depth(each) < depth or is_list):
            chosen.insert(0, each)
            depth = _depth(each)
    depth = _depth(lines[line - 1])
    if lines[line - 1].rstrip().endswith(":"):
        below = lines[line : line + _LINES_BELOW]
        chosen += below[: next((at for at, each in enumerate(below) if _depth(each) <= depth or not each.strip()), len(below))]
    return dedent("\n".join(chosen))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def write() -> None:
    """Write the examples where `jobspec explain` finds them."""
    SHIPPED.write_text(json.dumps(examples(), indent=1, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write()
