"""The variants of a project: each combination of a matrix with its base, overlays and own layer."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, each_once, has_error
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.gitops.combinations import combinations_of
from jobspec.gitops.entries import overlays_of
from jobspec.gitops.history import History
from jobspec.gitops.layer import own_layer
from jobspec.gitops.matrix import filled_text, in_layer
from jobspec.gitops.naming import label_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from jobspec.gitops.combinations import Combination, SharedOverlays
    from jobspec.gitops.engines.declared import Engines
    from jobspec.gitops.matrix import Values
    from jobspec.gitops.project import Project
    from jobspec.gitops.sources import Base, Sources
    from jobspec.overlays.overlay import Overlay

_ENDS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_LONGEST = 200  # characters of a folder's name


class Variant:
    """One job to render: its base, and the overlays to apply, its own layer last."""

    __slots__ = ("base", "engines", "entry", "hashed", "history", "job_name", "name", "namespace", "overlays", "shared", "values")

    def __init__(
        self,
        name: str,
        base: Base,
        overlays: Sequence[Overlay],
        *,
        job_name: MarkedTree,
        namespace: MarkedTree | None,
        hashed: bool,
        entry: MarkedTree,
        values: Values,
        history: History | None,
        engines: Engines | None,
        shared: SharedOverlays | None,
    ) -> None:
        self.name = name
        """Its name, which is that of its folder, too."""
        self.base = base
        self.overlays = overlays
        self.shared = shared
        """The first of the overlays, where they are applied once for several variants of the base."""
        self.job_name = job_name
        """A DNS-1035 label of any length, marked where the project gives the name."""
        self.namespace = namespace
        """What is written into every object that has a namespace; None leaves them as they are."""
        self.hashed = hashed
        """Whether the job's name ends in a hash of its spec."""
        self.history = history
        """The earlier runs that stay; None where none do, and runs are not counted."""
        self.engines = engines
        """The engines whose annotations its objects carry."""
        self.entry = entry
        """What the project says of it, the defaults included; `${name}` stands for a value of the matrix."""
        self.values = values
        """The matrix's values of its combination."""

    def with_runs(self, files: Mapping[str, bytes]) -> Variant:
        """The same variant with the runs among the files of its folder, where earlier ones stay."""
        return self._changed(self.overlays, self.history.with_runs(files), self.shared) if self.history else self

    def with_overlays(self, overlays: Sequence[Overlay]) -> Variant:
        """The same variant with other overlays."""
        return self._changed(overlays, self.history, None)

    def _changed(self, overlays: Sequence[Overlay], history: History | None, shared: SharedOverlays | None) -> Variant:
        return Variant(
            self.name,
            self.base,
            overlays,
            job_name=self.job_name,
            namespace=self.namespace,
            hashed=self.hashed,
            entry=self.entry,
            values=self.values,
            history=history,
            engines=self.engines,
            shared=shared,
        )


class Variants:
    """Variants of a project in the order of its file, and everything that is wrong with what it says of them."""

    __slots__ = ("diagnostics", "variants")

    def __init__(self, variants: Sequence[Variant], diagnostics: Sequence[Diagnostic]) -> None:
        self.variants = variants
        self.diagnostics = diagnostics


def variants_of(project: Project, sources: Sources) -> Variants:
    """The variants of a project. With an error among the diagnostics, those at fault are missing."""
    found = combinations_of(project, sources)
    made = variants_from(found.combinations, project, sources)
    return Variants(made.variants, [*found.diagnostics, *made.diagnostics])


def variants_from(combinations: Sequence[Combination], project: Project, sources: Sources) -> Variants:
    """The variants of some combinations, and what is wrong with these."""
    made = [variant_of(each, project, sources) for each in combinations]
    wrong = each_once(problem for each in made if isinstance(each, list) for problem in each)
    return Variants([each for each in made if not isinstance(each, list)], wrong)


def variant_of(combination: Combination, project: Project, sources: Sources) -> Variant | list[Diagnostic]:
    """The variant of one combination, or what is wrong with it."""
    entry, values, name = combination.entry, combination.values, combination.name
    said_name, said_base, said_namespace = entry.get("name"), entry.get("base"), entry.get("namespace")
    assert said_name and said_base
    base = sources.base(filled_text(said_base, values))
    shared = combination.overlays
    overlays, problems = (
        (shared.overlays, shared.problems) if shared else overlays_of(items(entry.get("overlays")), values, project.spelled, sources)
    )
    layer, mistakes = own_layer(entry, values, name, project.spelled)
    said_job_name = entry.get("jobName") or said_name
    history = entry.get("history")
    job_name = filled_text(said_job_name, values, name)
    label = label_of(job_name.value)
    problems = [*base.diagnostics, *problems, *mistakes, *_wrong_names(name, said_name, label, said_job_name)]
    if has_error(problems):
        return problems
    return Variant(
        name,
        base,
        [*overlays, *([layer] if layer else [])],
        job_name=job_name.with_value(label),
        namespace=filled_text(said_namespace, values, name) if said_namespace else None,
        hashed=combination.hashed,
        history=History(MarkedTree(history.value, in_layer(history.mark, name), history.key))
        if history and combination.keeps_runs
        else None,
        engines=project.engines,
        entry=entry,
        values=values,
        shared=shared if shared and shared.has_one_base else None,
    )


def _wrong_names(name: str, place: MarkedTree, label: str, label_place: MarkedTree) -> Iterator[Diagnostic]:
    if len(name) > _LONGEST or not {name[:1], name[-1:]} <= _ENDS or set(name) - _ENDS - set("-_.") or name.endswith((".yaml", ".yml")):
        message = f"`{name}` cannot be the name of a folder on every machine"
        hint = f"write letters, digits, `-`, `_` and `.`, the first and last a letter or digit, {_LONGEST} at most, no `.yaml` at the end"
        yield Diagnostic("invalid-project", message, place.mark, hint=hint)
    if not label:
        yield Diagnostic("invalid-project", "no name of a job can be made of this", label_place.mark)
