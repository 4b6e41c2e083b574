"""Suppressing findings: options, settings in files, comments and baselines, of `validate` and `lint`."""

import json
import os
from pathlib import Path

import pytest

from tests.support.manifests import JOB, NEWEST, PROJECT_HEAD, write
from tests.support.processes import RELEASES, run_here

_OF_EVERY_PYTORCHJOB = "legacy-operator"
_LATEST = JOB.replace("train:v1", "train:latest")
_CORRECTED = "1 checked for admission and outcome as if unknown fields were corrected"
_BAD = JOB.replace("replicas: 1", "replicaz: 1")
_TWO = f"{_BAD}---\n{_BAD.replace('name: train', 'name: other')}"


def _reported(*arguments: str, cwd: Path) -> tuple[int, list[tuple[int, str]], dict[str, int]]:
    """The exit code, the line and rule of each diagnostic but of what every PyTorchJob is reported, and the summary."""
    done = run_here(*arguments, "-o", "json", cwd=cwd)
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    found = [
        (each["line"], each["rule"]) for file in report["files"] for each in file["diagnostics"] if each["rule"] != _OF_EVERY_PYTORCHJOB
    ]
    return done.returncode, found, report["summary"]


@pytest.mark.parametrize(
    ("text", "reported", "ignored"),
    [
        (_BAD.replace("replicaz: 1", "replicaz: 1  # jobspec: ignore[unknown-field] ours"), [], 1),
        (_BAD.replace("      replicaz", "      # jobspec: ignore[wrong-type, unknown-field] ours\n\n      # more\n      replicaz"), [], 1),
        (f"# jobspec: ignore[unknown-field] all of it\n{_BAD}", [], 1),
        (f"# jobspec: ignore[unknown-field]\n{_TWO}", [(23, "unknown-field")], 1),
        (_TWO.replace("---\n", "---\n# first\n# jobspec: ignore[unknown-field] the second one\n"), [(8, "unknown-field")], 1),
        (_BAD.replace("replicaz: 1", 'replicaz: "# jobspec: ignore[unknown-field]"'), [(8, "unknown-field")], 0),
        (_BAD.replace("metadata:", "metadata:  # jobspec: ignore[unknown-field]"), [(8, "unknown-field")], 0),
        (f"{JOB}# jobspec: ignore[unknown-field] long gone\n", [(14, "unused-ignore")], 0),
        (f"# jobspec: ignore[unknown-fild]\n{JOB}", [(1, "unused-ignore")], 0),
        (f"# jobspec: ignore\n{JOB}", [(1, "unused-ignore")], 0),
        (f"# jobspec: ignore[yaml-syntax]\n{JOB}", [(1, "unused-ignore")], 0),
        (f"# jobspec: ignore[duplicate-key]\n{JOB}kind: A\n", [(1, "unused-ignore"), (15, "duplicate-key")], 0),
        (f"# jobspec: ignore[unpinned-image] which `lint` looks at alone\n{JOB}", [], 0),
    ],
)
def test_a_comment_ignores_a_rule_on_its_line_above_it_or_in_its_document(
    tmp_path: Path, text: str, reported: list[tuple[int, str]], ignored: int
) -> None:
    write(tmp_path, {"a.yaml": text})
    code, found, summary = _reported("validate", "a.yaml", cwd=tmp_path)
    assert (found, summary.get("ignored", 0)) == (reported, ignored)
    assert code == any(rule != "unused-ignore" for _, rule in reported)


def test_lint_ignores_in_the_same_way_and_knows_its_own_rules(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _LATEST, "b.yaml": _LATEST.replace("latest", "latest  # jobspec: ignore[unpinned-image] nightly")})
    assert (13, "unpinned-image") in _reported("lint", "a.yaml", cwd=tmp_path)[1]
    assert (13, "unpinned-image") not in _reported("lint", "b.yaml", cwd=tmp_path)[1]
    write(tmp_path, {"c.yaml": JOB.replace("train:v1", "train:v1  # jobspec: ignore[unpinned-image] was")})
    assert (13, "unused-ignore") in _reported("lint", "c.yaml", cwd=tmp_path)[1]


def test_what_is_ignored_is_counted(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _BAD})
    done = run_here("validate", "a.yaml", "--ignore", "unknown-field", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"1 document: 1 invalid ({_CORRECTED}), 1 ignored {RELEASES}\n")


def test_rules_and_stages_are_selected_and_ignored(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": f"{_BAD}  bad: 1\n".replace("name: train", "name: Train"), "broken.yaml": "a: ["})
    rules = {rule for _, rule in _reported("validate", "a.yaml", cwd=tmp_path)[1]}
    assert rules == {"unknown-field", "invalid-name"}
    for options, left in (
        (["--select", "invalid-name"], {"invalid-name"}),
        (["--select", "schema"], rules),
        (["--select", "admission,outcome"], set()),
        (["--ignore", "invalid-name"], {"unknown-field"}),
        (["--ignore", "invalid-name", "--ignore=unknown-field"], set()),
        (["--select", "schema", "--ignore", "unknown-field"], {"invalid-name"}),
    ):
        code, found, _ = _reported("validate", "a.yaml", *options, cwd=tmp_path)
        assert ({rule for _, rule in found}, code) == (left, bool(left))
    assert _reported("validate", "broken.yaml", "--select", "invalid-name", cwd=tmp_path)[0] == 1


def test_a_template_is_told_of_where_its_rule_is_selected(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": f"{JOB}{{{{ more }}}}\n"})
    for options, is_told in (([], True), (["--select", "unjudged-template"], True), (["--select", "invalid-name"], False)):
        rules = {rule for _, rule in _reported("lint", ".", *options, cwd=tmp_path)[1]}
        assert ("unjudged-template" in rules) == is_told
    assert rules == set()


def test_a_warning_fails_where_that_is_wished(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": f"{JOB}# jobspec: ignore[unknown-field] gone\n"})
    assert [_reported("validate", "a.yaml", f"--fail-on={each}", cwd=tmp_path)[0] for each in ("error", "warning", "info")] == [0, 1, 1]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--ignore", "unknown-fild"], "--select or --ignore: unknown rule `unknown-fild`; did you mean `unknown-field`?"),
        (["--fail-on", "fatal"], "--fail-on: unknown severity `fatal`; the severities are error, warning, info"),
        (["--baseline", "none.json"], "none.json: No such file or directory; --write-baseline none.json writes one"),
        (["--baseline", "a.yaml"], "a.yaml: this is not a baseline; --write-baseline writes one"),
    ],
)
def test_a_mistake_in_an_option_is_reported(tmp_path: Path, options: list[str], error: str) -> None:
    write(tmp_path, {"a.yaml": JOB})
    done = run_here("validate", "a.yaml", *options, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"jobspec: {error}\n")


def test_settings_stand_in_the_project_or_in_pyproject(tmp_path: Path) -> None:
    project = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  variants: [{name: a, base: a.yaml}]\n"
    write(tmp_path, {"a.yaml": _BAD, "pyproject.toml": '[tool.jobspec]\nignore = ["unknown-field"]\nfail-on = "warning"\n'})
    assert _reported("validate", "a.yaml", cwd=tmp_path)[:2] == (0, [])
    write(tmp_path, {"jobspec.yaml": f"{project}  checks: {{ignore: [invalid-name]}}\n"})
    assert _reported("validate", "a.yaml", cwd=tmp_path)[0] == 1, "the project comes first"
    assert _reported("validate", "a.yaml", "--ignore", "schema", cwd=tmp_path)[0] == 0, "an option is added"
    write(tmp_path, {"jobspec.yaml": f"{project}  checks: {{ignor: [invalid-name], failOn: fatal}}\n"})
    done = run_here("validate", "a.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("jobspec.yaml: ")) == (2, 2)
    assert "has no field `ignor`" in done.stderr or "unknown field `ignor`" in done.stderr
    write(tmp_path, {"jobspec.yaml": project, "pyproject.toml": "[tool.jobspec]\nselect = ['no-rule']\n"})
    done = run_here("validate", "a.yaml", cwd=tmp_path)
    assert done.stderr.startswith("jobspec: pyproject.toml: unknown rule `no-rule`")
    write(tmp_path, {"pyproject.toml": "[tool.jobspec\n"})
    assert run_here("validate", "a.yaml", cwd=tmp_path).stderr.startswith("jobspec: pyproject.toml: ")


def test_an_option_wins_over_the_settings_even_with_the_value_of_no_option(tmp_path: Path) -> None:
    settings = '[tool.jobspec]\nfail-on = "warning"\nselect = ["wrong-type"]\nbaseline = "known.json"\n'
    write(tmp_path, {"a.yaml": f"# jobspec: ignore\n{JOB}", "b.yaml": _BAD})
    assert run_here("validate", "b.yaml", "--write-baseline", "known.json", cwd=tmp_path).returncode == 0
    write(tmp_path, {"pyproject.toml": settings.replace('select = ["wrong-type"]\n', "")})
    assert [_reported("validate", "a.yaml", *each, cwd=tmp_path)[0] for each in ([], ["--fail-on", "error"])] == [1, 0]
    assert [_reported("validate", "b.yaml", *each, cwd=tmp_path)[1] for each in ([], ["--baseline="])] == [[], [(8, "unknown-field")]]
    write(tmp_path, {"pyproject.toml": settings.replace('baseline = "known.json"\n', "")})
    assert [_reported("validate", "b.yaml", *each, cwd=tmp_path)[1] for each in ([], ["--select="])] == [[], [(8, "unknown-field")]]


def test_a_baseline_hides_what_was_there_and_reports_what_is_stale(tmp_path: Path) -> None:
    write(tmp_path, {"jobs/a.yaml": _TWO, "jobs/b.yaml": _BAD})
    done = run_here("validate", "jobs", "--write-baseline", "old/base.json", cwd=tmp_path)
    assert done.returncode == 2
    (tmp_path / "old").mkdir()
    assert _reported("validate", "jobs", "--write-baseline", "old/base.json", cwd=tmp_path)[0] == 0
    assert len(json.loads((tmp_path / "old" / "base.json").read_text())["known"]) == 3
    code, found, summary = _reported("validate", "jobs", "--baseline", "old/base.json", cwd=tmp_path)
    assert (code, found, summary["ignored"]) == (0, [], 3)
    # lines move, one mistake goes, and another one comes
    write(tmp_path, {"jobs/a.yaml": f"# new\n{JOB}---\n{_TWO.partition('---')[2].replace('image:', 'picture:')}"})
    code, found, _ = _reported("validate", "jobs", "--baseline", "old/base.json", cwd=tmp_path)
    assert code == 1
    assert [rule for _, rule in found] == ["unknown-field", "stale-baseline"]
    for part in ("a.yaml", "b.yaml"):
        done = run_here("validate", part, "--baseline", "../old/base.json", cwd=tmp_path / "jobs")
        assert "stale-baseline" not in done.stdout, "a part of the files, as pre-commit gives it, shows nothing of what the others explain"


_VARIANTS = f"""\
{PROJECT_HEAD}  variants:
    - {{name: one, base: base.yaml}}
    - {{name: two, base: base.yaml, overlays: [./newest.yaml], namespace: two}}
    - {{name: three, base: base.yaml, overlays: [./newest.yaml], namespace: three}}
"""
_POLICY = _LATEST.replace("replicas: 1", "replicas: 1\n      restartPolicy: Never")
_WANTED = "latest  # jobspec: ignore[unpinned-image] nightly"


@pytest.mark.parametrize("folder", ["", "team/"])
@pytest.mark.parametrize(
    ("base", "overlay", "reported"),
    [
        (_POLICY, NEWEST, [("base.yaml", "unpinned-image"), ("newest.yaml", "unpinned-image")]),
        (_POLICY.replace("latest", _WANTED), NEWEST.replace("latest", _WANTED), []),
        (f"# jobspec: ignore[unpinned-image] all\n{_POLICY}", f"# jobspec: ignore[unpinned-image] all\n{NEWEST}", []),
        (_POLICY.replace("latest", _WANTED), NEWEST, [("newest.yaml", "unpinned-image")]),
        (
            _POLICY.replace("latest", "v1  # jobspec: ignore[unpinned-image] was"),
            NEWEST.replace("newest image", "newest image  # jobspec: ignore[unpinned-image] wrong line"),
            [("base.yaml", "unused-ignore"), ("newest.yaml", "unpinned-image"), ("newest.yaml", "unused-ignore")],
        ),
    ],
)
def test_comments_count_in_bases_and_overlays_where_the_project_alone_is_linted(
    tmp_path: Path, folder: str, base: str, overlay: str, reported: list[tuple[str, str]]
) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path, {f"{folder}jobspec.yaml": _VARIANTS, f"{folder}base.yaml": base, f"{folder}newest.yaml": overlay})
    done = run_here("lint", f"{folder}jobspec.yaml", "-o", "json", "--ignore", _OF_EVERY_PYTORCHJOB, cwd=tmp_path)
    (result,) = json.loads(done.stdout)["files"]
    assert sorted((each["file"], each["rule"]) for each in result["diagnostics"]) == [(f"{folder}{file}", rule) for file, rule in reported]


def test_files_that_are_linted_beside_their_project_are_reported_once(tmp_path: Path) -> None:
    write(tmp_path, {"jobspec.yaml": _VARIANTS, "base.yaml": _POLICY.replace("latest", _WANTED), "newest.yaml": NEWEST})
    done = run_here("lint", "jobspec.yaml", "./base.yaml", "newest.yaml", "-o", "json", "--ignore", _OF_EVERY_PYTORCHJOB, cwd=tmp_path)
    found = [(each["file"], each["rule"]) for file in json.loads(done.stdout)["files"] for each in file["diagnostics"]]
    assert found == [("newest.yaml", "unpinned-image")]


def test_a_comment_in_a_base_counts_where_the_project_is_validated(tmp_path: Path) -> None:
    base = _POLICY.replace("    Master:", "    # jobspec: ignore[unknown-field] ours\n    Masters: {}\n    Master:")
    base = base.replace("example.com/train:latest", "example.com/train:v1  # jobspec: ignore[unpinned-image] lint knows")
    write(tmp_path, {"jobspec.yaml": _VARIANTS.partition("    - {name: two")[0], "base.yaml": base})
    done = run_here("validate", "jobspec.yaml", cwd=tmp_path)
    assert "unused-ignore" not in done.stdout


def test_many_comments_and_documents_are_read_in_one_pass(tmp_path: Path) -> None:
    one = _POLICY.replace("train:latest", f"train:{_WANTED}")
    write(
        tmp_path,
        {
            "a.yaml": "---\n".join(
                f"# jobspec: ignore[no-deadline] {at}\n" + one.replace("name: train", f"name: t{at}") for at in range(300)
            )
        },
    )
    code, found, summary = _reported("lint", "a.yaml", cwd=tmp_path)
    assert (code, summary["ignored"], {rule for _, rule in found}) == (0, 300, {"unused-ignore"})


def test_an_entry_of_a_baseline_is_stale_only_where_its_rule_was_looked_at(tmp_path: Path) -> None:
    pinned = _POLICY.replace("latest", "v1")
    write(tmp_path, {"jobs/a.yaml": _POLICY, "jobs/b.yaml": _POLICY.replace("name: train", "name: b")})
    assert _reported("lint", "jobs", "--write-baseline", "base.json", cwd=tmp_path)[0] == 0
    for options in (["validate", "jobs"], ["lint", "jobs", "--select", "schema"], ["lint", "jobs"]):
        assert _reported(*options, "--baseline", "base.json", cwd=tmp_path)[1] == []
    write(tmp_path, {"jobs/a.yaml": pinned.replace("replicas", "replicaz")})
    assert [rule for _, rule in _reported("lint", "jobs", "--baseline", "base.json", cwd=tmp_path)[1]] == ["unknown-field"]
    write(tmp_path, {"jobs/a.yaml": pinned})
    assert _reported("validate", "jobs", "--baseline", "base.json", cwd=tmp_path)[1] == []
    assert _reported("lint", "jobs", "--baseline", "base.json", cwd=tmp_path)[1] == [(3, "stale-baseline")]


def test_an_entry_of_a_file_that_is_gone_is_stale(tmp_path: Path) -> None:
    write(tmp_path, {"jobs/a.yaml": _POLICY, "jobs/b.yaml": _POLICY.replace("name: train", "name: b")})
    assert _reported("lint", "jobs", "--write-baseline", "base.json", cwd=tmp_path)[0] == 0
    (tmp_path / "jobs" / "b.yaml").unlink()
    assert _reported("lint", "jobs", "--baseline", "base.json", cwd=tmp_path)[1] == [(4, "stale-baseline"), (5, "stale-baseline")]


def test_settings_stand_in_any_form_that_toml_has(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _BAD})
    for text in ("[tool]\njobspec = {ignore = ['unknown-field']}\n", "tool.jobspec.ignore = ['unknown-field']\n"):
        write(tmp_path, {"pyproject.toml": text})
        assert _reported("validate", "a.yaml", cwd=tmp_path)[:2] == (0, [])
    write(tmp_path, {"pyproject.toml": "[tool]\njobspec = 3\n"})
    assert run_here("validate", "a.yaml", cwd=tmp_path).returncode == 2


def test_it_says_what_it_wrote(tmp_path: Path) -> None:
    write(tmp_path, {"jobs/a.yaml": _TWO})
    done = run_here("validate", "jobs", "--write-baseline", "base.json", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "jobspec: 2 findings written to base.json\n")
    assert "unknown-field" in run_here("validate", "jobs", "--write-baseline", "base.json", "-o", "text", cwd=tmp_path).stdout


def test_a_baseline_holds_what_cannot_be_read_or_built(tmp_path: Path) -> None:
    kustomization = "resources: [a.yaml]\nnamePrefix: a-\nreplicas: [{name: nothing, count: 1}]\n"
    write(tmp_path, {"jobs/a.yaml": JOB, "jobs/broken.yaml": "apiVersion: v1\na: [\n", "jobs/kustomization.yaml": kustomization})
    _, found, _ = _reported("validate", "jobs", cwd=tmp_path)
    assert "yaml-syntax" in {rule for _, rule in found}
    done = run_here("validate", "jobs", "--write-baseline", "base.json", cwd=tmp_path)
    held = [entry["rule"] for entry in json.loads((tmp_path / "base.json").read_text())["known"]]
    assert (done.returncode, sorted(held)) == (0, sorted(rule for _, rule in found))
    assert _reported("validate", "jobs", "--baseline", "base.json", cwd=tmp_path)[:2] == (0, [])
    write(tmp_path, {"jobs/broken.yaml": JOB.replace("name: train", "name: other")})
    assert [rule for _, rule in _reported("validate", "jobs", "--baseline", "base.json", cwd=tmp_path)[1]] == ["stale-baseline"]


def test_a_finding_that_another_file_causes_is_not_stale_without_that_file(tmp_path: Path) -> None:
    quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota}\nspec: {hard: {cpu: 1}}\n"
    write(tmp_path, {"jobs/a.yaml": JOB, "jobs/quota.yaml": quota})
    _, found, _ = _reported("validate", "jobs", "--write-baseline", "base.json", cwd=tmp_path)
    assert found
    assert _reported("validate", "jobs", "--baseline", "base.json", cwd=tmp_path)[1] == []
    assert _reported("validate", "jobs/a.yaml", "--baseline", "base.json", cwd=tmp_path)[1] == []
    assert _reported("validate", "a.yaml", "--baseline", "../base.json", cwd=tmp_path / "jobs")[1] == []
    (tmp_path / "jobs/quota.yaml").unlink()
    assert {rule for _, rule in _reported("validate", "jobs", "--baseline", "base.json", cwd=tmp_path)[1]} == {"stale-baseline"}


def test_a_baseline_that_is_not_utf8_and_file_names_that_are_not(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _BAD, "base.json": b'\xff\xfe{"known"'})
    done = run_here("validate", "a.yaml", "--baseline", "base.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "jobspec: base.json: this is not a baseline; --write-baseline writes one\n")
    os.rename(tmp_path / "a.yaml", os.fsencode(tmp_path) + b"/\xff.yaml")
    assert run_here("validate", ".", "--write-baseline", "known.json", cwd=tmp_path).returncode == 0
    assert run_here("validate", ".", "--baseline", "known.json", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    "comment",
    [
        "#jobspec:ignore[unpinned-image] nightly",
        "# jobspec:ignore[unpinned-image]",
        "#  jobspec:  ignore[unpinned-image]",
        "# Jobspec: Ignore[unpinned-image]",
        "# JOBSPEC: IGNORE [Unpinned-Image]",
    ],
)
def test_blanks_and_capitals_in_a_comment_do_not_matter(comment: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _POLICY.replace("latest", f"latest  {comment}")})
    assert _reported("lint", "a.yaml", "--select", "unpinned-image,unused-ignore", cwd=tmp_path)[1] == []


@pytest.mark.parametrize(
    "comment",
    [
        "# jobspec: ignore unpinned-image",
        "# jobspec: ignore(unpinned-image)",
        "# jobspec-ignore[unpinned-image]",
        "# jobspec ignore: unpinned-image",
        "# Jobspec: disable=unpinned-image",
        "#jobspec:noqa",
    ],
)
def test_a_comment_that_seems_to_ignore_is_reported(comment: str, tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _POLICY.replace("latest", f"latest  {comment}")})
    found = _reported("lint", "a.yaml", "--select", "unpinned-image,unused-ignore", cwd=tmp_path)[1]
    assert sorted(rule for _, rule in found) == ["unpinned-image", "unused-ignore"]


def test_a_comment_about_jobspec_is_none_that_ignores(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": _POLICY.replace("latest", "latest  # jobspec: see the guide; jobspec allows 3 of them")})
    assert _reported("lint", "a.yaml", "--select", "unused-ignore", cwd=tmp_path)[1] == []


def test_an_old_name_of_a_rule_goes_on_working_and_says_the_new_one(tmp_path: Path) -> None:
    kueue = "apiVersion: kueue.x-k8s.io/v1beta1{}\nkind: ResourceFlavor\nmetadata: {{name: a}}\n"
    write(tmp_path, {"a.yaml": kueue.format("  # jobspec: ignore[old-kueue-api] for now"), "b.yaml": kueue.format("")})
    found = run_here("lint", "a.yaml", "--skip-unknown", "-o", "concise", cwd=tmp_path).stdout
    assert "info: the rule `old-kueue-api` is now named `deprecated-kueue-api` [renamed-rule]" in found
    assert "deprecated: Kueue" not in found
    assert "deprecated: Kueue" in run_here("lint", "b.yaml", "--skip-unknown", cwd=tmp_path).stdout
    assert "deprecated: Kueue" not in run_here("lint", "b.yaml", "--skip-unknown", "--ignore", "old-kueue-api", cwd=tmp_path).stdout
    assert run_here("explain", "old-kueue-api").stdout.startswith("deprecated-kueue-api (")
