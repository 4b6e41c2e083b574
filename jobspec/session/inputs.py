"""What commands are given: files, overlays, custom kinds, and the cluster that manifests meet."""

from __future__ import annotations

import os

from jobspec.apis.kinds import MANIFEST_ENDINGS, PROJECT, PROJECT_FILE, UNKNOWN
from jobspec.apis.releases import complete, is_later, parse_targets, reported
from jobspec.diagnostics.coverage import is_job_of_others
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.record import Record
from jobspec.diagnostics.results import FileResult
from jobspec.documents.decoding import decode
from jobspec.documents.document import Document, without_wrapped
from jobspec.documents.reader import read
from jobspec.operators.workloads import OVERLAID_KINDS, is_workload, may_take_overlays
from jobspec.session.folders import folders_above, holds_repository
from jobspec.session.found import Found
from jobspec.session.reading import content_of
from jobspec.world.world import Cluster

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobspec.apis.releases import Target
    from jobspec.diagnostics.diagnostic import Severity
    from jobspec.diagnostics.results import DocumentResult
    from jobspec.kubernetes.custom_kinds import CustomKinds, UnreadFile
    from jobspec.lint.ignores import ReportFilter
    from jobspec.overlays.load import LoadedOverlay, OverlayFile, ParameterValue
    from jobspec.session.disk import Disk
    from jobspec.session.options import Options
    from jobspec.session.pinned import PinnedCluster


class RunContext(Record):
    """A cluster and overlays to check the files of a run with, or what is wrong with those."""

    cluster: Cluster
    overlays: Sequence[LoadedOverlay]
    wrong: Sequence[FileResult]
    """The results of CRDs' and overlays' files that have an error; with one, nothing is checked."""
    remarks: Sequence[FileResult]
    """Results about the command line itself, which the report begins with."""
    crds: Sequence[Document]
    """The CRDs of the cluster's custom kinds, where a server is to get them."""
    values: Mapping[str, str] | None = None
    """Values for placeholders; None where none are given."""

    def with_cluster(self, cluster: Cluster) -> RunContext:
        """The same, with another cluster."""
        return self.changed(cluster=cluster)


def load_run_context(options: Options, *, for_server: bool = False) -> RunContext:
    """Read the CRDs and overlays of a command line.

    *for_server*: the CRDs are to be stored on a server, so that all CRDs of a folder are read. Raises JobspecError for what is not there
    and for unknown releases.
    """
    pinned = pinned_cluster(options)
    asked = {**(pinned.releases if pinned else {}), **parse_targets(options.target)}
    known = {each: release for each, release in asked.items() if not (options.crd and is_later(each, release))}
    target = complete(known, options=True)
    crds, wrong = _crds(options, target, pinned.crds if pinned else (), for_server=for_server)
    wrong += pinned.wrong if pinned else ()
    overlays, problems = load_overlays(options.overlay, options.set, target) if options.overlay or options.set else ([], [])
    kinds = _custom_kinds(crds, options.schema_location) if not wrong else None
    cluster = Cluster(
        target if wrong else asked,
        custom_kinds=kinds,
        objects=pinned.objects if pinned else (),
        webhooks=options.admission,
        closed=options.closed_world,
        complete=pinned.complete if pinned else UNKNOWN,
        installed=pinned.installed if pinned else None,
    )
    remarks = [_remark(operator, cluster) for operator in cluster.later]
    documents = [each for each in crds if isinstance(each, Document)]
    wrong += by_file(problems) if problems else []
    values = _placeholder_values(options) if options.substitute or options.set_env else None
    return RunContext(cluster, overlays, wrong, remarks, documents, values)


def pinned_cluster(options: Options) -> PinnedCluster | None:
    """Return the cluster of a command line.

    If the command line names none, return None. Raises JobspecError if the file of the cluster cannot be read or holds anything else.
    """
    if options.cluster is None and options.pinned is None:
        return None
    from jobspec.journey.steps import Source
    from jobspec.session.pinned import read_cluster

    path = options.cluster or ""
    return read_cluster(options.pinned or Source(path, content_of(Found(path, named=True, disk=options.disk))))


def _placeholder_values(options: Options) -> dict[str, str]:
    """The values for placeholders of `--set-env` and, before these, of `--substitute`."""
    from jobspec.repository.substitution import read_env

    found: dict[str, str] = {}
    for path in options.set_env:
        try:
            with open(path, encoding="utf-8") as file:
                found |= read_env(file.read(), path)
        except (OSError, UnicodeDecodeError) as error:
            raise JobspecError(f"--set-env {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
    for text in options.substitute:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise JobspecError(f"--substitute {text}: write NAME=VALUE")
        found[name] = value
    return found


def _remark(operator: str, cluster: Cluster) -> FileResult:
    """A warning about a release that came after all known ones."""
    option = f"--target {operator}={cluster.later[operator]}"
    known = reported(cluster.target)[operator]
    message = f"newer than this jobspec: kinds are checked by the CRDs of --crd, webhooks by the rules of {known}"
    return FileResult(option, [], [Diagnostic("later-release", message, Mark(option), severity="warning")])


def settings_of(options: Options) -> ReportFilter | None:
    """Return the filter of what is to be reported.

    If neither an option nor a settings file says anything of reporting, return None.
    """
    given = (options.select, options.ignore, options.fail_on, options.baseline, options.contract)
    if (
        not any(given)
        and options.baseline is None
        and not any(_has_settings(each, options.disk) for each in (os.curdir, *folders_above(os.curdir, options.disk.root)))
    ):
        return None
    from jobspec.session import choosing

    return choosing.settings_of(options)


def _has_settings(folder: str, disk: Disk) -> bool:
    """Whether a folder seems to have settings of the checks, in its project or its `pyproject.toml`."""
    python = os.path.join(folder, "pyproject.toml")
    mentions = disk.mentions
    in_python = mentions(python, b"tool.jobspec") or (mentions(python, b"[tool]") and mentions(python, b"jobspec"))
    return in_python or mentions(os.path.join(folder, PROJECT_FILE), b"checks:")


def _crds(
    options: Options, target: Target, pinned: Sequence[str], *, for_server: bool
) -> tuple[Sequence[Document | UnreadFile], list[FileResult]]:
    paths = [*options.crd, *kept_schemas(options.disk.root), *pinned]
    if not paths:
        return [], []
    from jobspec.session.crds import find_crds, read_crds

    crds, wrong = (read_crds if for_server else find_crds)(paths, target, options.disk)
    return crds, [FileResult(file, [], problems) for file, problems in wrong.items()]


KEPT_SCHEMAS = os.path.join(".jobspec", "schemas")


def kept_schemas(within: str = "") -> list[str]:
    """Return the folder of the CRDs that the repository around the working folder keeps.

    If the repository keeps none, return an empty list. *within*: as in `repository_root`.
    """
    here = ""
    while True:
        path = os.path.join(here, KEPT_SCHEMAS)
        if os.path.isdir(path):
            return [path]
        if holds_repository(here) or os.path.realpath(here or os.curdir) in (os.sep, within):
            return []
        here = os.path.join(here, os.pardir)


def _custom_kinds(crds: Sequence[Document | UnreadFile], schema_locations: Sequence[str]) -> CustomKinds | None:
    if not crds and not schema_locations:
        return None
    from jobspec.kubernetes.custom_kinds import CustomKinds

    if not schema_locations:
        return CustomKinds(crds)
    from jobspec.session.json_schemas import JSONSchemas

    return CustomKinds(crds, JSONSchemas(schema_locations))


def by_file(problems: Sequence[Diagnostic]) -> list[FileResult]:
    """The results of the files that have problems."""
    files = dict.fromkeys(each.mark.file for each in problems)
    return [FileResult(file, [], [each for each in problems if each.mark.file == file]) for file in files]


def require_workload(overlays: Sequence[LoadedOverlay], results: Sequence[FileResult]) -> list[FileResult]:
    """Add an error to the first result if overlays are given and no file has a training job."""
    if not overlays or not all(each.valid for each in results):
        return list(results)
    rows = [document for each in results for document in each.documents]
    own = [document for each in results for document in without_wrapped(each.documents)]
    if any(map(may_take_overlays, own)):
        return list(results)
    if wrapped := next((each for each in rows if may_take_overlays(each)), None):
        message = f"no training job to apply `{overlays[0].name}` to: the {wrapped.kind} is inside another object"
        found = Diagnostic("no-workload", message, Mark(results[0].path), hint="patch the object around it, with kustomize for example")
        return [results[0].with_diagnostics([found]), *results[1:]]
    return [results[0].with_diagnostics([no_workload(overlays, results[0].path, "error", rows)]), *results[1:]]


def no_workload(
    overlays: Sequence[LoadedOverlay], path: str, severity: Severity, there: Iterable[Document | DocumentResult] = ()
) -> Diagnostic:
    """Return the diagnostic of a file without a training job to apply overlays to.

    *there*: what the file holds.
    """
    message = f"no training job to apply `{overlays[0].name}` to"
    others = dict.fromkeys(each.kind for each in there if is_workload(each) or is_job_of_others(each.api_version, each.kind))
    patch = f"; overlays do not know which pods of a {next(iter(others))} train: patch it with kustomize" if others else ""
    hint = f"the kinds are {', '.join(dict.fromkeys(kind for _, kind in OVERLAID_KINDS))}{patch}"
    return Diagnostic("no-workload", message, Mark(path), severity=severity, hint=hint)


def load_overlays(names: Sequence[str], sets: Sequence[str], target: Target) -> tuple[list[LoadedOverlay], list[Diagnostic]]:
    """The overlays with these names or paths, in order, each once, with the values of `--set`, and the problems of both.

    Raises JobspecError for a name that is no overlay and for a `--set` that fits none.
    """
    from jobspec.overlays.load import load

    return load([overlay_file(name) for name in dict.fromkeys(names)], [parameter_value(text) for text in sets], target)


def overlay_file(name: str) -> OverlayFile:
    """The overlay of a shipped name, or in the file at a path."""
    from jobspec.overlays.load import OverlayFile, shipped, shipped_file

    if os.sep in name or name.endswith(MANIFEST_ENDINGS):
        if not os.path.isfile(name):
            raise JobspecError(f"no overlay at {name}: there is no such file")
        return OverlayFile(name, content_of(Found(name, named=True)))
    known = shipped()
    if name in known:
        return shipped_file(name)
    from jobspec.kubernetes.problems import closest

    hint = closest(name, known)
    raise JobspecError(f"no overlay `{name}`: {f'{hint} ' if hint else ''}jobspec ships {', '.join(known)}; your own is given by its path")


def parameter_value(text: str) -> ParameterValue:
    """The value in the text of a `--set`, `OVERLAY.NAME=VALUE`."""
    from jobspec.overlays.load import ParameterValue

    place, equals, value = text.partition("=")
    overlay, dot, name = place.rpartition(".")
    if not equals or not dot or not overlay or not name:
        raise JobspecError(f"--set {text}: write OVERLAY.NAME=VALUE")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise JobspecError(f"--set {place}: the value is not UTF-8")
    return ParameterValue(overlay, name, value, f"--set {text}")


def project_among(paths: Sequence[str]) -> str | None:
    """Return the path of the project that a command line means.

    That is the only path, or without a path the project of the working folder. For other paths, return None. Raises JobspecError without a
    path and without a project in the working folder.
    """
    if not paths:
        if os.path.lexists(PROJECT_FILE) and not os.path.isfile(PROJECT_FILE):
            raise JobspecError(f"{PROJECT_FILE} in the working folder is not a file that can be read")
        if not os.path.isfile(PROJECT_FILE):
            raise JobspecError(f"give the PATH of manifests to render: there is no {PROJECT_FILE} in the working folder")
        return PROJECT_FILE
    if len(paths) > 1 or not os.path.isfile(paths[0]):
        return None
    content = content_of(Found(paths[0], named=True))
    if b"jobspec.dev/" not in content or b"Project" not in content:
        return None
    text = decode(content, paths[0])
    documents = read(text, file=paths[0])[0] if isinstance(text, str) else []
    return paths[0] if any(each.group_kind == PROJECT for each in documents) else None
