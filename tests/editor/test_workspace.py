"""What is asked while files are judged and texts change: each test holds one of them at the moment that matters."""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

import pytest

from jobspec.editor import workspace
from jobspec.editor.workspace import Cancelled, Workspace
from jobspec.lint import linting
from jobspec.reports.formats import json_report
from jobspec.session.disk import Disk
from tests.hunt import edits
from tests.hunt.finds import report
from tests.support.editor import editor, lsp
from tests.support.editor_here import Sent, serve
from tests.support.manifests import JOB, PROJECT_HEAD, write
from tests.support.processes import run_here
from tests.support.seeds import seed

from jobspec.editor import features, mcp  # isort: skip (which import what may be missing)
from jobspec.editor.features import ClientView  # isort: skip

PROJECT = f"{PROJECT_HEAD}  variants: [{{name: a, base: job.yaml, overlays: [cpu]}}]\n"
TWO = f"{PROJECT_HEAD}  variants: [{{name: a, base: job.yaml, overlays: [cpu]}}, {{name: b, base: job.yaml, overlays: [cpu]}}]\n"


@contextmanager
def _held(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[tuple[Event, Event]]:
    """A function of the workspace's module that waits: the events that it has begun, and that it may go on, which it may in the end."""
    begun, goes_on, function = Event(), Event(), getattr(workspace, name)

    def waiting(*arguments: Any, **named: Any) -> Any:
        begun.set()
        goes_on.wait(60)
        return function(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(workspace, name, waiting)
        try:
            yield begun, goes_on
        finally:
            goes_on.set()


def _at_texts(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Do something once, as soon as the texts for the next question are taken."""

    def taken(*arguments: Any) -> Disk:
        monkeypatch.undo()
        act()
        return Disk(*arguments)

    monkeypatch.setattr(workspace, "Disk", taken)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> Iterator[None]:
    """The servers work in the folder."""
    with chdir(tmp_path):
        yield


def _variants(files: Workspace) -> list[str]:
    return [each.name for _, each in ClientView(files, "utf-16").variants("job.yaml")]


def test_who_asks_during_a_check_sees_the_last_one_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": PROJECT})
    files = Workspace(".")
    files.results()
    view = ClientView(files, "utf-16")
    files.write("jobspec.yaml", TWO)
    with ThreadPoolExecutor(1) as pool, _held(monkeypatch, "judged_variant") as (begun, goes_on):
        check = pool.submit(files.results)
        assert begun.wait(60)
        assert _variants(files) == ["a"]
        goes_on.set()
        check.result()
    assert _variants(files) == ["a", "b"]
    assert [each.name for _, each in view.variants("job.yaml")] == ["a"]
    assert "name: b" not in view.text("jobspec.yaml").text


def test_a_cancelled_check_leaves_the_last_one(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": PROJECT})
    files = Workspace(".")
    files.results()
    files.write("job.yaml", f"{JOB}# more\n")
    with pytest.raises(Cancelled):
        files.results(is_cancelled=lambda: True)
    assert _variants(files) == ["a"]


def _rules(files: Workspace) -> set[str]:
    return {each.rule for result in files.results() for each in result.diagnostics}


_POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  validations: [{expression: "object.spec.replicas <= int(params.data.most)"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec: {policyName: few, paramRef: {name: limits, namespace: a, parameterNotFoundAction: Deny}, validationActions: [Deny]}
"""
_LIMITS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: a}\ndata: {most: '3'}\n"
_DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: a}
spec:
  replicas: 3
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: c, image: 'registry/i:1'}]}}
"""


def test_an_edit_checks_the_edited_file_alone_whatever_policies_there_are(tmp_path: Path, checked: list[str]) -> None:
    write(tmp_path, {"policy.yaml": _POLICY, "limits.yaml": _LIMITS, "web.yaml": _DEPLOYMENT, "job.yaml": JOB})
    files = Workspace(".")
    files.write("web.yaml", _DEPLOYMENT)
    assert "refused-by-policy" not in _rules(files)
    checked.clear()
    files.write("web.yaml", _DEPLOYMENT.replace("replicas: 3", "replicas: 4"))
    assert "refused-by-policy" in _rules(files)
    assert set(checked) == {"web.yaml"}
    write(tmp_path, {"limits.yaml": _LIMITS.replace("3", "4")})
    files.look_again()
    assert "refused-by-policy" not in _rules(files)


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="neither kustomize nor kubectl is installed")
def test_a_save_checks_only_what_it_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: list[str]) -> None:
    """A build is checked again if a file that it is made of has other lines, though the same is built of them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    job = JOB.replace(":v1", "")
    for name in "ab":
        write(tmp_path, {f"{name}/job.yaml": job, f"{name}/kustomization.yaml": f"resources: [job.yaml]\nnamePrefix: {name}-\n"})
    files = Workspace(".")

    def lines() -> dict[str, int]:
        return {each.mark.file: each.mark.line for one in files.results() for each in one.diagnostics if each.rule == "unpinned-image"}

    before = lines()
    for written, changed in ({}, set()), ({"a/job.yaml": f"# one\n{job}"}, {"a/job.yaml", "a/kustomization.yaml"}):
        write(tmp_path, written)
        checked.clear()
        files.look_again()
        assert lines() == {name: line + (name in written) for name, line in before.items()}
        assert set(checked) == changed


def _claim(name: str, access: str) -> str:
    spec = f"{{accessModes: [{access}], resources: {{requests: {{storage: 1Gi}}}}}}"
    return f"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {name}}}\nspec: {spec}\n"


_MOUNTING = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers: [{name: c, image: 'registry/i:1', volumeMounts: [{name: data, mountPath: /data}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: my-data}}]
"""


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="neither kustomize nor kubectl is installed")
def test_an_edit_lints_only_the_files_that_it_concerns_though_others_refer_to_open_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linted: list[str]
) -> None:
    """A kustomization that is checked again concerns the files that ask for an object of its build: the object may have another place."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    built, kustomization = "built/kustomization.yaml", "resources: [claim.yaml]\nnamePrefix: my-\n"
    claim = _claim("my-data", "ReadWriteOnce")
    write(tmp_path, {built: kustomization, "built/claim.yaml": _claim("data", "ReadWriteMany"), "claim.yaml": claim, "job.yaml": JOB})
    write(tmp_path, {"web.yaml": _MOUNTING, "other.yaml": _MOUNTING.replace("web", "other")})
    files = Workspace(".")
    for name in (built, "claim.yaml", "job.yaml"):
        files.write(name, Path(name).read_text())

    def linted_after(name: str, text: str) -> set[str]:
        files.write(name, text)
        linted.clear()
        shown, again = json_report(files.results(files.open_names), {}), set(linted)
        fresh = Workspace(".")
        for each, opened in files.texts.items():
            fresh.write(each, opened)
        assert shown == json_report(fresh.results(fresh.open_names), {})
        return again

    referring = {"web.yaml", "other.yaml"}
    assert linted_after("job.yaml", JOB) == {built, "claim.yaml", "job.yaml", *referring}
    assert linted_after("job.yaml", f"# typed\n{JOB}") == {"job.yaml"}
    assert linted_after("claim.yaml", _claim("my-data", "ReadWriteMany")) == {"claim.yaml", *referring}
    assert linted_after(built, f"{kustomization}# typed\n") == {built, *referring}
    assert linted_after("job.yaml", JOB) == {"job.yaml"}


def test_settings_that_are_written_when_a_check_begins_count_in_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"job.yaml": JOB.replace(":v1", ""), "pyproject.toml": "[tool.jobspec]\n"})
    files = Workspace(".")
    _at_texts(monkeypatch, lambda: files.write("pyproject.toml", '[tool.jobspec]\nignore = ["unpinned-image"]\n'))
    assert "unpinned-image" in _rules(files)
    assert "unpinned-image" not in _rules(files)


def test_rules_that_settings_no_longer_ignore_are_found_in_variants(tmp_path: Path) -> None:
    settings = '[tool.jobspec]\nignore = ["unpinned-image"]\n'
    write(tmp_path, {"job.yaml": JOB.replace(":v1", ""), "jobspec.yaml": PROJECT, "pyproject.toml": settings})
    files = Workspace(".")
    assert "unpinned-image" not in _rules(files)
    files.write("pyproject.toml", "[tool.jobspec]\n")
    assert "unpinned-image" in _rules(files)


def test_a_base_that_is_written_after_it_was_read_is_judged_in_the_next_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": PROJECT})
    files, lint = Workspace("."), linting.lint

    def late(*arguments: Any, **named: Any) -> Any:
        monkeypatch.undo()
        write(tmp_path, {"job.yaml": JOB.replace(":v1", "")})
        return lint(*arguments, **named)

    monkeypatch.setattr(linting, "lint", late)
    assert "unpinned-image" not in _rules(files)
    files.look_again()
    assert "unpinned-image" in _rules(files)


def test_a_file_that_is_closed_unsaved_is_as_on_disk(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    files = Workspace(".")
    files.write("job.yaml", "a: 1\n")
    files.results()
    files.write("job.yaml", None)
    assert ClientView(files, "utf-16").text("job.yaml").text == JOB


def test_placeholders_of_an_open_file_that_is_removed_are_judged_as_those_of_a_new_file(tmp_path: Path) -> None:
    """Other programs may fill in those of a saved file."""
    text = JOB.replace("name: train", 'name: "${NAME}"')
    write(tmp_path, {"job.yaml": text})
    files = Workspace(".")
    files.write("job.yaml", text)
    assert "invalid-name" not in _rules(files)
    (tmp_path / "job.yaml").unlink()
    files.look_again()
    assert "invalid-name" in _rules(files)


_CHAINSAW = """\
apiVersion: chainsaw.kyverno.io/v1alpha1
kind: Test
metadata: {name: a}
spec: {steps: [{try: [{assert: {file: expected.yaml}}]}]}
"""


@pytest.mark.parametrize(
    ("name", "before", "typed"),
    [
        (".hidden/job.yaml", JOB, JOB.replace("apiVersion", "apiVer")),
        ("test.yaml", _CHAINSAW, _CHAINSAW.replace("chainsaw", "other")),
    ],
)
def test_words_that_decide_how_files_are_found_count_as_they_are_typed(name: str, before: str, typed: str, tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB, "expected.yaml": JOB.replace("train", "expected"), name: before})
    shown = []
    for texts in ((before, typed), (typed,)):
        files = Workspace(".")
        for text in texts:
            files.write(name, text)
            shown.append(json_report(files.results(), {}))
    assert shown[1] == shown[2] != shown[0]


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="neither kustomize nor kubectl is installed")
def test_an_open_base_is_read_as_it_is_typed_though_its_builds_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    write(tmp_path, {"job.yaml": JOB, "kustomization.yaml": "resources: [job.yaml]\nnamePrefix: my-\n"})
    files = Workspace(".")
    assert "yaml-syntax" not in _rules(files)
    files.write("job.yaml", JOB.replace("kind: PyTorchJob", "kind: [PyTorchJob"))
    assert "yaml-syntax" in _rules(files)


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="neither kustomize nor kubectl is installed")
def test_what_is_built_has_its_places_in_the_open_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    write(tmp_path, {"job.yaml": JOB.replace(":v1", ""), "kustomization.yaml": "resources: [job.yaml]\nnamePrefix: my-\n"})
    files = Workspace(".")

    def places() -> list[tuple[str, int]]:
        rows = [row for each in files.results() for row in each.diagnostics if row.rule == "unpinned-image"]
        return [(row.mark.file, row.mark.line) for row in rows]

    ((name, line),) = places()
    for typed in ("# one\n", "# one\n# two\n"):
        files.write("job.yaml", typed + JOB.replace(":v1", ""))
        assert places() == [(name, line + typed.count("\n"))]


def test_a_fix_changes_the_text_that_it_is_made_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that are typed between the question and the fix are neither lost nor written twice."""
    write(tmp_path, {"job.yaml": JOB})
    files, text, uri = Workspace("."), JOB.replace("replicas", "replicaz"), (tmp_path / "job.yaml").as_uri()
    files.write("job.yaml", text)
    view = ClientView(files, "utf-16")
    action = lsp.CodeAction("Fix all", kind=lsp.CodeActionKind.SourceFixAll, data={"uri": uri})
    with ThreadPoolExecutor(2) as pool, _held(monkeypatch, "chosen") as (begun, goes_on):
        check = pool.submit(files.results)
        assert begun.wait(60)
        fixing = pool.submit(features.resolved, view, action)  # waits for the check
        files.write("job.yaml", f"# typed\n\n{text}")
        goes_on.set()
        check.result()
        edit = fixing.result().edit
    assert edit
    assert edit.changes
    (one,) = edit.changes[uri]
    lines = f"# typed\n\n{text}".split("\n")
    start, end = one.range.start.line, one.range.end.line
    assert "\n".join([*lines[:start], *one.new_text.rstrip("\n").split("\n"), *lines[end:]]) == f"# typed\n\n{JOB}"


def test_large_files_are_judged_as_they_are_open(tmp_path: Path) -> None:
    def job(name: str) -> str:
        return JOB.replace("  name: train\n", f"  name: {name}\n  annotations: {{note: {'x' * 700_000}}}\n", 1)

    write(tmp_path, {"jobs.yaml": "---\n".join(map(job, "abc"))})
    text = "# typed\n" * 99 + "---\n".join(map(job, "abc")).replace("replicas", "replicaz")
    files = Workspace(".")
    files.results()
    files.write("jobs.yaml", text)
    (one,) = [each for result in files.results() for each in result.diagnostics if each.rule == "unknown-field"]
    assert [each.mark.line for each in (one, *one.related)] == [
        number for number, line in enumerate(text.split("\n"), 1) if "replicaz" in line
    ]


# The server, in this process.


def _open(path: Path, text: str) -> Any:
    item = lsp.TextDocumentItem(path.as_uri(), "yaml", 1, text)
    return lsp.DidOpenTextDocumentNotification(lsp.DidOpenTextDocumentParams(item))


def _change(path: Path, text: str) -> Any:
    document = lsp.VersionedTextDocumentIdentifier(version=2, uri=path.as_uri())
    change = lsp.TextDocumentContentChangeWholeDocument(text)
    return lsp.DidChangeTextDocumentNotification(lsp.DidChangeTextDocumentParams(document, [change]))


def _published(messages: list[dict[str, Any]]) -> list[tuple[int, list[str]]]:
    found = [each["params"] for each in messages if each.get("method") == "textDocument/publishDiagnostics"]
    return [(each["version"], [one["code"] for one in each["diagnostics"] if one["severity"] == 1]) for each in found]


def test_a_text_that_comes_when_a_check_ends_is_not_shown_its_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "job.yaml"
    monkeypatch.setattr(workspace.Workspace, "first_results", None)  # which would show those of the first text before

    async def talk(made: Any, hear: Callable[[Any], None], _: Sent) -> None:
        is_done, ends, in_thread = asyncio.Event(), asyncio.Event(), made.in_thread

        async def held(work: Callable[[], Any]) -> Any:
            found = await in_thread(work)
            is_done.set()
            await ends.wait()
            return found

        made.in_thread = held
        hear(_open(path, JOB.replace("replicas", "replicaz")))
        await is_done.wait()
        ends.set()
        hear(_change(path, JOB))
        await made.diagnostics()

    published = _published(serve(tmp_path, talk))
    assert published == [(2, [])]


def test_a_fix_says_which_text_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, text = tmp_path / "job.yaml", JOB.replace("replicas", "replicaz")
    action = lsp.CodeAction("Fix all", kind=lsp.CodeActionKind.SourceFixAll, data={"uri": path.as_uri()})

    async def talk(_: Any, hear: Callable[[Any], None], sent: Sent) -> None:
        hear(_open(path, text))
        with _held(monkeypatch, "fixed_files") as (begun, goes_on):
            hear(lsp.CodeActionResolveRequest(2, action))
            assert await asyncio.to_thread(begun.wait, 60)
            hear(_change(path, f"# typed\n{text}"))
            goes_on.set()
            while not any(each.get("id") == 2 for each in sent.messages):
                await asyncio.sleep(0.01)

    edits = lsp.WorkspaceClientCapabilities(workspace_edit=lsp.WorkspaceEditClientCapabilities(document_changes=True))
    (answer,) = [each["result"] for each in serve(tmp_path, talk, within=edits) if each.get("id") == 2]
    (change,) = answer["edit"]["documentChanges"]
    line = f"# typed\n{text}"[: f"# typed\n{text}".index("replicaz")].count("\n")
    assert (change["textDocument"]["version"], change["edits"][0]["range"]["start"]["line"]) == (2, line)


def test_files_that_go_while_they_are_looked_for_are_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As while Git switches branches: each look misses another file. The same error twice is one."""
    path, find = tmp_path / "job.yaml", workspace.find_for
    missing = iter("abcde")

    def find_for(*arguments: Any, **named: Any) -> Any:
        for name in missing:
            open(name)  # noqa: SIM115 (which fails)
        return find(*arguments, **named)

    async def talk(made: Any, hear: Callable[[Any], None], _: Sent) -> None:
        hear(_open(path, JOB))
        await made.diagnostics()

    write(tmp_path, {"job.yaml": JOB})
    monkeypatch.setattr(workspace, "find_for", find_for)
    monkeypatch.setattr(workspace.Workspace, "first_results", None)  # which looks for no files, and may be shown before
    messages = serve(tmp_path, talk)
    assert _published(messages) == [(1, [])]
    assert [each for each in messages if each.get("method") == "window/showMessage"] == []
    write(tmp_path, {"pyproject.toml": "[tool.jobspec]\nignore = 3\n"})
    (said,) = [each for each in serve(tmp_path, talk) if each.get("method") == "window/showMessage"]
    assert "pyproject.toml" in said["params"]["message"]


def test_a_command_shows_what_is_typed(tmp_path: Path) -> None:
    shown: list[str] = []

    async def talk(made: Any, hear: Callable[[Any], None], _: Sent) -> None:
        hear(_open(tmp_path / "jobspec.yaml", PROJECT))
        await made.diagnostics()
        hear(_change(tmp_path / "jobspec.yaml", TWO))
        shown.append(await made.protocol.fm.commands[features.RENDERED]("jobspec.yaml"))

    write(tmp_path, {"job.yaml": JOB, "jobspec.yaml": PROJECT})
    serve(tmp_path, talk)
    assert "# rendered/b/" in shown[0]


# The server, as a client sees it.


def test_an_emptied_text_stays_empty(tmp_path: Path) -> None:
    async def ask() -> list[str]:
        async with editor(tmp_path) as client:
            client.open("job.yaml")
            client.write("job.yaml", "")
            client.insert("job.yaml", 0, "a: {")
            found = [each.code for each in await client.asked("job.yaml")]
            write(tmp_path, {"job.yaml": "a: {"})
            return found

    write(tmp_path, {"job.yaml": JOB})
    found = asyncio.run(ask())
    (file,) = json.loads(run_here("lint", ".", "-o", "json", cwd=tmp_path).stdout)["files"]
    assert found == [each["rule"] for each in file["diagnostics"]]


def test_a_definition_is_where_it_is_after_the_last_key(tmp_path: Path) -> None:
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: images\n"
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a, image: 'a:1'}]\n  volumes:\n"
    pod += "    - {name: data, persistentVolumeClaim: {claimName: images}}\n"

    async def ask() -> list[int]:
        async with editor(tmp_path) as client:
            client.open("claim.yaml", claim)
            client.open("pod.yaml", pod)
            await client.asked("pod.yaml")
            found = []
            for number in range(3):
                client.insert("claim.yaml", 0, "# typed\n")
                places = await client.client.text_document_definition_async(lsp.DefinitionParams(**client.at("pod.yaml", "images")))
                found += [each.range.start.line - number for each in places]  # type: ignore[union-attr]
            return found

    assert asyncio.run(ask()) == [4, 4, 4]


def test_a_client_is_told_to_ask_again_where_files_have_changed_on_disk(tmp_path: Path) -> None:
    async def ask() -> list[str]:
        asked: list[str] = []
        async with editor(tmp_path, refreshes=asked.append) as client:
            client.open("job.yaml", JOB)
            await client.asked("job.yaml")
            client.changed_on_disk()
            await client.asked("job.yaml")
        return sorted(asked)

    assert asyncio.run(ask()) == ["codeLens", "diagnostics", "inlayHint"]


# The tools for agents.


def test_tools_that_are_called_at_once_do_not_see_the_texts_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"job.yaml": JOB})
    tools = mcp.Tools()
    lint, expand = map(mcp._one_at_a_time, (tools.lint, tools.expand))
    with ThreadPoolExecutor(2) as pool, _held(monkeypatch, "judge_files") as (begun, goes_on):
        linted = pool.submit(lint, "job.yaml", JOB.replace("name: train", "name: other"))
        assert begun.wait(60)
        expanded = pool.submit(expand, "job.yaml")
        goes_on.set()
        assert linted.result()["documents"][0]["name"] == "other"
        assert expanded.result()["names"] == ["Pod train-master-0", "Service train-master-0"]


def test_a_text_of_an_earlier_question_is_not_a_files(tmp_path: Path) -> None:
    write(tmp_path, {"job.yaml": JOB})
    tools = mcp.Tools()
    tools.lint("job.yaml", JOB.replace("name: train", "name: other"))
    assert tools.expand("job.yaml")["names"] == ["Pod train-master-0", "Service train-master-0"]


def test_open_files_are_judged_before_the_rest_of_a_wide_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "jobs" / "job.yaml"
    write(tmp_path, {"jobs/job.yaml": JOB, "others/broken.yaml": "a: [\n"})

    async def talk(made: Any, hear: Callable[[Any], None], sent: Sent) -> None:
        goes_on, find = Event(), made.files._find

        def held(*arguments: Any) -> Any:
            assert goes_on.wait(60)
            return find(*arguments)

        monkeypatch.setattr(made.files, "_find", held)  # as in a folder of thousands of files
        hear(_open(path, JOB.replace("replicas", "replicaz")))
        assert made._first_look
        await made._first_look
        assert _published(sent.messages) == [(1, ["unknown-field"])]
        goes_on.set()
        await made.diagnostics()

    assert _published(serve(tmp_path, talk)) == [(1, ["unknown-field"])] * 2


def test_a_file_that_is_opened_later_is_judged_before_the_rest_of_a_wide_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of the files that were open before stays until the whole folder was looked at."""
    first, second = tmp_path / "jobs" / "job.yaml", tmp_path / "other" / "job.yaml"
    wrong = JOB.replace("replicas", "replicaz")
    write(tmp_path, {"jobs/job.yaml": wrong, "other/job.yaml": wrong})

    def published_of(path: Path, sent: Sent) -> int:
        return sum(each.get("params", {}).get("uri") == path.as_uri() for each in sent.messages)

    async def talk(made: Any, hear: Callable[[Any], None], sent: Sent) -> None:
        hear(_open(first, wrong))
        await made.diagnostics()
        goes_on, results, before = Event(), made.files.results, published_of(first, sent)

        def held(*arguments: Any, **named: Any) -> Any:
            assert goes_on.wait(60)
            return results(*arguments, **named)

        monkeypatch.setattr(made.files, "results", held)
        hear(_open(second, wrong))
        await made._first_look
        assert _published(sent.messages)[-1] == (1, ["unknown-field"])
        assert (published_of(first, sent), published_of(second, sent)) == (before, 1)
        goes_on.set()
        await made.diagnostics()
        assert (published_of(first, sent), published_of(second, sent)) == (before + 1, 2)

    serve(tmp_path, talk)


def test_the_first_look_knows_patches_and_what_settings_exclude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    patch = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: train}\nspec: {nprocPerNode: 2, replicaz: 1}\n"
    files = {"base/job.yaml": JOB, "base/kustomization.yaml": "resources: [job.yaml]\n", "prod/deep/patch.yaml": patch}
    files |= {"prod/kustomization.yaml": "resources: [../base]\npatches: [{path: deep/patch.yaml}]\n", "old/job.yaml": patch}
    write(tmp_path, {**files, ".jobspecignore": "old/\n", "quotas/broken.yaml": "a: [\n"})
    monkeypatch.chdir(tmp_path)
    workspace = Workspace(str(tmp_path))
    read: list[str] = []
    monkeypatch.setattr(Disk, "read", lambda disk, path, read_file=Disk.read: read.append(path) or read_file(disk, path))
    for name in ("base/job.yaml", "prod/deep/patch.yaml", "old/job.yaml"):
        workspace.write(str(tmp_path / name), (tmp_path / name).read_text().replace("replicas:", "replicaz:"))
    found = {each.path: [one.rule for one in each.diagnostics] for each in workspace.first_results()}
    assert "unknown-field" in found.pop("base/job.yaml")
    assert all(not rules for rules in found.values())
    assert not any("quotas" in each for each in read)


# What an editor shows after many edits.


def test_random_edits_show_what_a_new_server_shows(tmp_path: Path) -> None:
    tally = Counter[str]()
    assert report(edits.finds(Random(seed()), tmp_path, tally, count=1, steps=12)) == ""
    assert tally["lines of all results"]


@pytest.mark.slow
def test_more_random_edits_show_what_a_new_server_shows(tmp_path: Path) -> None:
    assert report(edits.finds(Random(seed() + 1), tmp_path, Counter(), count=3)) == ""
