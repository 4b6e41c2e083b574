"""Texts as editors have them: half-written, in conflict, large; and files that change beside them."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from jobspec.editor import workspace
from jobspec.project.variants import PlannedVariant
from tests.support.editor import Editor, editor
from tests.support.manifests import write
from tests.support.processes import run_here
from tests.support.reference import ROOT

JOB = (ROOT / "tests" / "cases" / "guides" / "trainjob.yaml").read_text()
CONFLICT = "<<<<<<< HEAD\n    numNodes: 2\n=======\n    numNodes: 4\n>>>>>>> theirs\n"


def _lint(folder: Path, name: str) -> list[tuple[str, int, int]]:
    done = run_here("lint", ".", "-o", "json", cwd=folder)
    files = json.loads(done.stdout)["files"]
    found = [each for file in files for each in file["diagnostics"] if os.path.normpath(each["file"]) == name]
    return sorted((each["rule"], max(each["line"], 1), max(each["column"], 1)) for each in found)


def _shown(found: list[Any]) -> list[tuple[str, int, int]]:
    return sorted((each.code, each.range.start.line + 1, each.range.start.character + 1) for each in found)


def test_a_job_that_is_typed_character_by_character(tmp_path: Path) -> None:
    """Nothing crashes, and whenever the typist pauses, all is as `lint` says of the same text, and nothing is left of earlier."""

    async def type_it() -> int:
        compared = 0
        async with editor(tmp_path, asks=False) as client:
            client.open("job.yaml", "")
            for at, character in enumerate(JOB):
                client.insert("job.yaml", at, character)
                if at % 23 == 0 or at == len(JOB) - 1:
                    found = _shown(await client.published("job.yaml"))
                    write(tmp_path, {"job.yaml": JOB[: at + 1]})
                    assert found == _lint(tmp_path, "job.yaml"), JOB[: at + 1]
                    (tmp_path / "job.yaml").unlink()
                    compared += 1
            assert client.messages == []
        return compared

    assert asyncio.run(type_it()) > 10


_ODD = (
    "",
    "\ufeff",
    ":",
    "- - - -\n",
    "spec: {",
    'a: "',
    "a: &a [*a]\n",
    "\t",
    "%YAML 3\n---\n",
    "a: b: c\n",
    "[" * 5000,
    "a\0b",
    "a: \ud800\n",
    "kind: TrainJob\napiVersion: trainer.kubeflow.org/v1alpha1\nspec: 3\n",
    "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec: {variants: [{name: a}, 3, {name: {}}]}\n",
    "apiVersion: jobspec.dev/v1alpha1\nkind: Overlay\nmetadata: []\nspec: {pods: 3}\n",
    JOB.replace("    numNodes: 2\n", CONFLICT),
    JOB.replace("\n", "\r\n"),
)


def test_odd_texts_are_answered(tmp_path: Path) -> None:
    """A server that has heard an odd text says what `lint` says of it, and answers everything else, too."""
    from tests.support.editor import lsp

    async def ask_all(client: Editor) -> None:
        document, ask = client.document("job.yaml"), client.client
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(9, 0))
        for place in (lsp.Position(0, 0), lsp.Position(3, 4), lsp.Position(99, 99)):
            about: dict[str, Any] = {"text_document": document, "position": place}
            await ask.text_document_hover_async(lsp.HoverParams(**about))
            await ask.text_document_completion_async(lsp.CompletionParams(**about))
            await ask.text_document_definition_async(lsp.DefinitionParams(**about))
            await ask.text_document_references_async(lsp.ReferenceParams(lsp.ReferenceContext(include_declaration=False), **about))
        await ask.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
        await ask.text_document_code_lens_async(lsp.CodeLensParams(document))
        await ask.text_document_inlay_hint_async(lsp.InlayHintParams(document, whole))
        await ask.text_document_code_action_async(lsp.CodeActionParams(document, whole, lsp.CodeActionContext([])))

    async def ask() -> list[str]:
        async with editor(tmp_path) as client:
            client.open("job.yaml", JOB)
            for text in _ODD:
                (tmp_path / "job.yaml").write_bytes(text.encode(errors="surrogatepass"))
                client.write("job.yaml", text)
                found = [each[0] for each in _shown(await client.asked("job.yaml"))]
                assert found == [each[0] for each in _lint(tmp_path, "job.yaml")], repr(text[:80])
                await ask_all(client)
            return client.messages

    write(tmp_path, {"job.yaml": JOB})
    assert asyncio.run(ask()) == []


@pytest.mark.slow
def test_five_megabytes(tmp_path: Path) -> None:
    one = JOB.replace("spec:\n", f"  annotations: {{note: {'x' * 50_000}}}\nspec:\n", 1).rstrip() + "\n---\n"
    large = one * (5_000_000 // len(one) + 1)

    async def ask() -> tuple[int, int]:
        async with editor(tmp_path) as client:
            client.open("large.yaml", large)
            client.open("job.yaml", JOB.replace("numNodes", "numNodez"))
            found = await client.asked("large.yaml")
            client.insert("large.yaml", 0, "#")
            assert "unknown-field" in [each.code for each in await client.asked("job.yaml")]
            return len(found), len(await client.asked("large.yaml"))

    first, second = asyncio.run(ask())
    assert first == second > 0


def test_columns_in_utf_16_and_further_breaks_of_lines(tmp_path: Path) -> None:
    text = JOB.replace("spec:\n", "  annotations: {'🚀🚀': \"a\u2028 b\", b: 3}\nspec:\n", 1)

    async def ask(encoding: str) -> tuple[int, int]:
        async with editor(tmp_path, encoding=encoding) as client:
            client.open("job.yaml", text)
            (found,) = [each for each in await client.asked("job.yaml") if each.code == "wrong-type"]
            return found.range.start.line, found.range.start.character

    line = text[: text.index("annotations")].count("\n")
    column = text.split("\n")[line].index("3}")
    assert [asyncio.run(ask(each)) for each in ("utf-16", "utf-8", "utf-32")] == [(line, column + 2), (line, column + 8), (line, column)]


def test_other_files_are_followed(tmp_path: Path) -> None:
    """A runtime that somebody writes beside a job counts at once; one that is removed does no more; settings count when they are saved."""
    job = JOB.replace("torch-distributed", "ours")

    async def codes(client: Editor) -> set[str]:
        return {each.code for each in await client.asked("job.yaml")}

    async def ask() -> list[bool]:
        seen = []
        async with editor(tmp_path) as client:
            client.open("job.yaml", job)
            seen.append("unresolved-reference" in await codes(client))
            client.open("runtime.yaml", _RUNTIME)
            seen.append("unresolved-reference" in await codes(client))
            client.close("runtime.yaml")
            seen.append("unresolved-reference" in await codes(client))
            write(tmp_path, {"pyproject.toml": '[tool.jobspec]\nignore = ["unresolved-reference"]\n'})
            client.changed_on_disk()
            seen.append("unresolved-reference" in await codes(client))
        return seen

    assert asyncio.run(ask()) == [True, False, True, False]


def test_files_that_change_while_they_are_looked_for_are_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = workspace.find_for

    def find_for(*arguments: Any, **more: Any) -> Any:
        found = find(*arguments, **more)
        if not (tmp_path / "late.yaml").exists():
            write(tmp_path, {"late.yaml": JOB})
            files.look_again()  # as the editor says, whose thread waits for nothing
        return found

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workspace, "find_for", find_for)
    write(tmp_path, {"job.yaml": JOB})
    files = workspace.Workspace(".")
    assert [[each.path for each in files.results()] for _ in range(2)] == [["job.yaml"], ["job.yaml", "late.yaml"]]


_RUNTIME = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: ClusterTrainingRuntime
metadata: {name: ours, labels: {trainer.kubeflow.org/framework: torch}}
spec:
  mlPolicy: {numNodes: 1, torch: {}}
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec: {template: {spec: {containers: [{name: node, image: "a:1"}]}}}
"""


def test_only_what_depends_on_a_text_is_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []
    judge = workspace.judged_variant

    def judged_variant(variant: PlannedVariant, *rest: Any, **more: Any) -> Any:
        judged.append(variant.name)
        return judge(variant, *rest, **more)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(workspace, "judged_variant", judged_variant)
    project = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  variants:\n"
    project += "    - {name: a, base: a.yaml, overlays: [cpu]}\n    - {name: b, base: b.yaml, overlays: [cpu]}\n"
    write(tmp_path, {"a.yaml": JOB, "b.yaml": JOB, "c.yaml": JOB, "jobspec.yaml": project})
    files = workspace.Workspace(".")
    files.write("a.yaml", JOB)
    files.results(["a.yaml"])
    before = {key[0]: each.checked for key, each in files._files.items()}
    assert judged == ["a", "b"]
    files.write("a.yaml", JOB + "# more\n")
    files.results(["a.yaml"])
    after = {key[0]: each.checked for key, each in files._files.items()}
    assert judged == ["a", "b", "a"]
    for text in (f"{project}# more\n", project.replace("b.yaml, overlays: [cpu]", "b.yaml, overlays: [gpu-nccl]"), f"\n{project}"):
        files.write("jobspec.yaml", text)
        files.results(["jobspec.yaml"])
    assert judged[3:] == ["b", "a", "b"]  # the last text moves what is said of both
    assert [name for name in after if after[name] is not before[name]] == ["a.yaml"]
