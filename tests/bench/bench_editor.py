"""How long an editor waits: from a key to the diagnostics of its text, for completion, for hover, beside yaml-language-server in one run.

    python -m tests.bench.bench_editor [--keys N] [--yaml-language-server PROGRAM]
    python -m tests.bench.bench_editor --folder FOLDER --file NAME --second NAME [--warm] [--yaml-language-server PROGRAM]

The second form opens files of a large folder, such as a clone of redhat-appstudio/infra-deployments: rows of what comes first after
`initialized`, of keys while the server looks at the rest of the folder, and of keys, a save and a second file after that. The cache is
empty, or with `--warm` that of a `lint` before.

Each row has the median and the 99th percentile in milliseconds, and the mean of the processor time that the server took (on Linux); the
servers take turns. yaml-language-server waits 200 ms for further keys before it looks at a text, and checks a job by our JSON Schema of it.
Last come the memory of each server after a tenth of the keys, and after all of them, in MB: with `--keys 2000`, a session of 2,000 edits.
"""

import argparse
import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from tests.support.editor import Editor
from tests.support.manifests import write
from tests.support.reference import ROOT

GUIDE = (ROOT / "tests" / "cases" / "guides" / "distributed.yaml").read_text()
SCHEMA = ROOT / "schemas" / "training-operator-1.9.4" / "kubeflow.org" / "pytorchjob_v1.json"
NOWHERE = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
_VARIANTS = 20
_HEAD = "apiVersion: jobspec.dev/v1alpha1\nkind: Project\nspec:\n  variants:\n"
PROJECT = _HEAD + "".join(
    f"    - {{name: v{number}, base: job.yaml, overlays: [{{gpu-nccl: {{gpus: {1 + number % 8}}}}}, istio-off, own.yaml]}}\n"
    for number in range(_VARIANTS)
)
OWN = "apiVersion: jobspec.dev/v1alpha1\nkind: Overlay\nmetadata: {name: own}\nspec: {pods: [{flags: {--epochs: 3}}]}\n"


class Other(Editor):
    """yaml-language-server, with our schema for every YAML file."""

    async def begin(self, program: str) -> None:
        """Start it."""
        self.client.feature(lsp.WORKSPACE_CONFIGURATION)(lambda params: [self._setting(each.section) for each in params.items])
        self.client.feature("custom/schema/request")(lambda _: [])
        await self.client.start_io(program, "--stdio")
        about = lsp.TextDocumentClientCapabilities(publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities())
        within = lsp.WorkspaceClientCapabilities(configuration=True)
        await self.client.initialize_async(
            lsp.InitializeParams(lsp.ClientCapabilities(text_document=about, workspace=within), root_uri=self.uri(""))
        )
        self.client.initialized(lsp.InitializedParams())
        self.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"yaml": self._setting("yaml")}))

    @staticmethod
    def _setting(section: str | None) -> Any:
        found = {
            "schemas": {SCHEMA.as_uri(): "*.yaml"},
            "validate": True,
            "hover": True,
            "completion": True,
            "schemaStore": {"enable": False},
        }
        return found if section == "yaml" else {}

    async def published(self, name: str) -> list[Any]:
        """The next diagnostics of a file, which come without a version."""
        self._published.clear()
        while not any(uri == self.uri(name) for uri, _ in self._published):
            self._waiting.clear()
            await asyncio.wait_for(self._waiting.wait(), 60)
        return []


async def _timed(client: Editor, work: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
    """Milliseconds until an answer, and those that the server's processor took."""
    start, before = time.perf_counter(), _busy(client)
    await work()
    return (time.perf_counter() - start) * 1000, _busy(client) - before


def _busy(client: Editor) -> float:
    server = client.client._server
    about = Path(f"/proc/{server.pid}/stat") if server else Path()
    if not about.is_file():
        return 0
    fields = about.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def _memory(client: Editor) -> float:
    """The memory of a server in MB; 0 where the system does not tell."""
    server = client.client._server
    about = Path(f"/proc/{server.pid}/statm") if server else Path()
    return int(about.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6 if about.is_file() else 0


async def _key(client: Editor, name: str, number: int) -> None:
    client.insert(name, len(client.texts[name]), "#" if number % 2 else "\n#")
    await client.published(name)


async def _opened(client: Editor, name: str) -> None:
    client.open(name)
    await client.published(name)


async def _whole(client: Editor) -> None:
    """Wait until the server has looked at the whole folder."""
    await client.client.text_document_code_action_async(
        lsp.CodeActionParams(client.document(next(iter(client.texts))), NOWHERE, lsp.CodeActionContext([]))
    )


async def _save(client: Editor, name: str) -> None:
    client.client.text_document_did_save(lsp.DidSaveTextDocumentParams(client.document(name)))
    await _whole(client)


async def _measure_folder(folder: Path, name: str, second: str, program: str | None, *, keys: int, warm: bool) -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ["JOBSPEC_CACHE"] = cache
        if warm:
            subprocess.run([sys.executable, "-m", "jobspec", "lint", "."], cwd=folder, stdout=subprocess.DEVNULL, check=False)
        times: dict[str, list[tuple[float, float]]] = {}

        async def timed(what: str, work: Awaitable[Any]) -> None:
            times.setdefault(what, []).append(await _timed(client, lambda: work))

        client = Editor(folder)
        await client.start(asks=False, encoding="utf-16")
        await timed("jobspec: a file is opened first", _opened(client, name))
        for number in range(keys):
            await timed("jobspec: a key, during the look at the folder", _key(client, name, number))
        await timed("jobspec: a second file is opened during that", _opened(client, second))
        await timed("jobspec: the look at the folder", _whole(client))
        for number in range(keys):
            await timed("jobspec: a key after that", _key(client, name, number))
        await timed("jobspec: a save", _save(client, name))
        client.close(second)
        await _whole(client)
        await timed("jobspec: a second file is opened", _opened(client, second))
        memory = {"jobspec": (_memory(client),)}
        await _stop(client)
        if program:
            client = Other(folder)
            await client.begin(program)
            await timed("yaml-language-server: a file is opened first", _opened(client, name))
            for number in range(keys):
                await timed("yaml-language-server: a key", _key(client, name, number))
            await timed("yaml-language-server: a second file is opened", _opened(client, second))
            memory["yaml-language-server"] = (_memory(client),)
            await _stop(client)
        _report(keys, times, memory)


async def _stop(client: Editor) -> None:
    await client.client.shutdown_async(None)
    client.client.exit(None)
    await client.client.stop()


async def _hover(client: Editor, name: str) -> None:
    await client.client.text_document_hover_async(lsp.HoverParams(**client.at(name, "restartPolicy")))


async def _complete(client: Editor, name: str) -> None:
    await client.client.text_document_completion_async(lsp.CompletionParams(**client.at(name, "restartPolicy")))


def _row(what: str, times: list[tuple[float, float]]) -> str:
    waits, busy = (sorted(each) for each in zip(*times, strict=True))
    last = waits[min(len(waits) - 1, round(len(waits) * 0.99))]
    return f"{what:58} {statistics.median(waits):8.1f} {last:8.1f} {statistics.mean(busy):8.1f}"


def _report(keys: int, times: Mapping[str, list[tuple[float, float]]], memory: Mapping[str, tuple[float, ...]]) -> None:
    print(f"{f'{keys} keys each':58}   median      p99      CPU")
    for row, found in times.items():
        print(_row(row, found))
    for name, sizes in memory.items():
        print(f"{f'{name}: memory in MB':58} {' '.join(f'{each:8.1f}' for each in sizes)}")


async def _measure(keys: int, program: str | None) -> None:
    with tempfile.TemporaryDirectory() as place:
        single, project = Path(place, "single"), Path(place, "project")
        write(single, {"job.yaml": GUIDE})
        write(project, {"job.yaml": GUIDE, "own.yaml": OWN, "jobspec.yaml": PROJECT})
        job, variants, other = Editor(single), Editor(project), Other(single)
        clients = [(job, "job.yaml", "jobspec: a job")]
        for client in (job, variants):
            await client.start(asks=False, encoding="utf-16")
        for name in ("job.yaml", "own.yaml", "jobspec.yaml"):
            variants.open(name)
            clients.append((variants, name, f"jobspec: {name} of {_VARIANTS} variants"))
        job.open("job.yaml")
        if program:
            await other.begin(program)
            other.open("job.yaml")
            clients.append((other, "job.yaml", "yaml-language-server: a job"))
        times: dict[str, list[tuple[float, float]]] = {}
        servers = {"jobspec: a job": job, f"jobspec: {_VARIANTS} variants": variants}
        servers |= {"yaml-language-server": other} if program else {}
        memory: list[tuple[float, ...]] = []
        for number in range(-3, keys):
            for client, name, what in clients:
                took = {f"{what}: diagnostics": await _timed(client, lambda: _key(client, name, number))}  # noqa: B023
                if name == "job.yaml" and client is not variants:
                    took[f"{what}: hover"] = await _timed(client, lambda: _hover(client, name))  # noqa: B023
                    took[f"{what}: completion"] = await _timed(client, lambda: _complete(client, name))  # noqa: B023
                for row, each in took.items() if number >= 0 else ():
                    times.setdefault(row, []).append(each)
            if number in (keys // 10, keys - 1):
                memory.append(tuple(map(_memory, servers.values())))
        _report(keys, times, dict(zip(servers, zip(*memory, strict=True), strict=True)))
        for client in (job, variants, *([other] if program else [])):
            await _stop(client)


def main() -> int:
    """Measure, and print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--yaml-language-server", default=shutil.which("yaml-language-server"))
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--file")
    parser.add_argument("--second")
    parser.add_argument("--warm", action="store_true")
    options = parser.parse_args()
    program = options.yaml_language_server
    if options.folder:
        measured = _measure_folder(options.folder.resolve(), options.file, options.second, program, keys=options.keys, warm=options.warm)
    else:
        measured = _measure(options.keys, program)
    asyncio.run(measured)
    return 0


if __name__ == "__main__":
    sys.exit(main())
