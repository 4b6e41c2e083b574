"""What an editor offers besides findings, asked by a real client."""

import asyncio
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.support.editor import Editor, Session, editor, lsp
from tests.support.manifests import write
from tests.support.processes import run_here
from tests.support.reference import ROOT

T = TypeVar("T")

JOB = """apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: bert
  labels: {kueue.x-k8s.io/queue-name: gpus}
spec:
  runtimeRef:
    name: torch-distributed
  trainer:
    numNodes: 2
    image: ghcr.io/example/bert:1.0
    command: [torchrun, train.py]
    resourcesPerNode: {limits: {nvidia.com/gpu: 4}}
"""
RUNTIME = """apiVersion: trainer.kubeflow.org/v1alpha1
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
            spec:
              template:
                spec:
                  containers:
                    - name: node
                      image: a:1
                      volumeMounts: [{name: data, mountPath: /data}]
                  volumes:
                    - name: data
                      persistentVolumeClaim: {claimName: images}
"""
CLAIM = """apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: images
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
"""
DEBUGGED = """apiVersion: v1
kind: Pod
metadata: {name: debugged, namespace: ml}
spec:
  ephemeralContainers: [{name: debugger, image: "a:1", volumeMounts: [{name: dumps, mountPath: /dumps}]}]
  containers: [{name: main, image: "a:1"}]
  volumes: [{name: dumps, emptyDir: {}}]
"""
QUEUE = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: gpus, namespace: ml}\nspec: {clusterQueue: all}\n"
CLUSTER_QUEUE = """apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: a100, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]}]
"""
OLDER_QUEUE = """apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: older}
spec:
  cohort: ml
"""
SERVED = """apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: served}
spec:
  predictor: {minReplicas: 1}
"""
OWN = """apiVersion: jobspec.dev/v1alpha1
kind: Overlay
metadata: {name: longer}
spec:
  description: train longer
  parameters:
    epochs: {type: integer, default: 3, description: how often}
  pods:
    - flags: {--epochs: "${epochs}"}
"""
PROJECT = """apiVersion: jobspec.dev/v1alpha1
kind: Project
spec:
  variants:
    - name: a
      base: job.yaml
      overlays:
        - gpu-nccl: {gpus: 8}
        - overlays/longer.yaml
    - {name: b, base: job.yaml, overlays: [cpu]}
"""
OTHER = JOB.replace("torch-distributed", "ours").replace("bert", "other")
FILES = {
    "job.yaml": JOB,
    "other.yaml": OTHER,
    "runtime.yaml": RUNTIME,
    "claim.yaml": CLAIM,
    "debugged.yaml": DEBUGGED,
    "queue.yaml": QUEUE,
    "cluster-queue.yaml": CLUSTER_QUEUE,
    "older-queue.yaml": OLDER_QUEUE,
    "served.yaml": SERVED,
    "overlays/longer.yaml": OWN,
    "jobspec.yaml": PROJECT,
}


class ExampleSession(Session):
    """An editor with all files of the example open, which many tests ask, each for what does not change it for others."""

    async def begin(self) -> None:
        """Open the files."""
        for name in FILES:
            self.client.open(name)
        await self.client.asked("job.yaml")

    def __call__(self, ask: Callable[[Editor], Awaitable[T]]) -> T:
        """The answer to a question, before which and behind which the files are as they are in the example."""

        async def answer() -> T:
            found = await ask(self.client)
            for name, text in FILES.items():
                if self.client.texts[name] != text:
                    self.client.write(name, text)
            return found

        return self.run(answer())


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleSession]:
    folder = tmp_path_factory.mktemp("repository")
    write(folder, FILES)
    with ExampleSession(editor(folder)) as made:
        made.run(made.begin())
        yield made


def _places(locations: Any) -> list[tuple[str, int]]:
    return [(each.uri.rpartition("/")[2], each.range.start.line + 1) for each in locations or ()]


@pytest.mark.parametrize(
    ("file", "words", "places"),
    [
        ("other.yaml", "ours", [("runtime.yaml", 3)]),
        ("job.yaml", "gpus}", [("queue.yaml", 3)]),
        ("runtime.yaml", "images", [("claim.yaml", 4)]),
        ("runtime.yaml", "data, mountPath", [("runtime.yaml", 20)]),
        ("debugged.yaml", "dumps, mountPath", [("debugged.yaml", 7)]),
        ("jobspec.yaml", "gpu-nccl", [("gpu-nccl.yaml", 1)]),
        ("jobspec.yaml", "overlays/longer", [("longer.yaml", 1)]),
        ("jobspec.yaml", "job.yaml", [("job.yaml", 1)]),
        ("job.yaml", "numNodes", []),
    ],
)
def test_definition(file: str, words: str, places: list[tuple[str, int]], session: ExampleSession) -> None:
    async def ask(client: Editor) -> Any:
        return await client.client.text_document_definition_async(lsp.DefinitionParams(**client.at(file, words)))

    assert _places(session(ask)) == places


@pytest.mark.parametrize(
    ("file", "words", "places"),
    [
        ("runtime.yaml", "ours", [("other.yaml", 8)]),
        ("claim.yaml", "images", [("runtime.yaml", 21)]),
        ("queue.yaml", "gpus", [("job.yaml", 5), ("other.yaml", 5)]),
        ("job.yaml", "bert", [("jobspec.yaml", 6), ("jobspec.yaml", 10)]),
        ("runtime.yaml", "data\n", [("runtime.yaml", 18)]),
        ("runtime.yaml", "data, mountPath", [("runtime.yaml", 18)]),
        ("overlays/longer.yaml", "longer", [("jobspec.yaml", 9)]),
        ("jobspec.yaml", "overlays/longer", [("jobspec.yaml", 9)]),
        ("jobspec.yaml", "gpu-nccl", [("jobspec.yaml", 8)]),
        ("jobspec.yaml", "job.yaml", [("jobspec.yaml", 6), ("jobspec.yaml", 10)]),
    ],
)
def test_references(file: str, words: str, places: list[tuple[str, int]], session: ExampleSession) -> None:
    async def ask(client: Editor) -> Any:
        context = lsp.ReferenceContext(include_declaration=False)
        return await client.client.text_document_references_async(lsp.ReferenceParams(context, **client.at(file, words)))

    assert _places(session(ask)) == places


@pytest.mark.parametrize(
    ("file", "words", "said"),
    [
        ("job.yaml", "numNodes", ["**TrainJob.spec.trainer.numNodes** `integer`", "In a, b:", "is   2", "job.yaml:10"]),
        ("job.yaml", "nvidia.com/gpu", ["quantity", "In a:", 'is   "8"', "overlay gpu-nccl", "was  4"]),
        ("claim.yaml", "accessModes", ["PersistentVolumeClaim.spec.accessModes"]),
        ("queue.yaml", "clusterQueue", ["**LocalQueue.spec.clusterQueue** `string`"]),
        ("older-queue.yaml", "cohort", ["**ClusterQueue.spec.cohort** `string`"]),
        ("served.yaml", "minReplicas", ["**InferenceService.spec.predictor.minReplicas** `integer`"]),
        ("jobspec.yaml", "gpu-nccl", ["overlay **gpu-nccl**", "`gpus` (integer)"]),
        ("jobspec.yaml", "gpus: 8", ["overlay **gpu-nccl**", "`gpus` (integer)"]),
        ("jobspec.yaml", "overlays/longer", ["overlay **longer**: train longer", "`epochs` (integer): how often"]),
        ("overlays/longer.yaml", "description: train", ["**Overlay.spec.description** `string`"]),
    ],
)
def test_hover(file: str, words: str, said: list[str], session: ExampleSession) -> None:
    async def ask(client: Editor) -> Any:
        return await client.client.text_document_hover_async(lsp.HoverParams(**client.at(file, words)))

    text = session(ask).contents.value
    assert [each for each in said if each not in text] == [], text


@pytest.mark.parametrize(
    ("file", "before", "typed", "offered", "missing"),
    [
        ("job.yaml", "  trainer:\n", "    ", ["env", "args", "numProcPerNode"], ["image", "numNodes"]),
        ("job.yaml", "spec:\n", "  su", ["suspend"], ["runtimeRef"]),
        ("older-queue.yaml", "  cohort: ml\n", "  ", ["admissionChecks"], ["cohort", "cohortName"]),
        ("job.yaml", "  runtimeRef:\n", "    kind: ", [], ["name"]),
        ("job.yaml", "    name: torch-distributed\n", "  suspend: ", ["true", "false"], []),
        ("job.yaml", "  runtimeRef:\n    name: ", "", ["ours", "torch-distributed"], []),
        ("job.yaml", "kueue.x-k8s.io/queue-name: gpus}\n", "  annotations:\n    a: b\n", [], []),
        ("runtime.yaml", "                    - name: node\n", "                      imagePullPolicy: ", ["Always", "IfNotPresent"], []),
        ("debugged.yaml", "spec:\n", "  restartPolicy: ", ["Always", "OnFailure", "Never"], []),
        ("served.yaml", "spec:\n", "  t", ["transformer"], ["predictor"]),
        (
            "runtime.yaml",
            "                    - name: data\n",
            "                      persistentVolumeClaim:\n                        claimName: ",
            ["images"],
            [],
        ),
        ("job.yaml", "  name: bert\n", "  annotations:\n    a: b\n  labels:\n    kueue.x-k8s.io/queue-name: ", ["gpus"], []),
        ("runtime.yaml", "image: a:1\n", "                      volumeMounts:\n                        - name: ", ["data"], ["node"]),
        ("jobspec.yaml", "overlays:\n", "        - ", ["cpu", "gpu-nccl", "overlays/longer.yaml"], []),
        ("jobspec.yaml", "{name: b, base: job.yaml, overlays: [cpu]}\n", "    - name: c\n      base: ", ["job.yaml"], []),
        ("jobspec.yaml", "{name: b, base: job.yaml, overlays: [cpu]}\n", "    - name: c\n      overlays: [cpu, gp", ["gpu-nccl"], []),
        (
            "jobspec.yaml",
            "{name: b, base: job.yaml, overlays: [cpu]}\n",
            "    - name: c\n      overlays:\n      - gpu-nccl:\n          ",
            ["gpus"],
            [],
        ),
        ("jobspec.yaml", "{name: b, base: job.yaml, overlays: [cpu]}\n", "    - ", ["name", "base", "matrix", "flags"], []),
        ("jobspec.yaml", "{name: b, base: job.yaml, overlays: [cpu]}\n", "    - {name: c, ", ["base", "overlays"], ["name", "spec"]),
        ("jobspec.yaml", "{name: b, base: job.yaml, overlays: [cpu]}\n", "    - {base: job.yaml, queue: ", ["gpus"], []),
        ("jobspec.yaml", "{name: b, base: job.yaml, overlays: [cpu]}\n", "    - {overlays: [cpu, {gpu-nccl: {", ["gpus"], ["cpu"]),
        ("job.yaml", "  trainer:\n", "    env: [{name: A, value: 'a, b', ", ["valueFrom"], ["name", "value", "image"]),
        (
            "queue.yaml",
            "spec: {clusterQueue: all}\n",
            "---\nkind: LocalQueue\napiVersion: kueue.x-k8s.io/v1beta1\nspec: {cluster",
            ["clusterQueue"],
            [],
        ),
        (
            "debugged.yaml",
            "volumes: [{name: dumps, emptyDir: {}}]\n",
            "  initContainers:\n    - volumeMounts:\n        - name: ",
            ["dumps"],
            [],
        ),
    ],
)
def test_completion_while_a_line_is_written(
    file: str, before: str, typed: str, offered: list[str], missing: list[str], session: ExampleSession
) -> None:
    async def ask(client: Editor) -> Any:
        text = client.texts[file]
        at = text.index(before) + len(before)
        client.insert(file, at, f"{typed}\n" if typed else "")
        client.texts[file] = text[:at] + typed
        place = client.at(file, text[:at] + typed, end=True)
        return await client.client.text_document_completion_async(lsp.CompletionParams(**place))

    labels = [each.label for each in session(ask).items]
    assert [each for each in offered if each not in labels] == [], labels
    assert [each for each in missing if each in labels] == []


def test_a_completion_is_written_where_the_word_begins(session: ExampleSession) -> None:
    async def ask(client: Editor) -> str:
        client.insert("job.yaml", len(JOB), "    arg")
        place = client.at("job.yaml", client.texts["job.yaml"], end=True)
        found = await client.client.text_document_completion_async(lsp.CompletionParams(**place))
        assert isinstance(found, lsp.CompletionList)
        (args,) = [each for each in found.items if each.label == "args"]
        assert args.insert_text_mode == lsp.InsertTextMode.AsIs  # else VS Code indents its second line once more
        client.edit("job.yaml", [args.text_edit])
        return client.texts["job.yaml"]

    assert session(ask) == JOB + "    args:\n      - "


def test_a_completion_keeps_the_quote_before_it(session: ExampleSession) -> None:
    async def ask(client: Editor) -> str:
        client.write("job.yaml", JOB.replace("name: torch-distributed", 'name: "tor"'))
        place = client.at("job.yaml", 'name: "tor', end=True)
        found = await client.client.text_document_completion_async(lsp.CompletionParams(**place))
        assert isinstance(found, lsp.CompletionList)
        (one,) = [each for each in found.items if each.label == "torch-distributed"]
        client.edit("job.yaml", [one.text_edit])
        return client.texts["job.yaml"]

    assert session(ask) == JOB.replace("torch-distributed", '"torch-distributed"')


@pytest.mark.parametrize(
    ("file", "changes", "titles"),
    [
        ("job.yaml", {}, ["2 pods, 8 GPUs", "rendered (2 variants)", "diff against HEAD", "queue (2 variants)"]),
        ("other.yaml", {}, ["2 pods, 8 GPUs", "queue gpus: fits"]),
        ("other.yaml", {"gpu: 4": "gpu: 8"}, ["2 pods, 16 GPUs", "queue gpus: never"]),
        ("other.yaml", {"labels:": "annotations:"}, ["2 pods, 8 GPUs", "bypasses Kueue: no queue-name label"]),
        ("other.yaml", {"queue-name: gpus": "queue-name: others"}, ["2 pods, 8 GPUs", "queue others: verdict unknown"]),
        ("other.yaml", {"numNodes": "numNodez"}, ["1 pod, 4 GPUs"]),
        ("claim.yaml", {}, []),
    ],
)
def test_lenses(file: str, changes: dict[str, str], titles: list[str], session: ExampleSession) -> None:
    async def ask(client: Editor) -> Any:
        for old, new in changes.items():
            client.write(file, client.texts[file].replace(old, new))
        return await client.client.text_document_code_lens_async(lsp.CodeLensParams(client.document(file)))

    assert [each.command.title for each in session(ask)] == titles


@pytest.mark.parametrize(
    ("command", "name", "words"),
    [
        ("jobspec.rendered", "jobspec.yaml", ["kind: TrainJob", 'nvidia.com/gpu: "8"', "# rendered/a/"]),
        ("jobspec.expanded", "job.yaml", ["TrainJob bert: what trainer", "bert-node-0-1"]),
        ("jobspec.queue", "other.yaml", ["TrainJob ml/other: fits in queue gpus → all (other.yaml)", "8 own, 8 at most, 8 wanted"]),
        ("jobspec.queue", "jobspec.yaml", ["TrainJob ml/a-", "never in queue gpus", "TrainJob ml/b-"]),
    ],
)
def test_commands_of_lenses(command: str, name: str, words: list[str], session: ExampleSession) -> None:
    async def ask(client: Editor) -> Any:
        params = lsp.ExecuteCommandParams(command, [name])
        return await client.client.workspace_execute_command_async(params)

    text = session(ask)
    assert [each for each in words if each not in text] == [], text


def test_the_difference_to_the_last_commit(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    for command in (("init", "-q"), ("add", "."), ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)

    async def ask() -> Any:
        async with editor(tmp_path) as client:
            client.open("jobspec.yaml", PROJECT.replace("gpus: 8", "gpus: 4"))
            await client.asked("jobspec.yaml")
            return await client.client.workspace_execute_command_async(lsp.ExecuteCommandParams("jobspec.diff", ["jobspec.yaml"]))

    text = asyncio.run(ask())
    done = run_here("diff", cwd=tmp_path)
    assert done.stdout.startswith("no variant of 2 changes against HEAD (")
    assert "1 of 2 variants" in text
    assert done.stdout.partition("(")[2].partition(")")[0] in text


def test_flags_of_contracts_are_offered(tmp_path: Path) -> None:
    settings = '[tool.jobspec.contracts]\n"ghcr.io/example/bert" = "trainer"\n'
    write(tmp_path, {"pyproject.toml": settings, "job.yaml": JOB.replace("    command: ", "    args:\n      - --\n    command: ")})

    async def ask() -> Any:
        async with editor(tmp_path) as client:
            client.open("job.yaml")
            place = client.at("job.yaml", "      - --", end=True)
            return await client.client.text_document_completion_async(lsp.CompletionParams(**place))

    assert "--epochs" in [each.label for each in asyncio.run(ask()).items]


def test_what_the_server_shows_is_not_judged() -> None:
    from jobspec.editor.language_server import server

    made = server()
    made.write(Path(made._shown.name, "rendered.yaml").as_uri(), JOB)
    made._shown.cleanup()
    assert made.files.open_names == []


def test_hints_say_what_the_operator_and_the_api_fill_in(session: ExampleSession) -> None:
    async def ask(client: Editor) -> Any:
        whole = lsp.Range(lsp.Position(0, 0), lsp.Position(100, 0))
        return await client.client.text_document_inlay_hint_async(lsp.InlayHintParams(client.document("job.yaml"), whole))

    hints = {each.position.line + 1: each.label.strip() for each in session(ask)}
    assert hints[7] == "kind: ClusterTrainingRuntime, apiGroup: trainer.kubeflow.org"
    assert "env: PET_NNODES" in hints[8]


def test_symbols(session: ExampleSession) -> None:
    async def ask(client: Editor) -> Any:
        return await client.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(client.document("jobspec.yaml")))

    (project,) = session(ask)
    (spec,) = [each for each in project.children if each.name == "spec"]
    assert [each.name for each in spec.children[0].children] == ["a", "b"]


# Fixes.


_FIXED = sorted(
    each
    for group in ("fixes", "lint", "mutants")
    for each in (ROOT / "tests" / "cases" / group).glob("*.*")
    if ".fixed." not in each.name and each.suffix in (".yaml", ".json")
)


def test_all_fixes_equal_those_of_the_command_line(tmp_path: Path) -> None:
    here, there = tmp_path / "editor", tmp_path / "command line"
    here.mkdir()
    there.mkdir()

    async def fix_each() -> int:
        changed = 0
        async with editor(here) as client:
            for case in _FIXED:
                for folder in (here, there):
                    shutil.copy(case, folder)
                run_here("lint", ".", "--fix-only", cwd=there)
                client.changed_on_disk()
                client.open(case.name)
                before = client.texts[case.name]
                await _fix_all(client, case.name)
                assert client.texts[case.name] == (there / case.name).read_bytes().decode(), case
                changed += client.texts[case.name] != before
                client.close(case.name)
                for folder in (here, there):
                    (folder / case.name).unlink()
        return changed

    assert asyncio.run(fix_each()) > 10


async def _fix_all(client: Editor, name: str) -> None:
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(10_000, 0))
    context = lsp.CodeActionContext([], only=[lsp.CodeActionKind.SourceFixAll])
    params = lsp.CodeActionParams(client.document(name), whole, context)
    for action in await client.client.text_document_code_action_async(params) or ():
        assert isinstance(action, lsp.CodeAction)
        resolved = await client.client.code_action_resolve_async(action)
        assert resolved.edit
        assert resolved.edit.changes
        client.edit(name, resolved.edit.changes[client.uri(name)])


def test_a_client_that_does_not_ask_for_edits_gets_them_with_each_fix(tmp_path: Path) -> None:
    async def ask() -> Any:
        async with editor(tmp_path, resolves=False) as client:
            client.open("job.yaml")
            cursor = lsp.Position(client.texts["job.yaml"].partition("numNodez")[0].count("\n"), 0)
            params = lsp.CodeActionParams(client.document("job.yaml"), lsp.Range(cursor, cursor), lsp.CodeActionContext([]))
            actions = await client.client.text_document_code_action_async(params)
            client.edit("job.yaml", actions[0].edit.changes[client.uri("job.yaml")])  # type: ignore[index,union-attr]
            return client.texts["job.yaml"]

    write(tmp_path, {"job.yaml": JOB.replace("numNodes", "numNodez")})
    assert asyncio.run(ask()) == JOB


def test_one_fix_and_a_comment_that_ignores(session: ExampleSession) -> None:
    text = JOB.replace("numNodes", "numNodez").replace("  runtimeRef", "  runtimeReff")

    async def actions(client: Editor, one: Any) -> Any:
        params = lsp.CodeActionParams(client.document("job.yaml"), one.range, lsp.CodeActionContext([one]))
        return await client.client.text_document_code_action_async(params)

    async def ask(client: Editor) -> tuple[str, str, list[Any]]:
        client.write("job.yaml", text)
        (one,) = [each for each in await client.asked("job.yaml") if "numNodez" in each.message]
        fix = await client.client.code_action_resolve_async((await actions(client, one))[0])
        client.edit("job.yaml", fix.edit.changes[client.uri("job.yaml")])  # type: ignore[union-attr,index]
        fixed = client.texts["job.yaml"]
        client.write("job.yaml", JOB.replace("bert:1.0", "bert:latest"))
        (late,) = [each for each in await client.asked("job.yaml") if each.code == "unpinned-image"]
        (ignore,) = [each for each in await actions(client, late) if each.title.startswith("Ignore")]
        client.edit("job.yaml", ignore.edit.changes[client.uri("job.yaml")])
        return fixed, client.texts["job.yaml"], [each.code for each in await client.asked("job.yaml")]

    fixed, after, left = session(ask)
    assert fixed == text.replace("numNodez", "numNodes")
    assert "bert:latest  # jobspec: ignore[unpinned-image] say why\n" in after
    assert "unpinned-image" not in left
