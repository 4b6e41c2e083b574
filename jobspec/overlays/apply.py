"""Apply overlays to the training jobs among a file's documents.

The laws, each a property test: applying nothing changes nothing; `[a, b]` at once equals `a`, then `b`; twice equals once;
overlays that do not conflict commute.
"""

from __future__ import annotations

from functools import cached_property

from jobspec.apis.kinds import PERSISTENT_VOLUME_CLAIM, group_kind, is_cluster_scoped
from jobspec.diagnostics.causes import deduplicated
from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Key, Path, spell, value_at
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.documents.marked_tree import MarkedTree, as_document, items, tree_at, with_marks
from jobspec.operators.trainer.runtimes import nodes_of, runtime_of
from jobspec.operators.training_roles import overlaid_jobs, roles_for_overlays
from jobspec.operators.workloads import TrainingRole
from jobspec.overlays.flags import set_flags
from jobspec.overlays.load import TRAINING, LoadedOverlay, Substitution
from jobspec.overlays.merge import APPEND, EntryMerge, OverlayValue, conflict, conflicting, settings_of, settings_of_flags, wrong_removals
from jobspec.schemas import shapes
from jobspec.schemas.shapes import Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from dataclasses import KW_ONLY
    from typing import Any

    from jobspec.apis.releases import Target
    from jobspec.overlays.trainjob import TrainJobPods

    #: Gives the settings of a patch.
    LateSettings = Callable[[], Iterator[OverlayValue]]


class Applied:
    """The result of overlays on documents."""

    __slots__ = ("_base", "_jobs", "_overlays", "_target", "_there", "diagnostics", "documents")

    def __init__(
        self,
        base: Sequence[Document],
        jobs: Sequence[OverlaidJob],
        overlays: Sequence[LoadedOverlay],
        target: Target,
        there: Sequence[Document],
    ) -> None:
        self._there = there
        self._base = base
        self._jobs = jobs
        self._overlays = overlays
        self._target = target
        results = {id(job.document): job.result for job in jobs}
        self.documents = [results.get(id(document), document) for document in base]
        """The documents in the file's order, then companions."""
        problems = [*_exclusions(overlays), *(problem for job in jobs for problem in job.problems)]
        if jobs:
            added, found = companions(overlays, _namespaces(jobs))
            problems += [*found, *unshared_volumes(jobs, self.documents, added)]
            first = self.documents[-1].index + 1
            self.documents += [as_document(each, self.documents[0], index=index) for index, each in enumerate(added, first)]
        self.diagnostics = deduplicated(problems)
        """Everything that is wrong with the overlays on these documents; with an error among it, the documents are of no use."""

    def with_overlay(self, overlay: LoadedOverlay) -> Applied:
        """Return the result with one more overlay.

        If the overlay can change the pods or the runtime, all overlays are applied again.
        """
        overlays = [*self._overlays, overlay]
        if not self._jobs or any(changes_pod_set(overlay, job.document.kind) for job in self._jobs):
            return apply(self._base, overlays, self._target, self._there)
        return Applied(self._base, [job.with_overlay(overlay) for job in self._jobs], overlays, self._target, self._there)


def apply(documents: Sequence[Document], overlays: Sequence[LoadedOverlay], target: Target, there: Sequence[Document] = ()) -> Applied:
    """Apply overlays, in order, to every training job among the documents.

    *there*: further runtimes that the jobs may use.
    """
    context = [*documents, *there]
    jobs = [overlaid(each, context, overlays, target) for each in (overlaid_jobs(documents) if overlays else ())]
    return Applied(documents, jobs, overlays, target, there)


def _exclusions(overlays: Sequence[LoadedOverlay]) -> Iterator[Diagnostic]:
    """An error for each pair of overlays of which one names the other in `conflicts`."""
    for number, overlay in enumerate(overlays):
        for other in overlays[:number]:
            pairs = ((overlay, other), (other, overlay))
            named = [name for one, another in pairs for name in one.conflicts() if name.value == another.name]
            if named and overlay.name != other.name:
                message = f"`{overlay.name}` and `{other.name}` are mutually exclusive"
                yield Diagnostic("overlay-conflict", message, named[0].mark, hint="apply one of them only")


def _namespaces(jobs: Sequence[OverlaidJob]) -> list[MarkedTree | None]:
    """The different namespaces of the jobs; None for jobs without one."""
    found: dict[str, MarkedTree | None] = {}
    for job in jobs:
        found.setdefault(job.result.namespace, job.tree.get("metadata", "namespace"))
    return list(found.values())


# Apply one overlay to one job.


class Application:
    """The application of one overlay to one job.

    It changes the job's tree, and collects settings, volumes and problems.
    """

    __slots__ = ("_set", "document", "overlay", "pods", "problems", "shape", "target", "volumes")

    def __init__(
        self,
        document: Document,
        shape: Shape,
        overlay: LoadedOverlay,
        problems: list[Diagnostic],
        target: Target,
        pods: TrainJobPods | None = None,
    ) -> None:
        self.document = document
        self.shape = shape
        self.target = target
        self.overlay = overlay
        self.pods = pods
        self.problems = problems
        """The problems of the job's applications so far; this one adds its own."""
        self._set: list[LateSettings] = []
        self.volumes: list[MarkedTree] = []

    @property
    def settings(self) -> list[OverlayValue]:
        """Return the values that the overlay sets and removes. Only conflicts need them."""
        return _all(self._set)

    def changed_job(self, job: MarkedTree) -> MarkedTree:
        """Return the job with the overlay's partial manifest for its kind merged into it."""
        partial = self.overlay.spec.get("job", self.document.kind)
        patch = self._substituted(partial) if partial else None
        return self._merged(job, patch, (), entry=-1) if patch else job

    def changed_pods(self, job: MarkedTree, roles: list[TrainingRole]) -> MarkedTree:
        """Merge the overlay's entries for training pods into the pod templates of the job's *roles*."""
        entries = items(self.overlay.spec.get("pods"))
        if not entries:
            return job
        roles = [role for role in roles if not role.path or tree_at(job, role.path)]  # the overlay can remove a role itself
        by_entry: list[tuple[MarkedTree | None, list[LateSettings]]] = []
        for number, entry in enumerate(entries):
            wanted = entry.get("roles")
            chosen = [role for role in roles if role.matches(wanted.data() if wanted else ())]
            if not chosen:
                self._report_missing_role(entry, wanted, roles)
            already = len(self._set)
            has_program = not all(role.why_no_flags for role in chosen)
            for role in chosen:
                job = self._changed_pod(job, role, entry, number, takes_flags=not role.why_no_flags or not has_program)
            by_entry.append((wanted, self._set[already:]))
        if self.pods:
            self._report_differing_roles(by_entry)
        return job

    def _changed_pod(self, job: MarkedTree, role: TrainingRole, entry: MarkedTree, number: int, *, takes_flags: bool) -> MarkedTree:
        """Merge an entry into the pod template of a role. *takes_flags*: set the flags in it, or say why that cannot be."""
        substituted = self._substituted(entry, role.container)
        if substituted and self.pods:
            return self._changed_nodes(job, self.pods, substituted, entry.get("roles"), number)
        template, flags = (substituted.get("template"), substituted.get("flags")) if substituted else (None, None)
        if template:
            if len(role.also) > 1:
                self._keep_volumes(template, entry.get("roles"))
            job = self._merged(job, template, role.path, entry=number, shape=self._template_shape(role.path))
        return self._with_flags(job, flags, role, number) if flags and takes_flags else job

    def _template_shape(self, path: Path) -> Shape | None:
        """The shape of the pod template at a path. If that of the job's kind has no merge keys, it is the one of all pods."""
        own = self.shape.at(path)
        containers = own.at(("spec", "containers")) if own else None
        return own if containers and containers.merge else shapes.part("v1", "PodTemplate", self.target, ("template",))

    def _changed_nodes(self, job: MarkedTree, pods: TrainJobPods, entry: MarkedTree, roles: MarkedTree | None, number: int) -> MarkedTree:
        """The TrainJob with an entry merged into it; its pod templates are those of its runtime."""
        from jobspec.overlays.runtime import keep_runtime_values, set_trainer_flags

        template, flags = entry.get("template"), entry.get("flags")
        wrong = list(wrong_removals(template, pods.template_shape, ())) if template else []
        self.problems.extend(wrong)
        if template and not wrong:
            self._keep_volumes(template, roles)
            job = keep_runtime_values(job, template, pods, overlay=self.overlay.name, entry=number)
            everything, patch = pods.translate(template, job)
            job = self._merged(job, patch, (), entry=number, everything=everything)
        if flags:
            job = set_trainer_flags(job, flags, pods, overlay=self.overlay.name, entry=number)
            self._set.append(lambda: settings_of_flags(flags, ("spec", "trainer")))
        return job

    def _keep_volumes(self, template: MarkedTree, roles: MarkedTree | None) -> None:
        """Keep the volumes of an entry for one role, where every pod has them."""
        if roles and len(set(roles.data())) == 1:
            volumes = template.get("spec", "volumes")
            self.volumes.extend(items(volumes and volumes.get(APPEND)) or items(volumes))

    def _merged(
        self,
        job: MarkedTree,
        patch: MarkedTree,
        path: Path,
        *,
        entry: int,
        everything: MarkedTree | None = None,
        shape: Shape | None = None,
    ) -> MarkedTree:
        """Merge a patch into the job.

        *everything*: the patch with also the settings that the job has already. *shape*: that of the value at the path, if not the one
        of the job's kind.
        """
        shape = shape or self.shape.at(path)
        wrong = list(wrong_removals(patch, shape, path))
        if wrong:
            self.problems.extend(wrong)
            return job
        merge = EntryMerge(self.overlay.name, entry)
        changed = job.replace_at(path, lambda base: merge(base, patch, shape, path))
        self.problems.extend(merge.problems)
        self._set.append(lambda: settings_of(everything or patch, shape, path))
        return changed

    def _with_flags(self, job: MarkedTree, flags: MarkedTree, role: TrainingRole, number: int) -> MarkedTree:
        if role.why_no_flags:
            message = f"`{self.overlay.name}` cannot set flags in pods of {role.name}: {role.why_no_flags}"
            self.problems.append(Diagnostic("not-expressible", message, flags.place()))
            return job
        path = (*role.path, "spec", "containers")
        containers = items(tree_at(job, path))
        for index, container in enumerate(containers):
            name = container.get("name")
            if name and name.value == role.container:
                containers[index], found = set_flags(container, flags, (*path, index), overlay=self.overlay.name, entry=number)
                self.problems.extend(found)
                self._set.append(lambda: settings_of_flags(flags, (*path, Key(role.container))))
                return job.replace_at(path, lambda tree: tree.with_value(containers))
        if all(problem.rule != "missing-container" for problem in self.problems):  # else the same mistake is reported already
            message = f"the {role.name} has no container `{role.container}`, the one that trains"
            self.problems.append(Diagnostic("missing-container", message, flags.place()))
        return job

    def _substituted(self, tree: MarkedTree, container: str = "") -> MarkedTree | None:
        """Substitute the overlay's parameters, and the *container* that trains, in the tree.

        If nothing of the tree is left, return None.
        """
        substitution = Substitution({**self.overlay.values, TRAINING: container})
        result = substitution(tree)
        self.problems.extend(substitution.problems)
        return result

    def _report_differing_roles(self, by_entry: list[tuple[MarkedTree | None, list[LateSettings]]]) -> None:
        """Report settings for one role that conflict with settings for another role.

        A TrainJob has one kind of pod for both.
        """
        for number, (roles, later) in enumerate(by_entry):
            for others, earlier in by_entry[:number]:
                if (roles and sorted(roles.data())) != (others and sorted(others.data())):
                    self.problems.extend(self._differing_roles(*pair) for pair in conflicting(_all(earlier), _all(later)))

    def _differing_roles(self, other: OverlayValue, setting: OverlayValue) -> Diagnostic:
        message = f"`{self.overlay.name}` makes different changes to roles (see {other.mark}): a TrainJob has only one kind of pod"
        hint = "make the change to all pods, or remove the overlay"
        return Diagnostic("not-expressible", message, setting.mark, field=spell(setting.address), hint=hint)

    def _report_missing_role(self, entry: MarkedTree, wanted: MarkedTree | None, roles: list[TrainingRole]) -> None:
        names = ", ".join(wanted.data()) if wanted else "any role"
        known = " and ".join(role.name for role in roles) or "none"
        message = f"`{self.overlay.name}` changes pods of {names}, and the job {self.document.name} has pods of {known} only"
        place = wanted.place() if wanted else entry.place()
        hint = "add the role to the job, or remove the overlay"
        self.problems.append(Diagnostic("missing-role", message, place, hint=hint))


def _all(settings: list[LateSettings]) -> list[OverlayValue]:
    return [each for values in settings for each in values()]


# Apply overlays to one job.


class OverlaidJob(Record):
    """A job with overlays applied, one after the other."""

    document: Document
    """The base."""
    tree: MarkedTree
    shape: Shape
    target: Target
    roles: list[TrainingRole]
    """The roles of the job with the partial jobs of all overlays."""
    pods: TrainJobPods | None
    """Of a TrainJob: its pods; None for other kinds."""
    _: KW_ONLY
    found: Sequence[Diagnostic]
    """What is wrong with its overlays, but for what is wrong with its pods."""
    applications: Sequence[Application] = ()

    @cached_property
    def result(self) -> Document:
        """Return the job with the overlays."""
        return as_document(self.tree, self.document)

    def with_overlay(self, overlay: LoadedOverlay) -> OverlaidJob:
        """Return the job with one more overlay. The overlay must bring no unknown role."""
        found = list(self.found)
        pods = self.pods and self.pods.with_own_problems()
        application = Application(self.document, self.shape, overlay, found, self.target, pods)
        tree = application.changed_pods(application.changed_job(self.tree), self.roles)
        found += [] if overlay.override else _conflicts(self.applications, application)
        applications = [*self.applications, application]
        return OverlaidJob(self.document, tree, self.shape, self.target, self.roles, pods, found=found, applications=applications)

    @property
    def problems(self) -> list[Diagnostic]:
        """Return the problems of the overlays on this job."""
        return [*self.found, *(self.pods.problems if self.pods else ())]

    @property
    def volumes(self) -> list[MarkedTree]:
        """Return the volumes that overlays add for some roles and every pod has, as in a TrainJob."""
        return [volume for each in self.applications for volume in each.volumes]

    @property
    def settings(self) -> Sequence[OverlayValue]:
        """Return the values that the last overlay sets and removes."""
        return self.applications[-1].settings if self.applications else ()


def overlaid(document: Document, others: Iterable[Document], overlays: Sequence[LoadedOverlay], target: Target) -> OverlaidJob:
    """Apply overlays to a job, in order. The job's runtime is looked for among *others*.

    The partial jobs of all overlays are merged first, since an overlay's changes to pods reach also the roles that another one adds.
    """
    shape = shapes.part(document.api_version, document.kind, target)
    tree = with_marks(document.data, document.marks)
    found: list[Diagnostic] = []
    with_roles = document
    if any(changes_pod_set(overlay, document.kind) for overlay in overlays):
        for overlay in overlays:
            tree = Application(document, shape, overlay, found, target).changed_job(tree)
        with_roles = as_document(tree, document)
    warnings = [problem for problem in found if problem.severity == "warning"]  # errors are found again below
    pods = _pods_with_runtime(with_roles, shape, others, target)
    job = OverlaidJob(document, tree, shape, target, roles_for_overlays(with_roles), pods, found=warnings)
    for overlay in overlays:
        job = job.with_overlay(overlay)
    return job


def changes_pod_set(overlay: LoadedOverlay, kind: str) -> bool:
    """True if an overlay's partial job of a kind can change roles or the runtime.

    Labels and annotations cannot.
    """
    partial = overlay.spec.get("job", kind)
    fields = partial.value if partial and isinstance(partial.value, dict) else {}
    metadata = fields.get("metadata")
    inside = metadata.value if metadata and isinstance(metadata.value, dict) else ()
    return bool(fields.keys() - {"metadata"}) or not set(inside) <= {"labels", "annotations"}


def _pods_with_runtime(job: Document, shape: Shape, others: Iterable[Document], target: Target) -> TrainJobPods | None:
    """Return the pods of a TrainJob, with its runtime. For other kinds, return None."""
    if all(role.path for role in roles_for_overlays(job)):
        return None
    from jobspec.overlays.trainjob import JobRuntime, TrainJobPods

    return TrainJobPods(shape, JobRuntime(job, runtime_of(job, others, target), target["trainer"]), target)


def _conflicts(earlier: Iterable[Application], later: Application) -> Iterator[Diagnostic]:
    name = later.overlay.name
    for each in earlier:
        if each.overlay.name != name:
            yield from (conflict(*pair, (each.overlay.name, name)) for pair in conflicting(each.settings, later.settings))


# The manifests that overlays add to a job.


def companions(overlays: Iterable[LoadedOverlay], namespaces: Sequence[MarkedTree | None]) -> tuple[list[MarkedTree], list[Diagnostic]]:
    """Return the companion manifests of overlays, each object once, by the overlays' names.

    A companion without a namespace is added to each of *namespaces*, the namespaces of the jobs. None is the namespace of a job without
    one.
    """
    found: dict[tuple[str, ...], MarkedTree] = {}
    problems = []
    for overlay in sorted(overlays, key=lambda each: each.name):
        substitution = Substitution(overlay.values)
        manifests = [each for each in map(substitution, items(overlay.spec.get("resources"))) if each]
        problems += substitution.problems
        for companion in (each for manifest in manifests for each in _in_namespaces(manifest, namespaces)):
            name = _object_id(companion)
            other = found.setdefault(name, companion)
            if other.data() != companion.data():
                message = f"`{overlay.name}` adds another {name[1]} `{name[3]}` than `{other.mark.layer}` (in {other.mark})"
                problems.append(Diagnostic("overlay-conflict", message, companion.place()))
    return list(found.values()), problems


def _in_namespaces(companion: MarkedTree, namespaces: Sequence[MarkedTree | None]) -> list[MarkedTree]:
    metadata = companion.get("metadata")
    api_version, kind, *_ = _object_id(companion)
    if metadata is None or not isinstance(metadata.value, dict) or "namespace" in metadata.value or is_cluster_scoped(api_version, kind):
        return [companion]
    inside = [metadata.with_value({**metadata.value, "namespace": each}) if each else metadata for each in namespaces]
    return [companion.with_value({**companion.value, "metadata": each}) for each in inside]


def _object_id(tree: MarkedTree) -> tuple[str, ...]:
    """Return the identity of an object: apiVersion, kind, namespace, name."""
    paths = (("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name"))
    values = [tree.get(*path) for path in paths]
    return tuple(str(value.value) if value else "" for value in values)


# Check that claims which an overlay mounts for one role can be mounted by every pod of a job without a master.


_MANY = "ReadWriteMany"


def unshared_volumes(jobs: Iterable[OverlaidJob], documents: Sequence[Document], added: Sequence[MarkedTree]) -> Iterator[Diagnostic]:
    """Yield a problem for each claim that several nodes mount without ReadWriteMany.

    *added*: the companions of *documents*.
    """
    claims = [data for data in (*(document.data for document in documents), *(tree.data() for tree in added)) if _is_claim(data)]
    named = [(value_at(each, ("metadata", "name")), value_at(each, ("spec", "accessModes")) or []) for each in claims]
    modes = {name: modes for name, modes in named if isinstance(name, str)}
    for job in jobs:
        count = _number_of_nodes(job)
        for volume in job.volumes if count > 1 else ():
            name = volume.get("persistentVolumeClaim", "claimName")
            if name and isinstance(name.value, str) and _MANY not in modes.get(name.value, ()):
                yield _unshared(job.document.kind, name, count, modes.get(name.value))


def _number_of_nodes(job: OverlaidJob) -> int:
    """Return in how many pods a TrainJob trains, or a job of another kind has pods that are masters and workers alike.

    If `numNodes` is no number, which the schema check reports, return 1.
    """
    if job.pods is None:
        return sum(role.count for role in job.roles if len(role.also) > 1)
    number = job.tree.get("spec", "trainer", "numNodes")
    if number and not isinstance(number.value, (int, float, type(None))):
        return 1
    return nodes_of(job.tree.data(), job.pods.runtime.document)


def _is_claim(data: Any) -> bool:
    return isinstance(data, dict) and group_kind(str(data.get("apiVersion")), str(data.get("kind"))) == PERSISTENT_VOLUME_CLAIM


def _unshared(kind: str, name: MarkedTree, count: int, modes: list[str] | None) -> Diagnostic:
    job, pods = f"{'an' if kind == 'MPIJob' else 'a'} {kind}", "nodes" if kind == "TrainJob" else "pods"
    message = f"{job} has no master, so all its {count} {pods} mount the claim `{name.value}`"
    if modes is None:
        hint = f"its access mode must be {_MANY}; it is not in this file"
        return Diagnostic("volume-not-shared", message, name.place(), severity="warning", hint=hint)
    return Diagnostic("volume-not-shared", f"{message}, which is {', '.join(modes)}", name.place(), hint=f"the claim must be {_MANY}")
