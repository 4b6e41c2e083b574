"""`jobspec diff`: what it compares, how it ends, and its three formats."""

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import termios
from pathlib import Path
from typing import Any

import pytest

from tests.support.manifests import JOB, write
from tests.support.processes import command, environment, program, run, run_here
from tests.support.repositories import committed, git

HEAD = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n"
PROJECT = f"{HEAD}  variants: [{{name: one, base: base/job.yaml}}]\n"
NEWER = JOB.replace("v1\n", "v2\n").replace("kubeflow.org/v2", "kubeflow.org/v1")
PRICES = "apiVersion: jobspec.dev/v1alpha1\nkind: Prices\nspec: {currency: EUR, resources: {nvidia.com/gpu: 2.5}}\n"
IMAGE = "spec.pytorchReplicaSpecs[Master].template.spec.containers[pytorch].image"


def _place(folder: Path, **files: str) -> Path:
    """A repository in which the project and its base are committed."""
    return committed(folder, {"base/job.yaml": JOB, "jobspec.yaml": PROJECT, **files})


def _report(folder: Path, *arguments: str) -> dict[str, Any]:
    """The report as JSON of a run that goes well."""
    done = run_here("diff", "-o", "json", *arguments, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _refused(folder: Path, *arguments: str, code: int = 2) -> str:
    """What a run says that ends with an error, and prints no report."""
    done = run_here("diff", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    return done.stderr


def _fields(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [field for variant in report["variants"] for each in variant["objects"] for field in each["fields"]]


def test_where_nothing_changed_it_says_so_and_ends_with_0(tmp_path: Path) -> None:
    done = run("diff", "--exit-code", cwd=_place(tmp_path))
    commit = git(tmp_path, "rev-parse", "HEAD")[:8]
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"no variant of 1 changes against HEAD ({commit})"


def test_a_change_is_reported_with_the_line_that_made_it_and_ends_with_0_unless_asked(tmp_path: Path) -> None:
    write(_place(tmp_path), {"base/job.yaml": NEWER})
    (field,) = _fields(_report(tmp_path))
    assert field == {
        "field": IMAGE,
        "meaning": "new-run",
        "before": "example.com/train:v1",
        "after": "example.com/train:v2",
        "changedIn": {"file": "base/job.yaml", "line": 13, "column": 20, "layer": ""},
        "was": {"file": "HEAD:base/job.yaml", "line": 13, "column": 20, "layer": ""},
    }
    assert run("diff", "--exit-code", cwd=tmp_path).returncode == 1


def test_a_format_may_name_the_file_of_the_report(tmp_path: Path) -> None:
    place = _place(tmp_path)
    done = run_here("diff", "HEAD", "-o", "markdown=report.md", cwd=place)
    assert (done.returncode, done.stdout) == (0, "")
    assert (place / "report.md").read_text() == run_here("diff", "HEAD", "-o", "markdown", cwd=place).stdout
    done = run_here("queue", ".", "-o", "json=report.json", cwd=place)
    wanted = "`json=report.json`: this command takes a format without a file; write `-o json > FILE`"
    assert (done.returncode, done.stderr) == (2, f"jobspec queue: -o/--output: {wanted}\n")


@pytest.mark.parametrize("ref", ["HEAD", "main", "v1.0", "HEAD^1", "@{0}"])
def test_any_name_of_a_commit_will_do(tmp_path: Path, ref: str) -> None:
    git(_place(tmp_path), "tag", "v1.0")
    if ref == "HEAD^1":
        committed(tmp_path, {"base/job.yaml": NEWER})
    write(tmp_path, {"base/job.yaml": NEWER})
    assert _fields(_report(tmp_path, ref))[0]["was"]["file"] == f"{ref}:base/job.yaml"


def test_a_ref_that_names_no_commit_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    _place(tmp_path)
    assert "`mian` names no commit: fetch it first" in _refused(tmp_path, "mian")
    assert "give one ref" in _refused(tmp_path, "main..HEAD")
    assert "names no commit" in _refused(tmp_path, "--", "--upload-pack=x")


def test_a_shallow_clone_is_reported_with_what_fetches_more(tmp_path: Path) -> None:
    committed(_place(tmp_path / "whole"), {"base/job.yaml": NEWER})
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{tmp_path / 'whole'}", "shallow")
    assert "this is a shallow clone" in _refused(tmp_path / "shallow", "HEAD^1")
    git(tmp_path / "shallow", "fetch", "--quiet", "--depth=2")
    assert len(_fields(_report(tmp_path / "shallow", "HEAD^1"))) == 1


def test_a_blob_that_a_clone_does_not_have_is_left_out(tmp_path: Path) -> None:
    committed(tmp_path, {"job.yaml": JOB, "data.bin": "large\n", "data.yaml": "large: true\n"})
    for name in ("data.bin", "data.yaml"):
        blob = git(tmp_path, "rev-parse", f"HEAD:{name}")
        (tmp_path / ".git" / "objects" / blob[:2] / blob[2:].strip()).unlink()
    write(tmp_path, {"job.yaml": NEWER})
    assert [each["meaning"] for each in _report(tmp_path)["objects"]] == ["ignored"]


def test_outside_of_a_working_tree_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    write(tmp_path / "plain", {"base/job.yaml": JOB, "jobspec.yaml": PROJECT})
    assert "is in no Git repository" in _refused(tmp_path / "plain")
    git(tmp_path, "init", "--quiet", "--bare", "bare")
    assert "must be run in a work tree" in _refused(tmp_path / "bare")
    write(tmp_path / "bare", {"jobspec.yaml": PROJECT})
    assert "must be run in a work tree" in _refused(tmp_path / "bare")
    git(tmp_path, "init", "--quiet", "empty")
    write(tmp_path / "empty", {"jobspec.yaml": PROJECT})
    assert "has no commit yet" in _refused(tmp_path / "empty")


def test_without_git_the_error_names_it(tmp_path: Path) -> None:
    done = run("diff", cwd=_place(tmp_path), env=environment(PATH=str(tmp_path)))
    assert (done.returncode, "git is not installed" in done.stderr) == (2, True)


def test_a_project_in_a_subfolder_names_bases_beside_it(tmp_path: Path) -> None:
    project = PROJECT.replace("base/job.yaml", "../base/job.yaml")
    committed(tmp_path, {"base/job.yaml": JOB, "deep/down/jobspec.yaml": "", "deep/jobspec.yaml": project})
    write(tmp_path, {"base/job.yaml": NEWER})
    for folder, said in (
        (tmp_path / "deep", ()),
        (tmp_path, ("--project", "deep/jobspec.yaml")),
        (tmp_path / "deep" / "down", ("--project", "../jobspec.yaml")),
    ):
        (field,) = _fields(_report(folder, *said))
        assert field["was"]["file"] == "HEAD:base/job.yaml"
        assert os.path.normpath(folder / field["changedIn"]["file"]) == str(tmp_path / "base" / "job.yaml")


def test_a_project_that_was_not_there_is_all_new(tmp_path: Path) -> None:
    committed(tmp_path, {"base/job.yaml": JOB})
    write(tmp_path, {"jobspec.yaml": PROJECT})
    report = _report(tmp_path)
    assert [(each["name"], each["presence"], each["meaning"], each["before"]) for each in report["variants"]] == [
        ("one", "new", "new-run", None)
    ]
    assert report["notes"] == ["the project is new"]
    assert report["summary"] == {"changed": 0, "new": 1, "removed": 0, "unchanged": 0}


def test_mistakes_of_the_old_side_are_reported_with_the_ref(tmp_path: Path) -> None:
    write(_place(tmp_path, **{"base/job.yaml": JOB.replace("replicas: 1", "replicas: x")}), {"base/job.yaml": JOB})
    said = _refused(tmp_path, code=1)
    assert "HEAD:base/job.yaml:8:17: error: `replicas`: expected an integer" in said
    assert "      replicas: x\n" in said
    done = run_here("diff", "-o", "json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["files"][0]["diagnostics"][0]["file"]) == (1, "HEAD:base/job.yaml")


def test_mistakes_of_both_sides_are_reported_at_once(tmp_path: Path) -> None:
    _place(tmp_path, **{"jobspec.yaml": PROJECT.replace("base/job", "base/jib")})
    write(tmp_path, {"jobspec.yaml": f"{HEAD}  variants: []\n"})
    said = _refused(tmp_path, code=1)
    assert "HEAD:jobspec.yaml:4:32: error: no base at `base/jib.yaml`: there is no such file" in said
    assert "\njobspec.yaml:4:3: error: " in said


def test_links_are_followed_inside_of_the_repository_and_not_out_of_it(tmp_path: Path) -> None:
    write(tmp_path, {"outside.yaml": JOB})
    folder = tmp_path / "here"
    write(folder, {"jobs/real.yaml": JOB, "base/readme": ""})
    (folder / "base" / "job.yaml").symlink_to("../jobs/real.yaml")
    committed(folder, {"jobspec.yaml": PROJECT})
    write(folder, {"jobs/real.yaml": NEWER})
    (field,) = _fields(_report(folder))
    assert field["before"] == "example.com/train:v1"
    (folder / "base" / "job.yaml").unlink()
    (folder / "base" / "job.yaml").symlink_to("../../outside.yaml")
    committed(folder, {})
    (folder / "base" / "job.yaml").unlink()
    write(folder, {"base/job.yaml": JOB})
    assert "HEAD:jobspec.yaml:4:32: error: no base at `base/job.yaml`: it leads out of the repository" in _refused(folder, code=1)


@pytest.mark.parametrize("base", ["../../job.yaml", "/etc/passwd", "base", "base/no.yaml", "base/no\\nno.yaml"])
def test_what_is_no_file_at_the_ref_is_an_error_at_its_line(tmp_path: Path, base: str) -> None:
    _place(tmp_path, **{"jobspec.yaml": PROJECT.replace("base/job.yaml", f'"{base}"')})
    write(tmp_path, {"jobspec.yaml": PROJECT})
    assert "HEAD:jobspec.yaml:4:32: error: no base at " in _refused(tmp_path, code=1)


def test_names_of_files_may_be_anything(tmp_path: Path) -> None:
    name = "base/ä b'c.yaml"
    _place(tmp_path, **{name: JOB, "jobspec.yaml": PROJECT.replace("base/job.yaml", f'"{name}"')})
    write(tmp_path, {name: NEWER})
    assert _fields(_report(tmp_path))[0]["was"]["file"] == f"HEAD:{name}"


def test_another_output_and_another_target_are_reported(tmp_path: Path) -> None:
    _place(tmp_path)
    write(tmp_path, {"jobspec.yaml": PROJECT.replace("spec:\n", "spec:\n  output: tree\n")})
    report = _report(tmp_path)
    assert report["notes"] == ["the tree moves from `rendered` to `tree`: an engine that syncs the old folder needs the new path"]
    assert (report["differs"], report["variants"]) == (True, [])
    write(tmp_path, {"jobspec.yaml": PROJECT.replace("spec:\n", 'spec:\n  target: {trainer: "2.2"}\n')})
    report = _report(tmp_path)
    assert report["notes"] == ["the target changes from the newest to trainer 2.2: update the cluster's operators as well"]
    assert (report["differs"], report["target"]["trainer"]) == (False, "2.2.1")


def test_other_objects_of_the_engines_are_reported(tmp_path: Path) -> None:
    def project(namespace: str, branch: str = "main") -> str:
        engines = f"  engines: {{flux: {{url: 'https://git.example/a.git', ref: {{branch: {branch}}}}}}}\n"
        return PROJECT.replace("name: one", f"name: one, namespace: {namespace}").replace("spec:\n", f"spec:\n{engines}")

    _place(tmp_path, **{"jobspec.yaml": project("a")})
    assert not _report(tmp_path)["differs"]
    write(tmp_path, {"jobspec.yaml": project("a", "other")})
    report = _report(tmp_path)
    reported = "the engines' objects change (flux/gitrepository-a.yaml): they have to be applied again"
    assert (report["notes"], report["differs"], report["variants"]) == ([reported], True, [])
    write(tmp_path, {"jobspec.yaml": PROJECT})
    assert re.match(r"the engines' objects change \(flux/\S+ and \d+ more\)", _report(tmp_path)["notes"][0])


def test_many_variants_are_spread_and_reported_in_groups(tmp_path: Path) -> None:
    seeds = ", ".join(map(str, range(60)))
    entry = "  variants: [{name: 'one-${seed}', base: base/job.yaml, matrix: {seed: [%s]}, flags: {--seed: '${seed}'}}]\n"
    many = HEAD + entry % seeds
    write(_place(tmp_path, **{"jobspec.yaml": many}), {"base/job.yaml": NEWER})
    assert len(_report(tmp_path)["variants"]) == 60
    text = run_here("diff", cwd=tmp_path).stdout
    assert "\none-0, one-1, one-10 and 57 more  new run         1     0     none\n" in text
    assert text.count("example.com/train:v1 → example.com/train:v2") == 1
    assert "one-0, one-1, one-10 and 57 more\n  new run: PyTorchJob one-0-" in text


def test_an_old_run_is_pruned_or_stays(tmp_path: Path) -> None:
    for number, (said, fate) in enumerate((("", "is pruned"), (", history: 2", "stays as earlier run"))):
        folder = tmp_path / str(number)
        write(_place(folder, **{"jobspec.yaml": PROJECT.replace("name: one", f"name: one{said}")}), {"base/job.yaml": NEWER})
        (job,) = _report(folder)["variants"][0]["objects"]
        assert job["isPruned"] == (not said)
        assert f", and {job['follows']} {fate}" in " ".join(run_here("diff", cwd=folder).stdout.split())


def test_an_earlier_run_that_is_still_kept_is_no_new_one(tmp_path: Path) -> None:
    """`render` warns of it, too: to an engine it is an object that is there already."""
    said = {"jobspec.yaml": PROJECT.replace("name: one", "name: one, history: 2")}
    base = (_place(tmp_path, **said) / "base" / "job.yaml").read_text()
    for text in (base, NEWER):
        write(tmp_path, {"base/job.yaml": text})
        assert run_here("render", cwd=tmp_path).returncode == 0
        committed(tmp_path, {})
    write(tmp_path, {"base/job.yaml": base})
    (job,) = _report(tmp_path)["variants"][0]["objects"]
    assert (job["meaning"], job["isPruned"]) == ("ignored", False)
    assert job["notes"] == ["this is an earlier run, which is still kept: it becomes the newest one, and nothing starts"]
    assert {each["meaning"] for each in job["fields"]} == {"ignored"}


COSTLY = """\
apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: costly}
spec: {job: {PyTorchJob: {spec: {runPolicy: {activeDeadlineSeconds: 5400, cleanPodPolicy: Running}}}}}
"""


def test_a_price_list_gives_the_most_that_a_job_costs(tmp_path: Path) -> None:
    entry = "  variants:\n  - {name: one, base: base/job.yaml, overlays: [gpu-nccl: {gpus: GPUS}, overlays/costly.yaml]}\n"
    _place(tmp_path, **{"jobspec.yaml": HEAD + entry.replace("GPUS", "2"), "overlays/costly.yaml": COSTLY, "prices.yaml": PRICES})
    write(tmp_path, {"jobspec.yaml": HEAD + entry.replace("GPUS", "8")})
    (variant,) = _report(tmp_path, "--prices", "prices.yaml")["variants"]
    common = {"pods": 1, "mostPods": 1, "deadlineSeconds": 5400, "notes": []}
    assert variant["before"] == {**common, "gpus": 2, "mostGpus": 2, "cost": 7.5}
    assert variant["after"] == {**common, "gpus": 8, "mostGpus": 8, "cost": 30.0}
    done = run_here("diff", "--prices", "prices.yaml", cwd=tmp_path)
    assert "cost at most, EUR" in done.stdout
    assert "7.50 → 30.00" in done.stdout


def test_jobs_of_a_repository_have_pods_and_gpus_before_and_after(tmp_path: Path) -> None:
    job = (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: NAME}\nspec:\n  parallelism: PODS\n  completions: PODS\n  template:\n    spec:\n"
    )
    job += "      restartPolicy: Never\n      containers: [{name: a, image: 'a:1', resources: {limits: {nvidia.com/gpu: 8}}}]\n"
    write(tmp_path, {"job.yaml": job.replace("NAME", "one").replace("PODS", "2")})
    committed(tmp_path, {})
    write(tmp_path, {"job.yaml": job.replace("NAME", "two").replace("PODS", "4")})
    (change,) = json.loads(run_here("diff", "HEAD", "job.yaml", "-o", "json", cwd=tmp_path).stdout)["objects"]
    assert [(change[side]["pods"], change[side]["gpus"]) for side in ("before", "after")] == [(2, 16), (4, 32)]


def test_without_a_deadline_there_is_no_cost(tmp_path: Path) -> None:
    write(_place(tmp_path, **{"prices.yaml": PRICES}), {"base/job.yaml": NEWER})
    (variant,) = _report(tmp_path, "--prices", "prices.yaml")["variants"]
    assert (variant["after"]["cost"], variant["after"]["notes"]) == (None, ["no cost without a deadline"])
    assert "note: one: no cost without a deadline" in run_here("diff", "--prices", "prices.yaml", cwd=tmp_path).stdout


def test_a_wrong_price_list_is_reported_at_its_line(tmp_path: Path) -> None:
    _place(tmp_path, **{"prices.yaml": PRICES.replace("2.5", "-1"), "other.yaml": JOB})
    assert re.search(r"prices\.yaml:3:\d+: error: .*\[out-of-range\]", _refused(tmp_path, "--prices", "prices.yaml", code=1))
    assert "a price list is one document of the kind Prices" in _refused(tmp_path, "--prices", "other.yaml")
    assert "No such file" in _refused(tmp_path, "--prices", "none.yaml")


@pytest.mark.parametrize("output", ["text", "markdown", "json"])
def test_the_values_of_a_secret_are_reported_nowhere(tmp_path: Path, output: str) -> None:
    secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: token}\nstringData: {token: VALUE}\n"
    _place(tmp_path, **{"base/job.yaml": JOB + secret.replace("VALUE", "hunter2")})
    write(tmp_path, {"base/job.yaml": JOB + secret.replace("VALUE", "swordfish")})
    said = run_here("diff", "-o", output, cwd=tmp_path).stdout
    assert "stringData[token]" in said
    assert "***" in said
    assert not {"hunter2", "swordfish"} & set(re.findall(r"\w+", said))


def test_a_report_goes_into_a_file_whole(tmp_path: Path) -> None:
    write(_place(tmp_path), {"base/job.yaml": NEWER})
    done = run_here("diff", "-o", "markdown", "--output-file", "report.md", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "report.md").read_text() == run_here("diff", "-o", "markdown", cwd=tmp_path).stdout


def test_colours_are_for_terminals(tmp_path: Path) -> None:
    write(_place(tmp_path), {"base/job.yaml": NEWER})
    plain, painted = (run("diff", cwd=tmp_path, env=environment(**more)).stdout for more in ({}, {"FORCE_COLOR": "1"}))
    assert "\x1b[" not in plain
    assert "\x1b[1;34mnew run\x1b[0m" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == plain


def _in_terminal(folder: Path, columns: int) -> list[str]:
    """The lines that a terminal of so many columns gets."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    done = program(*command("diff"), cwd=folder, env=environment(NO_COLOR="1", TERM="xterm"), stdout=other, stderr=other)
    os.close(other)
    assert done.returncode == 0
    with os.fdopen(main, "rb") as terminal:
        return terminal.read1().decode().splitlines()


def test_a_terminal_of_80_columns_is_wide_enough(tmp_path: Path) -> None:
    overlays = "overlays: [gpu-nccl: {gpus: 8}], naming: fixed"
    _place(tmp_path, **{"jobspec.yaml": PROJECT.replace("name: one", "name: one, naming: fixed")})
    write(tmp_path, {"base/job.yaml": NEWER, "jobspec.yaml": PROJECT.replace("name: one", f"name: one, {overlays}")})
    lines = _in_terminal(tmp_path, 80)
    assert [line for line in lines if len(line) > 80] == []
    assert len(lines) > 10


def _sweep(folder: Path, changed: int, *, value: str = "x") -> str:
    """The Markdown of a project of which so many variants change, each in its own way and to its own number of GPUs."""

    def project(text: str) -> str:
        entry = "  - {name: variant-%04d, base: base/job.yaml, overlays: [gpu-nccl: {gpus: %d}], flags: {--b: '%s'}}\n"
        return f"{HEAD}  variants:\n" + "".join(entry % (number, number + 1, f"{text}{number}") for number in range(changed))

    write(_place(folder, **{"jobspec.yaml": project("")}), {"jobspec.yaml": project(value)})
    done = run_here("diff", "-o", "markdown", cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("changed", "value"), [(3, "x"), (40, "x"), (700, "x"), (400, "y" * 300), (2, "z" * 70_000)])
def test_markdown_fits_a_comment_and_counts_what_is_left_out(tmp_path: Path, changed: int, value: str) -> None:
    text = _sweep(tmp_path, changed, value=value)
    assert len(text) <= 65_536
    assert text.count("<details>") == text.count("</details>")
    rows = len(re.findall(r"^\| `variant-", text, re.MULTILINE))
    (left,) = re.findall(r"^(\d+) variants? more (?:is|are) left out\.$", text, re.MULTILINE) or ["0"]
    assert rows + int(left) == changed
    (unreported,) = re.findall(r"^The fields of (\d+) variants? (?:is|are) left out here", text, re.MULTILINE) or ["0"]
    assert text.count("<details>") + int(unreported) == changed
    assert (unreported == "0") == (changed < 100)


def test_markdown_leaves_out_the_least_grave_changes(tmp_path: Path) -> None:
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: job-{}}}\nspec:\n  backoffLimit: {}\n"
    job += "  template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: 'example.com/a:v{}'}}]}}}}\n"
    names = [f"{number:03}" for number in range(250)]
    committed(tmp_path, {f"{each}.yaml": job.format(each, 1, 1) for each in names})
    refused = names[3::5]
    write(tmp_path, {f"{each}.yaml": job.format(each, 2 + int(each), 2 if each in refused else 1) for each in names})
    text = run_here("diff", "-o", "markdown", cwd=tmp_path).stdout
    assert len(text) <= 65_536
    told = re.findall(r"<summary><b>(\d+)\.yaml</b>: refused", text)
    assert told == refused
    assert "groups are left out here" in text


def test_markdown_holds_whatever_values_hold(tmp_path: Path) -> None:
    text = _sweep(tmp_path, 1, value="a|b`c``<img> @team \\\\ |")
    (row,) = re.findall(r"^\| `spec.*$", text, re.MULTILINE)
    assert len(re.findall(r"(?<!\\)\|", row)) == 5
    assert "```" in row


def test_json_has_these_keys(tmp_path: Path) -> None:
    _place(tmp_path, **{"prices.yaml": PRICES})
    write(tmp_path, {"base/job.yaml": NEWER.replace("spec:\n", "spec:\n  nprocPerNode: '2'\n", 1)})
    report = _report(tmp_path, "--prices", "prices.yaml")
    (variant,) = report["variants"]
    (job,) = variant["objects"]
    assert {*report} == {"ref", "commit", "differs", "notes", "currency", "variants", "summary", "target"}
    assert {*variant} == {"name", "presence", "meaning", "before", "after", "objects"}
    assert {*variant["after"]} == {"pods", "mostPods", "gpus", "mostGpus", "deadlineSeconds", "notes", "cost"}
    assert {*job} == {"kind", "namespace", "name", "meaning", "follows", "isPruned", "notes", "fields"}
    for field in job["fields"]:
        assert {"field", "meaning", "changedIn"} <= field.keys() <= {"field", "before", "after", "meaning", "changedIn", "was"}
        assert {*field["changedIn"]} == {"file", "line", "column", "layer"}


_QUEUES = """apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations: {frameworks: [kubeflow.org/pytorchjob]}
"""


@pytest.mark.parametrize(
    ("queue", "meaning", "words"),
    [("queue: team", "in-place", "Kueue stops the job and queues it again"), ("", "ignored", "running pods stay as they are")],
)
def test_a_running_pytorchjob_is_stopped_by_a_change_only_in_a_queue(queue: str, meaning: str, words: str, tmp_path: Path) -> None:
    entry = ", ".join(filter(None, ["name: one", "base: base/job.yaml", "naming: fixed", queue]))
    project = f"{HEAD}  variants: [{{{entry}}}]\n"
    place = _place(tmp_path, **{"jobspec.yaml": project, "kueue.yaml": _QUEUES})
    write(place, {"base/job.yaml": NEWER})
    report = _report(tmp_path, "--queues", "kueue.yaml")
    ((found,),) = [each["objects"] for each in report["variants"]]
    assert (found["meaning"], words in " ".join(found["notes"])) == (meaning, True)


@pytest.mark.parametrize(
    ("queue", "meaning", "words"),
    [("queue: team", "in-place", "Kueue stops the job and queues it again"), ("", "ignored", "running pods stay as they are")],
)
def test_a_running_pytorchjob_of_a_repository_is_stopped_by_a_change_only_in_a_queue(
    queue: str, meaning: str, words: str, tmp_path: Path
) -> None:
    label = "metadata:\n  labels: {kueue.x-k8s.io/queue-name: team}\n" if queue else "metadata:\n"
    place = committed(tmp_path, {"job.yaml": JOB.replace("metadata:\n", label, 1), "kueue.yaml": _QUEUES})
    write(place, {"job.yaml": NEWER.replace("metadata:\n", label, 1)})
    (found,) = _report(tmp_path, "--queues", "kueue.yaml", "HEAD", ".")["objects"]
    assert (found["meaning"], words in " ".join(found["notes"])) == (meaning, True)


CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: train\nversion: 0.1.0\n",
    "chart/values.yaml": "image: example.com/train:v1\nworkers: 1\n",
    "chart/templates/job.yaml": f"{{{{- if .Values.workers }}}}\n{JOB}{{{{- end }}}}\n".replace(
        "example.com/train:v1", "{{ .Values.image }}"
    ),
    "big.yaml": "image: example.com/train:big\n",
    "plain/job.yaml": JOB.replace("name: train", "name: plain", 1),
}


@pytest.mark.skipif(not shutil.which("helm"), reason="helm is not installed")
def test_a_chart_is_rendered_on_both_sides(tmp_path: Path) -> None:
    """What its values or templates change is reported at their lines, and nothing of a chart that is not edited."""
    committed(tmp_path, CHART)
    assert not _report(tmp_path, "--helm", "chart", "HEAD")["differs"]
    write(tmp_path, {"chart/values.yaml": "image: example.com/train:v2\nworkers: 1\n"})
    (found,) = _report(tmp_path, "--helm", "chart", "HEAD")["objects"]
    assert (found["kind"], found["meaning"], found["build"]) == ("PyTorchJob", "ignored", "chart")
    assert [(each["before"], each["after"], each["changedIn"]["file"], each["changedIn"]["line"]) for each in found["fields"]] == [
        ("example.com/train:v1", "example.com/train:v2", "chart/values.yaml", 1)
    ]
    assert not _report(tmp_path, "--helm", "chart", "--values", "big.yaml", "HEAD")["differs"]
    write(tmp_path, {"big.yaml": "# larger\nimage: example.com/train:bigger\n"})
    (found,) = _report(tmp_path, "--helm", "chart", "--values", "big.yaml", "HEAD")["objects"]
    assert [(each["after"], each["changedIn"]["file"], each["changedIn"]["line"]) for each in found["fields"]] == [
        ("example.com/train:bigger", "big.yaml", 2)
    ]
    write(tmp_path, {"chart/values.yaml": "image: example.com/train:v1\nworkers: 0\n"})
    (found,) = _report(tmp_path, "--helm", "chart", "HEAD")["objects"]
    assert (found["name"], found["meaning"]) == ("train", "removed")


@pytest.mark.skipif(not shutil.which("helm"), reason="helm is not installed")
def test_a_chart_is_rendered_on_both_sides_with_values_of_the_command_line(tmp_path: Path) -> None:
    """A file that is a value is read as it was at the ref."""
    chart = {**CHART, "chart/values.yaml": "workers: 1\n", "image.txt": "example.com/train:v1"}
    committed(tmp_path, chart)
    given = ("--helm", "chart", "--helm-set", "workers=1", "--helm-set-file", "image=image.txt", "HEAD")
    assert not _report(tmp_path, *given)["differs"]
    write(tmp_path, {"image.txt": "example.com/train:v2"})
    (found,) = _report(tmp_path, *given)["objects"]
    assert [(each["before"], each["after"]) for each in found["fields"]] == [("example.com/train:v1", "example.com/train:v2")]


def test_a_kustomization_with_another_warning_is_not_compared_for_its_own_reason(tmp_path: Path) -> None:
    committed(tmp_path, {"a/kustomization.yaml": "helmCharts: [{name: a}]\nnamePrefix: a-\nnamePrefix: b-\n"})
    write(tmp_path, {"a/kustomization.yaml": "helmCharts: [{name: a}]\nnamePrefix: a-\nnamePrefix: c-\n"})
    assert _report(tmp_path)["notes"] == ["a is not compared, since it cannot be built: needs Helm"]


@pytest.mark.skipif(not shutil.which("helm"), reason="helm is not installed")
def test_a_chart_that_is_not_given_is_told_of(tmp_path: Path) -> None:
    chart = {
        "Chart.yaml": "apiVersion: v2\nname: a\nversion: 0.1.0\n",
        "values.yaml": "n: 1\n",
        "templates/a.yaml": "kind: {{ .Values.n }}\n",
    }
    committed(tmp_path, {f"charts/a/{name}": text for name, text in chart.items()} | {"b/values.yaml": "n: 1\n"})
    write(tmp_path, {"charts/a/values.yaml": "n: 2\n", "b/values.yaml": "n: 2\n"})
    assert _report(tmp_path)["notes"] == ["charts/a is not compared, since it is a chart of Helm: pass `--helm charts/a`"]
    assert _report(tmp_path, "HEAD", "b")["notes"] == []


@pytest.mark.skipif(not shutil.which("helm"), reason="helm is not installed")
def test_a_chart_that_cannot_be_rendered_is_said_to_be_at_fault(tmp_path: Path) -> None:
    committed(tmp_path, CHART)
    write(tmp_path, {"chart/templates/job.yaml": "{{ .Values.image\n"})
    assert "--helm chart: " in _refused(tmp_path, "--helm", "chart", "HEAD")


#: Kinds that are in namespaces, that are not, and of which that is unknown.
SCOPES = [("v1 ConfigMap", "ml"), ("monitoring.coreos.com/v1 PodMonitor", "ml"), ("cert-manager.io/v1 ClusterIssuer", "")]
SCOPES += [("trainer.kubeflow.org/v1alpha1 ClusterTrainingRuntime", ""), ("example.com/v1 Widget", "")]


@pytest.mark.parametrize(
    "engine",
    [
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a, namespace: argocd}\n"
        "spec: {project: default, destination: {namespace: ml}, source: {repoURL: 'https://example.com/a.git', path: app}}\n",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, namespace: flux-system}\n"
        "spec: {interval: 5m, prune: true, targetNamespace: ml, path: ./app, sourceRef: {kind: GitRepository, name: a}}\n",
    ],
    ids=["Argo CD", "Flux"],
)
def test_only_kinds_that_are_known_to_have_one_get_the_namespace_of_an_engine(engine: str, tmp_path: Path) -> None:
    def objects(value: str) -> dict[str, str]:
        kinds = [each.split() for each, _ in SCOPES]
        text = "apiVersion: {}\nkind: {}\nmetadata: {{name: a, labels: {{is: {}}}}}\n"
        return {f"app/{kind}.yaml": text.format(version, kind, value) for version, kind in kinds}

    write(committed(tmp_path, {"engines.yaml": engine, **objects("old")}), objects("new"))
    report = _report(tmp_path)
    assert {each["kind"]: each["namespace"] for each in report["objects"]} == {each.split()[1]: namespace for each, namespace in SCOPES}
