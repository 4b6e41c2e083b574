"""Apply overlays to one job."""

from __future__ import annotations

from jobspec import shapes, workloads
from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.documents.document import Document
from jobspec.overlays.conflicts import conflict, conflicting, settings_of, settings_of_flags
from jobspec.overlays.directives import APPEND
from jobspec.overlays.flags import set_flags
from jobspec.overlays.marked_tree import MarkedTree, items, with_marks
from jobspec.overlays.merge import Merge
from jobspec.overlays.parameters import TRAINING, Substitution
from jobspec.overlays.removals import wrong_removals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobspec.diagnostics import Path
    from jobspec.overlays.conflicts import Setting
    from jobspec.overlays.overlay import Overlay
    from jobspec.overlays.trainjob import TrainJobPods
    from jobspec.targets import Target


class OverlaidJob:
    """A job while overlays are applied to it."""

    def __init__(self, document: Document, others: Iterable[Document], target: Target) -> None:
        """*others* are the documents among which the job's runtime may be."""
        shape = shapes.load(document.api_version, document.kind, target)
        assert shape
        self.document = document
        self.others = others
        self.target = target
        self.shape = shape
        self.tree = with_marks(document.data, document.marks)
        """The job with the overlays applied so far."""
        self.pods: TrainJobPods | None = None
        """Of a TrainJob: its pods; None for other kinds."""
        self.volumes: list[MarkedTree] = []
        """Of a TrainJob: the volumes that are for some roles alone, and that every node has."""
        self.problems: list[Diagnostic] = []

    def apply(self, overlays: Sequence[Overlay]) -> None:
        """Apply overlays in order; the changes to pods reach the pods of roles, too, that any of the overlays adds to the job."""
        for overlay in overlays:
            _Application(self, overlay).change_job()
        self.problems = [problem for problem in self.problems if problem.severity == "warning"]
        with_roles = self.result()
        self.pods = self._pods(with_roles)
        roles = workloads.training_roles(with_roles)
        earlier: list[tuple[Overlay, list[Setting]]] = []
        for overlay in overlays:
            application = _Application(self, overlay)
            application.change_job()
            application.change_pods(roles)
            if not overlay.override:
                self._report_conflicts(earlier, overlay, application.settings)
            earlier.append((overlay, application.settings))
        if self.pods:
            self.problems += self.pods.problems

    def result(self) -> Document:
        """The job as it is now, as a document."""
        return Document(self.tree.data(), self.tree.marks, file=self.document.file, index=self.document.index)

    def _pods(self, job: Document) -> TrainJobPods | None:
        """Of a TrainJob: its pods, with its runtime; None for other kinds."""
        if all(role.path for role in workloads.training_roles(job)):
            return None
        from jobspec.overlays.trainjob import TrainJobPods
        from jobspec.runtimes.runtime import runtime_of

        return TrainJobPods(job, self.shape, runtime_of(job, self.others, self.target), self.target)

    def _report_conflicts(self, earlier: list[tuple[Overlay, list[Setting]]], overlay: Overlay, settings: list[Setting]) -> None:
        for other, others in earlier:
            if other.name != overlay.name:
                self.problems += [conflict(*pair, (other.name, overlay.name)) for pair in conflicting(others, settings)]


class _Application:
    """One overlay applied to one job, and every setting that it makes there."""

    def __init__(self, job: OverlaidJob, overlay: Overlay) -> None:
        self.job = job
        self.overlay = overlay
        self.settings: list[Setting] = []

    def change_job(self) -> None:
        """Merge the partial manifest for the job's kind into the job."""
        partial = self.overlay.spec.get("job", self.job.document.kind)
        patch = self._substituted(partial, {}) if partial else None
        if patch:
            self._merge(patch, (), entry=-1)

    def change_pods(self, roles: list[workloads.TrainingRole]) -> None:
        """Merge the overlay's entries for training pods into the pod templates of their roles."""
        by_entry: list[tuple[MarkedTree | None, list[Setting]]] = []
        for number, entry in enumerate(items(self.overlay.spec.get("pods"))):
            wanted = entry.get("roles")
            chosen = [role for role in roles if role.answers_to(wanted.data() if wanted else ())]
            if not chosen:
                self._report_missing_role(entry, wanted, roles)
            already = len(self.settings)
            for role in chosen:
                self._change_pod(role, entry, number)
            by_entry.append((wanted, self.settings[already:]))
        if self.job.pods:
            self._report_differing_roles(by_entry)

    def _change_pod(self, role: workloads.TrainingRole, entry: MarkedTree, number: int) -> None:
        substituted = self._substituted(entry, {TRAINING: role.container})
        if substituted and self.job.pods:
            self._change_nodes(self.job.pods, substituted, entry.get("roles"), number)
        elif substituted:
            template, flags = substituted.get("template"), substituted.get("flags")
            if template:
                self._merge(template, role.path, entry=number)
            if flags:
                self._set_flags(flags, role, number)

    def _change_nodes(self, pods: TrainJobPods, entry: MarkedTree, roles: MarkedTree | None, number: int) -> None:
        """Merge an entry into a TrainJob, whose pod templates are those of its runtime."""
        from jobspec.overlays.runtime_values import keep_runtime_values, set_trainer_flags

        template, flags = entry.get("template"), entry.get("flags")
        job = self.job
        wrong = list(wrong_removals(template, pods.template_shape, ())) if template else []
        job.problems += wrong
        if template and not wrong:
            if roles and len(set(roles.data())) == 1:
                volumes = template.get("spec", "volumes")
                job.volumes += items(volumes and volumes.get(APPEND)) or items(volumes)
            job.tree = keep_runtime_values(job.tree, template, pods, overlay=self.overlay.name, entry=number)
            everything, patch = pods.translate(template, job.tree)
            self._merge(patch, (), entry=number, everything=everything)
        if flags:
            job.tree = set_trainer_flags(job.tree, flags, pods, overlay=self.overlay.name, entry=number)
            self.settings += settings_of_flags(flags, ("spec", "trainer"))

    def _merge(self, patch: MarkedTree, path: Path, *, entry: int, everything: MarkedTree | None = None) -> None:
        """Merge a patch into the job; *everything* is the patch with what needs no change of this job, all of which can conflict."""
        shape = self.job.shape.at(path)
        wrong = list(wrong_removals(patch, shape, path))
        if wrong:
            self.job.problems += wrong
            return
        merge = Merge(self.overlay.name, entry)
        self.job.tree = self.job.tree.replace_at(path, lambda base: merge(base, patch, shape, path))
        self.job.problems += merge.problems
        self.settings += settings_of(everything or patch, shape, path)

    def _set_flags(self, flags: MarkedTree, role: workloads.TrainingRole, number: int) -> None:
        path = (*role.path, "spec", "containers")
        containers = items(self.job.tree.get(*map(str, path)))
        for index, container in enumerate(containers):
            name = container.get("name")
            if name and name.value == role.container:
                containers[index], found = set_flags(container, flags, (*path, index), overlay=self.overlay.name, entry=number)
                self.job.problems += found
                self.job.tree = self.job.tree.replace_at(path, lambda tree: tree.with_value(containers))
                self.settings += settings_of_flags(flags, (*path, Key(role.container)))
                return
        if any(problem.rule == "missing-container" for problem in self.job.problems):
            return  # the same mistake, reported already
        message = f"the {role.name} has no container `{role.container}`, which is the one that trains"
        self.job.problems.append(Diagnostic("missing-container", message, flags.place()))

    def _substituted(self, tree: MarkedTree, more: dict[str, str]) -> MarkedTree | None:
        """The tree with the values of the overlay's parameters, and *more*, in place; None where nothing is left of it."""
        substitution = Substitution({**self.overlay.values, **more})
        result = substitution(tree)
        self.job.problems += substitution.problems
        return result

    def _report_differing_roles(self, by_entry: list[tuple[MarkedTree | None, list[Setting]]]) -> None:
        """Report settings for one role that conflict with those for another: a TrainJob has one kind of pod for both."""
        for number, (roles, later) in enumerate(by_entry):
            for others, earlier in by_entry[:number]:
                if (roles and sorted(roles.data())) != (others and sorted(others.data())):
                    self.job.problems += [self._differing_roles(*pair) for pair in conflicting(earlier, later)]

    def _differing_roles(self, other: Setting, setting: Setting) -> Diagnostic:
        message = f"`{self.overlay.name}` makes different changes to roles (see {other.mark}), and a TrainJob has one kind of pod"
        hint = "make the change to all pods, or leave the overlay out"
        return Diagnostic("not-expressible", message, setting.mark, field=spell(setting.address), hint=hint)

    def _report_missing_role(self, entry: MarkedTree, wanted: MarkedTree | None, roles: list[workloads.TrainingRole]) -> None:
        names = ", ".join(wanted.data()) if wanted else "any role"
        known = " and ".join(role.name for role in roles) or "none"
        message = f"`{self.overlay.name}` changes pods of {names}, and the job {self.job.document.name} has pods of {known} only"
        place = wanted.place() if wanted else entry.place()
        hint = "add the role to the job, or leave the overlay out"
        self.job.problems.append(Diagnostic("missing-role", message, place, hint=hint))
