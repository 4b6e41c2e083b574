"""The project as its file declares it: releases, output folder, defaults, variants and engines; and the files that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from jobspec.apis.kinds import MANIFEST_ENDINGS, GroupKind
from jobspec.apis.releases import CHOSEN, RELEASES, known_releases
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.errors import JobspecError
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, items, with_marks
from jobspec.journey import checking, reading
from jobspec.journey.checking import check
from jobspec.journey.steps import Source
from jobspec.kubernetes.problems import closest
from jobspec.operators.training_roles import job_among, overlaid_jobs
from jobspec.overlays.load import LoadedOverlay, OverlayFile, load, shipped, shipped_file
from jobspec.project.matrix import Spelling
from jobspec.world.world import Cluster

#: A file by its path from the project's folder, under the name that diagnostics show. Raises Unreadable.
ReadFile = Callable[[str], Source]


OUTPUT = "rendered"


class LoadedProject:
    """A project whose document is valid by its schema."""

    def __init__(self, document: Document, text: str) -> None:
        """*text* is what the document was read from."""
        spec = with_marks(document.data, document.marks).get("spec")
        assert spec
        self.spec = spec
        self.spelled = Spelling(text)
        output = field(spec, "output")
        self.output: str = output.value if output else OUTPUT
        """Path of the rendered tree, from the folder of the project's file."""
        self.output_place = (output or spec).place()
        self.defaults = field(spec, "defaults")
        self.entries = items(spec.get("variants"))
        """The variants as they are declared, each with its matrix."""
        engines = field(spec, "engines")
        self.engines = EngineSettings(engines) if engines else None
        """What syncs the rendered tree, None where the project says nothing of it."""

    @property
    def contracts(self) -> dict[str, MarkedTree]:
        """Return the paths of the contracts that the project declares, by image."""
        return dict((field(self.spec, "checks") or self.spec).entries("contracts"))

    @property
    def cluster(self) -> MarkedTree | None:
        """Return the path of the cluster that the variants meet. If there is none, return None."""
        return field(self.spec, "cluster")

    @property
    def asked_releases(self) -> dict[str, str]:
        """Return the releases that the project asks for, by operator."""
        target = field(self.spec, "target")
        return target.data() if target else {}

    def wrong_releases(self) -> Iterator[Diagnostic]:
        """Yield an error for each operator and release that jobspec does not know."""
        for operator, release in self.spec.entries("target"):
            if operator not in CHOSEN:
                hint = closest(operator, CHOSEN) or f"write one of {', '.join(CHOSEN)}"
                yield Diagnostic("unknown-release", f"unknown operator `{operator}`", release.key or release.mark, hint=hint)
            elif not known_releases(operator, release.value):
                message = f"jobspec does not know {operator} {release.value}"
                yield Diagnostic("unknown-release", message, release.mark, hint=f"the known releases are {', '.join(RELEASES[operator])}")


def field(tree: MarkedTree | None, name: str) -> MarkedTree | None:
    """Return the value of a field. If it is absent or null, return None."""
    child = tree.get(name) if tree else None
    return child if child and child.value is not None else None


# The bases and overlays that a project names, each read once for all variants.


class Unreadable(Exception):
    """The reason why a file of a project cannot be read, as the end of a sentence."""


def only_document(source: Source, kind: GroupKind, otherwise: str) -> Document | FileResult:
    """Return the document of a file that holds one of a kind, or the file's problems.

    Raises JobspecError with the words *otherwise* if the file holds anything else.
    """
    checked = checking.checked(source, (), Cluster())
    if not checked.result.valid:
        return checked.result
    if [each.group_kind for each in checked.documents] != [kind]:
        raise JobspecError(f"{source.name}: {otherwise}")
    return checked.documents[0]


@dataclass(frozen=True, slots=True)
class Base:
    """A base: its documents, and the problems of the base by itself."""

    file: str
    documents: Sequence[Document]
    diagnostics: Sequence[Diagnostic]

    def is_job(self, document: Document) -> bool:
        """True if a document is the job of the base, or what overlays and names make of it.

        Such a document is of the same kind.
        """
        job = job_among(self.documents)
        return job is not None and (document.api_version, document.kind) == (job.api_version, job.kind)


class Sources:
    """A reader of bases and overlays for a cluster.

    A problem is reported at the place where the project names the file, or in the file itself.
    """

    def __init__(self, read: ReadFile, cluster: Cluster, find: Callable[[str], Cluster] | None = None) -> None:
        """*find*: returns the cluster at a path that a variant names.

        Without it, all variants meet the one cluster.
        """
        self._find = find
        self._read = read
        self._cluster = cluster
        self._other = cache(lambda cluster: Sources(read, cluster))
        self._base, self._overlay = cache(self._read_base), cache(self._read_overlay)

    def of(self, cluster: str) -> Sources:
        """Return the sources for the cluster at the path that a variant names.

        If the path is empty, return these sources.
        """
        return self._other(self._find(cluster)) if cluster and self._find else self

    def base(self, path: MarkedTree) -> Base:
        """Read the base at a path."""
        found = self._base(path.value)
        if isinstance(found, Base):
            return found
        return Base(path.value, (), [Diagnostic("wrong-base", f"no base at `{path.value}`: {found}", path.mark)])

    def _read_base(self, path: str) -> Base | str:
        try:
            source = self._read(path)
        except Unreadable as error:
            return str(error)
        checked = check(reading.read(source, self._cluster.target), self._cluster.for_bases())
        jobs = overlaid_jobs(checked.documents)
        of_kind = [each for each in checked.documents if jobs and (each.api_version, each.kind) == (jobs[0].api_version, jobs[0].kind)]
        jobs = jobs if len(jobs) > 1 else of_kind
        if checked.result.valid and len(jobs) != 1:
            held = f"{len(jobs)}: {', '.join(f'{each.kind} `{each.name}`' for each in jobs)}" if jobs else "none"
            return f"a base must hold one training job; this file holds {held}"
        return Base(source.name, checked.documents, checked.result.diagnostics)

    def overlay(self, name: str, place: Mark) -> LoadedOverlay | list[Diagnostic]:
        """Read the overlay of a shipped name or at a path, without values of parameters."""
        found = self._overlay(name)
        if not isinstance(found, str):
            return found
        hint = "" if _is_path(name) else closest(name, shipped()) or f"jobspec ships {', '.join(shipped())}; your own is given by its path"
        return [Diagnostic("unknown-overlay", found, place, hint=hint)]

    def _read_overlay(self, name: str) -> LoadedOverlay | list[Diagnostic] | str:
        if not _is_path(name) and name not in shipped():
            return f"no overlay `{name}`"
        try:
            file = _overlay_in(self._read(name)) if _is_path(name) else shipped_file(name)
        except Unreadable as error:
            return f"no overlay at `{name}`: {error}"
        try:
            loaded, problems = load([file], [], self._cluster.target)
        except JobspecError as error:
            return str(error)
        problems = [each for each in problems if each.rule != "missing-parameter"]
        return problems or loaded[0]


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith(MANIFEST_ENDINGS)


def _overlay_in(source: Source) -> OverlayFile:
    content = source.content
    return OverlayFile(source.name, content if isinstance(content, bytes) else content.encode())


# The engines that a project declares, with what it leaves out filled in, and what is wrong with them.


ENGINES_OUTPUT = "engines"
_IN_CLUSTER = "https://kubernetes.default.svc"
_OCI = "oci://"
_SCHEMES = ("https://", "ssh://", "http://", _OCI)
_LONGEST = 63  # characters of a name, so that names which are made of it have room
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
#: The fields that select a revision, by kind of repository; a commit may be given with its branch.
_GIT = ("branch", "tag", "semver", "name", "commit")
_ARTIFACTS = ("tag", "semver", "digest")


class Engine:
    """The settings of one engine in a project."""

    def __init__(self, tree: MarkedTree, url: str, namespace: str) -> None:
        self._tree = tree
        self.mark: Mark = tree.place()
        """Where the project names the engine."""
        place = tree.get(url)
        assert place
        self.url: str = place.value
        """The URL of the repository that holds the rendered tree."""
        self.path = self.text("path")
        """The path of the rendered tree in it; empty where the project's own repository is meant."""
        self.name = self.text("name") or _repository_of(self.url)
        self.namespace = self.text("namespace", namespace)
        """The namespace of the engine's objects."""

    def text(self, field: str, default: str = "") -> str:
        """Return the string of a field, or its default."""
        said = self._tree.get(field)
        return said.value if said and said.value is not None else default

    def flag(self, field: str) -> bool | None:
        """Return the boolean of a field. If it is left out, return None."""
        said = self._tree.get(field)
        return said.value if said else None

    def place(self, *path: str) -> Mark:
        """Return the place of a field. If the field is left out, return the place of the engine."""
        said = self._tree.get(*path)
        return said.place() if said else self.mark

    def mistake(self, message: str, *path: str, hint: str) -> Diagnostic:
        """Return an error in a field."""
        return Diagnostic("invalid-project", message, self.place(*path), hint=hint)

    def mapping(self, field: str) -> Mapping[str, str]:
        """Return the strings of a mapping. If it is left out, return an empty one."""
        return {name: value.value for name, value in self._tree.entries(field) if value.value is not None}


class ArgoCDSettings(Engine):
    """The settings for Argo CD in a project."""

    def __init__(self, tree: MarkedTree) -> None:
        super().__init__(tree, "repoURL", "argocd")
        self.project = self.text("project", self.name)
        self.revision = self.text("revision", "HEAD")
        self.server = self.text("server", _IN_CLUSTER)
        self.syncs_here = self.server == _IN_CLUSTER
        """Whether it syncs to the cluster that it runs in."""


class FluxSettings(Engine):
    """The settings for Flux in a project."""

    def __init__(self, tree: MarkedTree) -> None:
        super().__init__(tree, "url", "flux-system")
        self.is_git = not self.url.startswith(_OCI)
        """Whether the tree is in a Git repository, and not in an OCI artifact."""
        self.reference = self.mapping("ref") or ({"branch": "main"} if self.is_git else {"tag": "latest"})


class EngineSettings:
    """The engines of a project."""

    def __init__(self, tree: MarkedTree) -> None:
        argocd, flux, output = (field(tree, name) for name in ("argocd", "flux", "output"))
        self.argocd = ArgoCDSettings(argocd) if argocd else None
        self.flux = FluxSettings(flux) if flux else None
        self.output: str = output.value if output else ENGINES_OUTPUT
        """Path of the folder of their objects, from the folder of the project's file."""
        self.output_place = (output or tree).place()

    def mistakes(self) -> Iterator[Diagnostic]:
        """Yield the errors in the settings of the engines."""
        for engine in (self.argocd, self.flux):
            if engine:
                yield from _wrong_names(engine)
                yield from _wrong_path(engine)
        if self.argocd:
            yield from _wrong_argocd(self.argocd)
        if self.flux:
            yield from _wrong_flux(self.flux)


def _repository_of(url: str) -> str:
    """Make a name of objects from a repository: `https://git.example/ml/Jobs.git` gives `jobs`."""
    last = url.rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/")[2].lower()
    return "".join(each if each in _LETTERS else "-" for each in last).strip("-")[:_LONGEST].rstrip("-") or "jobs"


def _wrong_names(engine: Engine) -> Iterator[Diagnostic]:
    for field in ("name", "namespace", "project"):
        name = engine.text(field)
        if name and (len(name) > _LONGEST or not {name[0], name[-1]} <= _LETTERS or set(name) - _LETTERS - {"-"}):
            message = f"`{name}` cannot be the name of an object"
            hint = f"write lower-case letters, digits and `-`, the first and last a letter or digit, {_LONGEST} at most"
            yield engine.mistake(message, field, hint=hint)


def _wrong_path(engine: Engine) -> Iterator[Diagnostic]:
    if engine.path.startswith("/") or ".." in engine.path.split("/"):
        hint = "write it from the repository's root, such as `rendered`"
        yield engine.mistake(f"`{engine.path}` is not a path inside of the repository", "path", hint=hint)


def _wrong_argocd(argocd: ArgoCDSettings) -> Iterator[Diagnostic]:
    if argocd.url.startswith(_OCI) or " " in argocd.url:
        message = f"`{argocd.url}` is not a URL of a Git repository"
        yield argocd.mistake(message, "repoURL", hint="write one as `git clone` takes it")
    if argocd.flag("selfHeal") and not argocd.flag("autosync"):
        yield argocd.mistake("`selfHeal` has no effect without `autosync`", "selfHeal", hint="add `autosync: true`")
    if argocd.flag("plugin") and not argocd.text("pluginImage"):
        message = "the plugin needs `pluginImage`, an image with `jobspec` in it"
        yield argocd.mistake(message, "plugin", hint="the guide `Argo CD and Flux` shows how to build one")
    if argocd.flag("plugin") and argocd.flag("applicationSet"):
        message = "an ApplicationSet is made of the folders of a committed tree, and with `plugin` there is none"
        yield argocd.mistake(message, "applicationSet", hint="leave one of the two out")


def _wrong_flux(flux: FluxSettings) -> Iterator[Diagnostic]:
    if not flux.url.startswith(_SCHEMES):
        message = f"Flux does not accept the repository URL `{flux.url}`"
        user, colon, path = flux.url.partition(":")
        is_scp = colon and "/" not in user and not path.startswith("//")
        hint = f"write `ssh://{user}/{path}`" if is_scp else f"it starts with {', '.join(_SCHEMES[:-1])} or {_SCHEMES[-1]}"
        yield flux.mistake(message, "url", hint=hint)
    allowed = _GIT if flux.is_git else _ARTIFACTS
    said = flux.mapping("ref")
    for name in said:
        if name not in allowed:
            message = f"{'a Git repository' if flux.is_git else 'an OCI artifact'} has no `{name}`"
            yield flux.mistake(message, "ref", name, hint=f"write one of {', '.join(allowed)}")
    if len(said) > 1 and said.keys() != {"branch", "commit"} and said.keys() <= set(allowed):
        message = f"{' and '.join(said)} each name what is synced, and Flux accepts only one of them"
        yield flux.mistake(message, "ref", hint="keep one; only a commit can be combined with its branch")
