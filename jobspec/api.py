"""The Python API: check, lint, fix, expand, migrate and render manifests, given as text, data or models; projects by their files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, overload

from jobspec.apis.kinds import MODELS
from jobspec.diagnostics.diagnostic import Diagnostic, has_error, lines_of
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.results import FileResult
from jobspec.diagnostics.wording import counted, severity_counts
from jobspec.documents.document import Document, items_of
from jobspec.documents.manifest import document_of
from jobspec.journey.checking import apply
from jobspec.journey.journey import Journey, travel
from jobspec.journey.reading import read
from jobspec.journey.steps import Checked, LoadedFile, Manifests, Source
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.apis.releases import Target
    from jobspec.captures.server import CaptureServer
    from jobspec.documents.manifest import Manifest
    from jobspec.models.base import Model
    from jobspec.overlays.load import LoadedOverlay, OverlayFile
    from jobspec.project.comparison import Comparison
    from jobspec.session.options import Options

    #: Values by overlay and parameter: `{"gpu-nccl": {"gpus": 2}}`.
    Parameters = Mapping[str, Mapping[str, Any]]

_NAME = "<manifest>"


class _Result:
    """What was asked for, with what is wrong."""

    __slots__ = ()
    diagnostics: Sequence[Diagnostic]

    @property
    def valid(self) -> bool:
        """Whether it has no diagnostic of severity error."""
        return not has_error(self.diagnostics)


@dataclass(frozen=True, slots=True)
class Rendered(_Result):
    """The result of rendering a base with overlays."""

    text: str
    """YAML, with the same meaning under YAML 1.1 and 1.2; empty where there is a diagnostic of severity error."""
    documents: Sequence[Document]
    diagnostics: Sequence[Diagnostic]

    def __repr__(self) -> str:
        return _repr(self, self.text, self.diagnostics)


def check(
    manifest: Manifest | Sequence[Manifest],
    *,
    cluster: Cluster | None = None,
    overlays: Sequence[Manifest] = (),
    parameters: Parameters | None = None,
    outcome: bool = True,
    name: str = _NAME,
) -> FileResult:
    """Check a manifest as `jobspec validate` does.

    A manifest is text of any number of documents, data, models, or a list of those.

    *overlays* are applied first: the name of a shipped one, or an Overlay as text, data or model; *parameters* are their values, by
    overlay and parameter. *cluster* is what the manifest meets, by default the newest releases with their webhooks. *outcome*: what
    becomes of accepted jobs is reported, too. *name* is what diagnostics show as the manifest's file.

    Raises:
        JobspecError: an overlay is at fault, or one that *parameters* name is not applied.
        TypeError: the data holds something that JSON cannot.

    """
    cluster = cluster or Cluster()
    return _checked(manifest, cluster, overlays, parameters or {}, name, outcome=outcome).result


def lint(
    manifest: Manifest | Sequence[Manifest],
    *,
    cluster: Cluster | None = None,
    overlays: Sequence[Manifest] = (),
    parameters: Parameters | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    name: str = _NAME,
) -> FileResult:
    """Check a manifest as `jobspec lint` does: `check`, and what is accepted but slow, costly or fragile.

    *select* and *ignore* are names of rules or stages: report these alone, or do not report them. The other arguments and the errors are
    those of `check`. Comments in the text that ignore findings are not read.

    Raises:
        JobspecError: an overlay is at fault, or there is no rule of a name.

    """
    from jobspec.lint.catalogue import rules as known
    from jobspec.lint.ignores import ReportFilter, require_known
    from jobspec.lint.linting import lint as linted
    from jobspec.session.chosen_rules import chosen

    cluster = cluster or Cluster()
    settings = ReportFilter(select=list(select) or None, ignore=list(ignore))
    require_known(settings, known(), "select and ignore")
    checked = _checked(manifest, cluster, overlays, parameters or {}, name, outcome=True)
    (result,) = linted([checked], cluster, chosen(settings))
    return result.with_only(settings.selected(result.diagnostics))


@dataclass(frozen=True, slots=True)
class Fixed:
    """A manifest's text after its fixes."""

    text: str
    fixed: Sequence[Diagnostic]
    """What was fixed."""
    remaining: Sequence[Diagnostic]
    """What is left to fix by hand."""

    def __repr__(self) -> str:
        return f"<Fixed: {len(self.fixed)} fixed, remaining: {severity_counts(self.remaining)}>"


def fix(text: str, *, cluster: Cluster | None = None, name: str = _NAME, unsafe: bool = False) -> Fixed:
    """Fix in a manifest's text what has one safe fix, as `jobspec lint --fix` does; comments, order and quotes stay.

    *unsafe*: make fixes that change what runs, too, as `--unsafe-fixes` does.
    """
    from jobspec.session.fixes import fix_texts

    def judge(texts: Mapping[str, str], paths: Collection[str]) -> dict[str, Sequence[Diagnostic]]:
        return {path: lint(texts[path], cluster=cluster, name=path).diagnostics for path in paths}

    def choose(_path: str, _text: str, found: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
        return [each for each in found if unsafe or each.has_safe_fix]

    fixed = fix_texts({name: text}, judge, choose)[name]
    return Fixed(fixed.text, fixed.done, lint(fixed.text, cluster=cluster, name=name).diagnostics)


@dataclass(frozen=True, slots=True)
class Expanded(_Result):
    """The objects that operators create for jobs."""

    objects: Sequence[dict[str, Any]]
    """Pods, Services, JobSets and so on, in the order of the jobs."""
    diagnostics: Sequence[Diagnostic]

    def __repr__(self) -> str:
        names = [f"{each['kind']} {each['metadata']['name']}" for each in self.objects]
        return f"<Expanded: {', '.join(names) or 'no objects'}; {severity_counts(self.diagnostics)}>"

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """The objects of a kind, such as Pod."""
        return [each for each in self.objects if each["kind"] == kind]


def expand(
    manifest: Manifest | Sequence[Manifest],
    *,
    cluster: Cluster | None = None,
    overlays: Sequence[Manifest] = (),
    parameters: Parameters | None = None,
    name: str = _NAME,
) -> Expanded:
    """The objects that the operators of the cluster's releases create for the jobs in a manifest, as `jobspec expand` shows them.

    Arguments and errors are those of `check`; there are no objects of a manifest with an error.
    """
    from jobspec.operators.expansion import expand as expanded
    from jobspec.operators.workloads import is_workload

    cluster = cluster or Cluster()
    checked = _checked(manifest, cluster, overlays, parameters or {}, name)
    objects: list[dict[str, Any]] = []
    found = list(checked.result.diagnostics)
    for job in filter(is_workload, checked.documents) if checked.result.valid else ():
        expansion = expanded(job, [*checked.documents, *cluster.lookups], cluster.target)
        objects += [each.data() for each in expansion.objects]
        found += expansion.diagnostics
    return Expanded(objects, found)


@dataclass(frozen=True, slots=True)
class Migrated:
    """A manifest after its migration."""

    text: str
    diagnostics: Sequence[Diagnostic]
    """What is lost (`migration-loss`), done otherwise (`migration-change`) or another value (`migration-note`)."""

    def __repr__(self) -> str:
        return _repr(self, self.text, self.diagnostics)

    @property
    def lossless(self) -> bool:
        """Whether nothing is lost, and every job was migrated."""
        return not any(each.rule == "migration-loss" or each.severity == "error" for each in self.diagnostics)


def migrate(text: str, *, cluster: Cluster | None = None, gang_scheduler: str = "", name: str = _NAME) -> Migrated:
    """Write a manifest with its jobs as TrainJobs, as `jobspec migrate --to TrainJob` does.

    A manifest with an error is left unchanged.
    """
    from jobspec.migrate.files import File, to_trainjobs

    cluster = cluster or Cluster()
    checked = _checked(text, cluster, (), {}, name)
    if not checked.result.valid:
        return Migrated(text, checked.result.diagnostics)
    (migrated,) = to_trainjobs([File(name, text, checked.documents)], cluster, gang_scheduler=gang_scheduler)
    return Migrated(migrated.text, migrated.diagnostics)


@dataclass(frozen=True, slots=True)
class RenderedTree(_Result):
    """What a project renders to."""

    files: Mapping[str, str]
    """The text of each file by its path from the project's folder; none where there is an error."""
    diagnostics: Sequence[Diagnostic]

    def __repr__(self) -> str:
        return f"<RenderedTree: {counted(len(self.files), 'file')}, {severity_counts(self.diagnostics)}>"


def render_project(path: str = "jobspec.yaml") -> RenderedTree:
    """Render a project as `jobspec render` does, without writing a file.

    Raises:
        JobspecError: the file cannot be read, or holds anything but a project.

    """
    from jobspec.session.options import Options

    _require_file(path, "path")
    return rendered_tree(path, Options())


def rendered_tree(path: str, options: Options) -> RenderedTree:
    """Return what a project renders to, read from the disk of some options."""
    from jobspec.session import project

    rendered = project.render_project(options, path, only=())
    found = [each for result in rendered.results for each in result.diagnostics]
    if not rendered.valid:
        return RenderedTree({}, found)
    here = os.path.dirname(path) or "."
    trees = [(os.path.relpath(tree.folder, here), tree.wanted({})) for tree in project.trees_of(rendered, ())]
    texts = {os.path.join(folder, name): content.decode() for folder, files in trees for name, content in files.items()}
    return RenderedTree(texts, found)


def diff(ref: str = "HEAD", project: str = "jobspec.yaml") -> Comparison:
    """What changes from a project at a Git ref to its working tree, as `jobspec diff` shows it.

    Raises:
        JobspecError: the ref or the project cannot be read, or one of both sides has an error.

    """
    from jobspec.session.comparing import compared
    from jobspec.session.options import Options

    _require_file(project, "project")
    return compared(Options(ref=ref, project=project)).comparison


def render(
    base: Manifest | Sequence[Manifest],
    *,
    overlays: Sequence[Manifest] = (),
    parameters: Parameters | None = None,
    cluster: Cluster | None = None,
    name: str = _NAME,
) -> Rendered:
    """Apply overlays to a base, check the result, and write it, as `jobspec render` does.

    Arguments and errors are those of `check`.
    """
    from jobspec.journey import rendering

    cluster = cluster or Cluster()
    rendered = rendering.rendered(
        [_checked(base, cluster, overlays, parameters or {}, name)], cluster.target, companions_once=bool(overlays)
    )
    (result,) = rendered.results
    text = rendering.text_of(rendered.documents, cluster.target) if result.valid else ""
    return Rendered(text, rendered.documents, result.diagnostics)


class CapturedJobs(Sequence["Model | dict[str, Any]"]):
    """What Kubernetes clients posted, in that order: a model of ours for kinds that have one, else the data."""

    def __init__(self, server: CaptureServer, cluster: Cluster) -> None:
        self._server = server
        self._cluster = cluster

    def __len__(self) -> int:
        return len(self.manifests)

    @overload
    def __getitem__(self, index: int) -> Model | dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[Model | dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> Model | dict[str, Any] | list[Model | dict[str, Any]]:
        from jobspec import models

        def model_of(data: dict[str, Any]) -> Model | dict[str, Any]:
            has_model = (data.get("apiVersion"), data.get("kind")) in MODELS
            made: Model | dict[str, Any] = getattr(models, data["kind"]).model_validate(data) if has_model else data
            return made

        found = self.manifests[index]
        return [model_of(each) for each in found] if isinstance(found, list) else model_of(found)

    @property
    def manifests(self) -> list[dict[str, Any]]:
        """The accepted objects as manifests: numbers are whole, and fields that a server sets are absent."""
        from jobspec.session.capturing import accepted

        return [each.data for each in accepted(self._server.posted)]

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """The findings of `jobspec lint` on all that was posted, at the lines that posted it."""
        from jobspec.session.capturing import results_of_captured

        return [each for result in results_of_captured(self._server.posted, self._cluster) for each in result.diagnostics]

    def __repr__(self) -> str:
        names = [f"{each['kind']} {each['metadata'].get('name')}" for each in self.manifests]
        return f"<CapturedJobs: {', '.join(names) or 'none'}>"


@contextmanager
def capture(*, cluster: Cluster | None = None, namespace: str = "default") -> Iterator[CapturedJobs]:
    """Capture what Kubernetes clients of this process post, as `jobspec capture` does.

    Nothing is sent to a cluster.

    A server on loopback serves the runtimes of *cluster*, refuses what that refuses, and answers reads as if jobs were created and
    complete. Until the end, connections to any other host or port raise ConnectionError. *namespace* is the clients' own.
    """
    from jobspec.captures.redirection import redirected
    from jobspec.captures.server import served
    from jobspec.session.capturing import server_for

    cluster = cluster or Cluster()
    server = server_for(cluster, namespace=namespace)
    with served(server, namespace=namespace) as (port, kubeconfig), redirected(port, kubeconfig):
        yield CapturedJobs(server, cluster)


def _require_file(path: str, argument: str) -> None:
    """Raise JobspecError where there is no file of a project's path, in the words of the API."""
    if not os.path.isfile(path):
        raise JobspecError(f"{path}: no such file; `{argument}` is the path of a project's file")


def _repr(result: object, text: str, diagnostics: Sequence[Diagnostic]) -> str:
    lines = text.count("\n")
    return f"<{type(result).__name__}: {counted(lines, 'line')} of YAML, {severity_counts(diagnostics)}>"


def _checked(
    manifest: Manifest | Sequence[Manifest],
    cluster: Cluster,
    overlays: Sequence[Manifest],
    parameters: Parameters,
    name: str,
    *,
    outcome: bool = False,
) -> Checked:
    manifests = apply(_manifests(manifest, name, cluster.target), _ready_overlays(overlays, parameters, cluster.target), cluster)
    return travel(Journey([LoadedFile(manifests)], cluster, outcome=outcome))[0]


def _manifests(manifest: Manifest | Sequence[Manifest], name: str, target: Target) -> Manifests:
    if isinstance(manifest, (str, bytes)):
        return read(Source(name, manifest), target)
    several = manifest if isinstance(manifest, (list, tuple)) else [manifest]
    documents = [document_of(each, name, index=index) for index, each in enumerate(several)]
    return Manifests(name, [item for document in documents for item in items_of(document)])


def _ready_overlays(overlays: Sequence[Manifest], parameters: Parameters, target: Target) -> list[LoadedOverlay]:
    """The overlays ready to be applied. Raises JobspecError with everything that is wrong with them and their parameters."""
    if not overlays and not parameters:
        return []
    from jobspec.diagnostics.wording import as_text
    from jobspec.overlays.load import ParameterValue, load

    given = [
        ParameterValue(overlay, name, as_text(value), f"parameters[{overlay!r}][{name!r}]")
        for overlay, values in parameters.items()
        for name, value in values.items()
    ]
    found, problems = load([_overlay_file(each, number) for number, each in enumerate(overlays)], given, target)
    if problems:
        raise JobspecError(lines_of(problems))
    return found


def _overlay_file(overlay: Manifest, number: int) -> OverlayFile:
    from jobspec.overlays.load import OverlayFile, shipped, shipped_file

    if isinstance(overlay, str) and "\n" not in overlay:
        if overlay not in shipped():
            raise JobspecError(f"no overlay `{overlay}`: jobspec ships {', '.join(shipped())}; give the text of your own")
        return shipped_file(overlay)
    name = f"overlays[{number}]"
    if isinstance(overlay, (str, bytes)):
        return OverlayFile(name, overlay.encode() if isinstance(overlay, str) else overlay, stem=name)
    return OverlayFile(name, document_of(overlay, name, layer=True), stem=name)
