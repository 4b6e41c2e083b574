"""`jobspec mcp`: tools for coding agents, on standard input and output. They read the files of one folder, and change nothing.

Every tool is a function over the Python API and the workspace of the language server, so that an agent hears what CI will say. An audit
hook holds the process to that: it opens no file outside of the folder, writes none, reaches no network, and starts no program but git to
read, kustomize to build and helm to render. No call depends on another one: what is kept of earlier calls is what was found out about
unchanged files.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from threading import Lock, Thread
from typing import Annotated, Any

from jobspec import __version__, api
from jobspec.apis import shipped
from jobspec.apis.shipped import package_path
from jobspec.diagnostics.diagnostic import SEVERITIES, Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult, by_cause_of_all
from jobspec.editor.garbage import begin_collecting
from jobspec.editor.tool_words import data_in_tool_words, in_tool_words
from jobspec.editor.workspace import Workspace, text_of
from jobspec.project.tree import differences
from jobspec.reports.diff import json_report as changes_report
from jobspec.reports.places import message_of
from jobspec.reports.preflight import PreflightAnswer, as_data
from jobspec.reports.queue import beyond
from jobspec.reports.queue import json_report as workloads_report
from jobspec.session.builds import WORK_PREFIX, kept_builds
from jobspec.session.comparing import compared, prices_in
from jobspec.session.disk import Disk
from jobspec.session.expanding import expand_files
from jobspec.session.explaining import explained
from jobspec.session.field_pages import place_of
from jobspec.session.found import Found
from jobspec.session.options import Options
from jobspec.session.preflight_of_files import answer_to
from jobspec.session.queues import LACKING, answers

_MOST = 100  # findings, lines or files of an answer
_NEW = "manifest.yaml"
_SMALL = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: small}
spec: {runtimeRef: {name: torch-distributed}, trainer: {imagee: a}}
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare its arguments and options."""
    parser.add_argument(
        "root", nargs="?", default=os.curdir, metavar="DIR", help="the folder whose files it reads; the working folder by default"
    )


def run(options: Options) -> int:
    """Serve one agent until that is done. Raises JobspecError where the folder or the SDK is missing."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.types import ToolAnnotations
    except ModuleNotFoundError as error:
        raise JobspecError(f"mcp needs the package `{error.name}`: pip install mcp") from None
    if not os.path.isdir(options.root):
        raise JobspecError(f"{options.root}: no such folder")
    os.chdir(options.root)
    tools = Tools()
    server = MCPServer("jobspec", version=__version__, instructions=_INSTRUCTIONS, log_level="ERROR")
    reads = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
    server.tool(annotations=reads)(_with_schema(_one_at_a_time(tools.preflight), PreflightAnswer))
    judging = (tools.check, tools.lint, tools.fix)
    for tool in (*judging, tools.expand, tools.queue, tools.explain, tools.fields, tools.render, tools.diff, tools.migrate):
        server.tool(annotations=reads)(_one_at_a_time(tool))
    sys.addaudithook(_Confined(os.getcwd()))
    Thread(target=_one_at_a_time(tools.load), daemon=True).start()
    server.run()
    return 0


_INSTRUCTIONS = (
    "Kubernetes training jobs (TrainJob, PyTorchJob), judged offline as the API server, webhooks and operators would. Look fields up "
    "with `fields` and `explain` before writing them; ask `preflight` about what was written, as a file of the folder or as text: it "
    "says all at once, with the safe fixes as a diff. The other tools say more of one question."
)


def _one_at_a_time(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The same tool, whose calls wait for those of all tools: the SDK answers calls that an agent sends together in several threads."""

    @wraps(tool)
    def answer(*arguments: Any, **named: Any) -> Any:
        with _TURN:
            try:
                return tool(*arguments, **named)
            finally:
                begin_collecting()

    return answer


_TURN = Lock()


def _with_schema(tool: Callable[..., dict[str, Any]], model: type) -> Callable[..., Any]:
    """The same tool, whose answers have the schema of a model, and are one line of JSON in place of an indented text."""
    from mcp.types import CallToolResult, TextContent
    from pydantic import RootModel

    form: Any = RootModel.__class_getitem__(model)

    @wraps(tool)
    def answer(*arguments: Any, **named: Any) -> Any:
        found = tool(*arguments, **named)
        return CallToolResult(content=[TextContent(text=json.dumps(found, ensure_ascii=False))], structured_content=found)

    shape = inspect.signature(tool, eval_str=True).replace(return_annotation=Annotated[CallToolResult, form])
    setattr(answer, "__signature__", shape)  # noqa: B010 (the SDK makes the schema of the answer from the signature)
    return answer


class Tools:
    """What an agent can ask about the working folder."""

    def __init__(self) -> None:
        self._files = Workspace(os.curdir, is_confined=True)
        self._root = os.path.realpath(os.curdir)

    def preflight(
        self,
        path: str = "",
        text: str = "",
        ref: str = "",
        queues: Sequence[str] = (),
        prices: str = "",
        cluster: str = "",
        helm: Sequence[str] = (),
        values: Sequence[str] = (),
        helm_set: Sequence[str] = (),
    ) -> dict[str, Any]:
        """One short answer before a job is sent: accepted, pods, queue, what it holds and costs, findings, safe fixes as a diff.

        Give the path of a file or folder, a manifest's text, or both for another text of that file; with neither, all files count. *ref*: a
        commit to compare with. *queues*: further files with Kueue's queues. *prices*: a price list. *cluster*: a pinned cluster's file.
        *helm*: folders of charts that helm renders, with files of *values*, and *helm_set* such as `image.tag=1.4`.
        """
        if helm and text:
            raise _error("a chart is rendered from files: write the text to its file first")
        name = self._name(path or (_NEW if text else os.curdir))
        given = Options(
            paths=[name if not text else os.curdir],
            stored_ref=ref or None,
            queues=[self._name(each) for each in queues],
            cluster=self._name(cluster) if cluster else None,
        )
        with _written(self._files, name, text):
            if not text and path and not os.path.exists(name):
                raise _error(f"{path}: no such file or folder")
            listed = _asked(lambda: prices_in(self._name(prices))) if prices else None
            if isinstance(listed, FileResult):
                raise _error(f"{prices}: {listed.diagnostics[0].message}")
            if helm:
                charts, files = tuple(map(self._chart, helm)), tuple(map(self._name, values))
                rendered = given.changed(paths=[name] if path else [], helm=charts, values=files, helm_set=helm_set)
                rendered = rendered.changed(disk=Disk(None, self._root))
                return as_data(_asked(lambda: answer_to(rendered, listed)), say=data_in_tool_words)
            found = _asked(lambda: self._files.preflight(lambda each: _is_below(os.path.normpath(each), name), given, listed))
            return as_data(found, say=data_in_tool_words)

    def load(self) -> None:
        """Load what answers need, and judge the folder, so that the first answer takes no longer than others."""
        with suppress(Exception):  # the agent hears of it with its own question
            self.preflight(text=_SMALL)

    def check(self, path: str = "", text: str = "") -> dict[str, Any]:
        """What an API server, the operators' webhooks and the operators would say to manifests.

        Give the path of a file of the folder, or a manifest's text, or both for another text of that file; with neither, all files.
        """
        return self._judged(path, text, advice=False)

    def lint(self, path: str = "", text: str = "") -> dict[str, Any]:
        """As `check`, and what is accepted but slow, costly or fragile. The verdict of CI: settings, ignores and projects count."""
        return self._judged(path, text, advice=True)

    def fix(self, path: str, text: str = "") -> dict[str, Any]:
        """The safe fixes of a file, as a diff that `git apply` takes, and what is left to fix by hand."""
        name = self._name(path)
        with _written(self._files, name, text):
            before, after = self._files.fixed(name, lambda each: each.has_safe_fix)
        return {"diff": _diff(name, before, after), "left": self._judged(path, after, advice=True)["findings"]}

    def expand(self, path: str = "", text: str = "", overlays: Sequence[str] = (), kind: str = "") -> dict[str, Any]:
        """The objects that operators will create for the jobs in a file, folder or text.

        It gives how many of each kind there are; with *kind*, those of one kind in full.
        """
        name = self._name(path or (_NEW if text else os.curdir))
        if not text and not os.path.exists(name):
            raise _error(f"{path}: no such file or folder")
        disk = Disk(None, self._root)
        given = Found(name, named=True, content=text.encode(errors="surrogatepass"), disk=disk) if text else None
        layers = [self._name(each) if "/" in each or each.endswith((".yaml", ".yml")) else each for each in overlays]
        made = _asked(lambda: expand_files(Options(paths=[name], overlay=layers, disk=disk), given))
        objects = [each.data() for job in made.jobs for each in job.objects]
        kinds = [each["kind"] for each in objects]
        shown = [each for each in objects if each["kind"] == kind] if kind else []
        return {
            "objects": {each: kinds.count(each) for each in dict.fromkeys(kinds)},
            "names": [f"{each['kind']} {each['metadata']['name']}" for each in objects][:_MOST],
            **({"shown": shown[:_FEW], "more": max(len(shown) - _FEW, 0)} if kind else {}),
            "findings": _findings([each for file in made.results for each in file.diagnostics]),
        }

    def queue(self, path: str = "", text: str = "", queues: Sequence[str] = (), cluster: str = "") -> dict[str, Any]:
        """Whether Kueue admits the jobs in a file, folder or text, or the variants of a project, with which flavors, and why not.

        *queues*: files or folders with ClusterQueues, LocalQueues and what they refer to; the whole folder by default. *cluster*: a pinned
        cluster's file. Without a status of what runs, only `never` is certain.
        """
        name = self._name(path or (_NEW if text else "jobspec.yaml"))
        if not text and not os.path.exists(name):
            raise _error(f"{path or name}: no such file or folder")
        given = Found(name, named=True, content=text.encode(errors="surrogatepass"), disk=Disk(None, self._root)) if text else None
        paths = [self._name(each) for each in queues or ([] if cluster else [os.curdir])]
        options = Options(paths=[name], queues=paths, cluster=self._name(cluster) if cluster else None, disk=Disk(None, self._root))
        made = _asked(lambda: answers(options, given))
        if made.lacks:
            raise _error(LACKING[made.lacks])
        found = {"workloads": json.loads(workloads_report(made.asked))["workloads"], "together": list(beyond(made.asked, made.world))}
        bypassing = [f"{each.job.kind} {each.job.name}" for each in made.asked if not each.answer]
        return {**found, "bypassing": bypassing, "findings": _findings([each for one in made.results for each in one.diagnostics])}

    def explain(self, name: str, target: Sequence[str] = ()) -> str:
        """What a rule finds and what to do instead, what a field is (`TrainJob.spec.trainer`), or what an overlay does.

        *target*: releases to explain a field for, such as `trainer=2.1`.
        """
        return str(_asked(lambda: explained(name, target)))

    def fields(self, path: str, contains: str = "") -> list[str]:
        """A line for each field of a kind or below a path, with type, limits and releases; only those with *contains* in them."""
        from jobspec.schemas.explain import field_lines

        found = [each for each in _asked(lambda: list(field_lines(*place_of(path, [])))) if contains.lower() in each.lower()]
        return found[:_MOST] + ([f"{len(found) - _MOST} more: give `contains`, or a longer path"] if len(found) > _MOST else [])

    def render(
        self,
        path: str = "",
        text: str = "",
        overlays: Sequence[str] = (),
        parameters: dict[str, dict[str, Any]] | None = None,
        variant: str = "",
    ) -> dict[str, Any]:
        """What overlays make of a job, given by path or text; of a project (`jobspec.yaml`) the files, with the text of one variant's."""
        name, manifest = self._manifest(path or ("" if text else "jobspec.yaml"), text)
        if not text and "kind: Project" in manifest:
            tree = _asked(lambda: api.render_project(name))
            texts = {file: each for file, each in tree.files.items() if variant and f"/{variant}/" in file}
            return {"files": list(tree.files)[:_MOST], "texts": texts, "findings": _findings(tree.diagnostics)}
        chosen = self._overlays(overlays)
        made = _asked(lambda: api.render(manifest, overlays=chosen, parameters=parameters, cluster=self._cluster(), name=name))
        return {"text": made.text, "findings": _findings(made.diagnostics)}

    def diff(self, ref: str = "HEAD", project: str = "jobspec.yaml") -> dict[str, Any]:
        """What the change of a project since a commit does: fields, new runs, pods and GPUs of each variant."""
        name = self._name(project)
        answer: dict[str, Any] = json.loads(changes_report(_asked(lambda: compared(Options(ref=ref, project=name)))))
        return data_in_tool_words(answer)

    def migrate(self, path: str = "", text: str = "") -> dict[str, Any]:
        """PyTorchJobs, MPIJobs, JobSets and indexed Jobs as TrainJobs: a diff, what is lost, and what becomes another value."""
        name, manifest = self._manifest(path, text)
        made = api.migrate(manifest, cluster=self._cluster(), name=name)
        return {"diff": _diff(name, manifest, made.text), "lossless": made.lossless, "findings": _findings(made.diagnostics)}

    def _judged(self, path: str, text: str, *, advice: bool) -> dict[str, Any]:
        name = self._name(path or (_NEW if text else os.curdir))
        with _written(self._files, name, text):
            if not text and path and not os.path.exists(name):
                raise _error(f"{path}: no such file or folder")
            results = _asked(lambda: self._files.results(None if os.path.isdir(name) else [name], advice=advice))
            found = self._files.by_file(results)
        here = {each: diagnostics for each, diagnostics in found.items() if _is_below(each, name)}
        rows = [row for each in results if _is_below(os.path.normpath(each.path), name) for row in each.documents]
        files = [FileResult(each, (), diagnostics) for each, diagnostics in here.items()]
        findings = [each for file in by_cause_of_all(files, for_people=True) for each in file.diagnostics]
        return {
            "valid": not any(each.severity == "error" for each in findings),
            "documents": [{"kind": each.kind, "name": each.name, "status": each.status, "runs": each.runs} for each in rows][:_MOST],
            "findings": _findings(findings),
            "releases": self._cluster().releases,
        }

    def _cluster(self) -> Any:
        return _asked(self._files.cluster)

    def _manifest(self, path: str, text: str) -> tuple[str, str]:
        """The name and the text of what is asked about."""
        name = self._name(path or _NEW)
        if text:
            return name, text
        if not path or not os.path.isfile(name):
            raise _error(f"{path or 'neither path nor text'}: no such file")
        return name, text_of(name, {})

    def _overlays(self, names: Sequence[str]) -> list[str]:
        """Overlays as the Python API takes them: shipped ones by name, those of the folder as text."""
        return [text_of(self._name(each), {}) if "/" in each or each.endswith((".yaml", ".yml")) else each for each in names]

    def _name(self, path: str) -> str:
        """The name of a file in the folder, which no link leads out of."""
        if "\0" in path or os.path.commonpath((os.path.realpath(path), self._root)) != self._root:
            raise _error(f"{path} is outside of the folder that this server reads")
        return os.path.normpath(os.path.relpath(os.path.abspath(path), os.path.abspath(os.curdir)))

    def _chart(self, path: str) -> str:
        """The name of a chart in the folder, in which no link leads out: helm follows links."""
        name, seen = self._name(path), set[str]()
        for place, folders, files in os.walk(name, followlinks=True):
            for each in (*folders, *files):
                self._name(os.path.join(place, each))
            real = os.path.realpath(place)
            if real in seen:
                folders.clear()
            seen.add(real)
        return name


_FEW = 3  # objects that are shown in full


@contextmanager
def _written(files: Workspace, name: str, text: str) -> Iterator[None]:
    """Have a text in place of a file's, for one question."""
    files.look_again()  # what the agent has written meanwhile counts
    if text:
        files.write(name, text)
    try:
        yield
    finally:
        if text:
            files.write(name, None)


def _is_below(name: str, folder: str) -> bool:
    return folder in (os.curdir, name) or name.startswith(f"{folder}/")


def _findings(diagnostics: Sequence[Diagnostic]) -> list[dict[str, Any]]:
    """Findings with their places and the number of further places, the errors first, as many as anybody reads."""
    order = sorted(diagnostics, key=lambda each: SEVERITIES.index(each.severity))
    found = [
        {
            "rule": each.rule,
            "severity": each.severity,
            "message": in_tool_words(message_of(each)),
            "hint": in_tool_words(each.hint),
            "field": each.field,
            "file": each.mark.file,
            "line": each.mark.line,
            "column": each.mark.column,
            "fixable": each.has_safe_fix,
            **({"places": len(each.further_places)} if each.further_places else {}),
        }
        for each in order[:_MOST]
    ]
    return [*found, {"message": f"{len(order) - _MOST} more findings"}] if len(order) > _MOST else found


def _diff(name: str, before: str, after: str) -> str:
    return "".join(differences({name: before.encode()}, {name: after.encode()})) if before != after else ""


def _asked(ask: Callable[[], Any]) -> Any:
    """The answer, or what is wrong with the question in the words of the command line."""
    try:
        return ask()
    except (JobspecError, OSError) as error:
        raise _error(str(error)) from None


def _error(message: str) -> Exception:
    from mcp.server.mcpserver.exceptions import ToolError

    return ToolError(in_tool_words(message))


class _Confined:
    """An audit hook that refuses what these tools never need: other files, writes, the network, programs that build nothing."""

    def __init__(self, root: str) -> None:
        self._builds = (kept_builds(), os.path.join(tempfile.gettempdir(), WORK_PREFIX))
        """Where builders of kustomizations work and what they build is kept: the only places that are written to."""
        ours = (shipped.path("overlays"), shipped.path("schemas"), package_path(), sys.prefix, sys.base_prefix, os.devnull)
        self._folders = tuple(dict.fromkeys(map(os.path.realpath, (root, *ours, *(each for each in sys.path if each)))))

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes):
            path, mode, flags = arguments
            real = os.path.realpath(os.fsdecode(path))
            writes = any(each in (mode or "") for each in "wax+") or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
            is_read = not writes and any(real == each or real.startswith(f"{each}{os.sep}") for each in self._folders)
            if real != os.devnull and not is_read and not self._is_of_builds(real):
                raise PermissionError(13, "outside of the folder that this server reads", path)
        elif event in _CHANGES and all(self._is_of_builds(each, is_link=event in _OF_LINKS) for each in _places(event, arguments)):
            return
        elif event in _CHANGES or event in _REFUSED or (event == "subprocess.Popen" and not _builds(arguments[1])):
            raise PermissionError(13, f"this server does not do that: {event}")

    def _is_of_builds(self, path: str, *, is_link: bool = False) -> bool:
        real = path if is_link else os.path.realpath(path)
        return any(real.startswith(os.path.realpath(os.path.dirname(each)) + os.sep + os.path.basename(each)) for each in self._builds)


def _builds(command: Sequence[str]) -> bool:
    """True if a program only reads Git, builds a kustomization or renders a chart."""
    program = os.path.basename(str(command[0]))
    return program in ("git", "kustomize") or (program, *command[1:2]) in (("kubectl", "kustomize"), ("helm", "template"))


def _places(event: str, arguments: tuple[Any, ...]) -> list[str]:
    """The paths that a call of the system changes. A path below an open folder is found by the folder's descriptor."""
    names = [each for each in arguments if isinstance(each, str | bytes)][event == "os.symlink" :]  # where a link leads is not changed
    descriptors = [each for each in arguments if isinstance(each, int) and not isinstance(each, bool)]
    folder = next((os.readlink(f"/proc/self/fd/{each}") for each in descriptors[-1:] if each >= 0 and event in _IN_OPEN_FOLDER), "")
    places = [os.path.join(folder, os.fsdecode(each)) for each in names]
    if event not in _OF_LINKS:
        return places
    return [os.path.join(os.path.realpath(os.path.dirname(each)), os.path.basename(each)) for each in places]


#: Events that change files; their arguments end with the descriptor of an open folder, or -1.
_IN_OPEN_FOLDER = ("os.mkdir", "os.remove", "os.rmdir", "os.rename")
#: Events that change a link itself, not the file that it leads to.
_OF_LINKS = ("os.remove", "os.rename", "os.symlink")
_CHANGES = frozenset((*_IN_OPEN_FOLDER, "os.symlink", "os.utime", "shutil.rmtree", "tempfile.mkdtemp"))
_REFUSED = frozenset(
    (
        *(f"os.{each}" for each in ("system", "exec", "posix_spawn", "truncate", "link", "chmod", "chown")),
        *("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request"),
    )
)
