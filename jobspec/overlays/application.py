"""Apply one overlay to one job."""

from __future__ import annotations

from jobspec.diagnostics import Diagnostic, Key, spell
from jobspec.documents.marked_tree import MarkedTree, items
from jobspec.overlays.conflicts import conflicting, settings_of, settings_of_flags
from jobspec.overlays.directives import APPEND
from jobspec.overlays.flags import set_flags
from jobspec.overlays.merge import Merge
from jobspec.overlays.parameters import TRAINING, Substitution
from jobspec.overlays.removals import wrong_removals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobspec.diagnostics import Path
    from jobspec.documents.document import Document
    from jobspec.overlays.conflicts import OverlayValue
    from jobspec.overlays.overlay import Overlay
    from jobspec.overlays.trainjob import TrainJobPods
    from jobspec.schemas.shapes import Shape
    from jobspec.workloads import TrainingRole

    #: Tells the settings of a patch.
    Settings = Callable[[], Iterator[OverlayValue]]


class Application:
    """The application of one overlay to one job: it changes the job's tree, and collects settings, volumes and problems."""

    __slots__ = ("_set", "document", "overlay", "pods", "problems", "shape", "volumes")

    def __init__(
        self, document: Document, shape: Shape, overlay: Overlay, problems: list[Diagnostic], pods: TrainJobPods | None = None
    ) -> None:
        self.document = document
        self.shape = shape
        self.overlay = overlay
        self.pods = pods
        self.problems = problems
        """The problems of the job's applications so far; this one adds its own."""
        self._set: list[Settings] = []
        self.volumes: list[MarkedTree] = []

    @property
    def settings(self) -> list[OverlayValue]:
        """What the overlay sets and removes, which few ask for."""
        return _all(self._set)

    def changed_job(self, job: MarkedTree) -> MarkedTree:
        """The job with the overlay's partial manifest for its kind merged into it."""
        partial = self.overlay.spec.get("job", self.document.kind)
        patch = self._substituted(partial) if partial else None
        return self._merged(job, patch, (), entry=-1) if patch else job

    def changed_pods(self, job: MarkedTree, roles: list[TrainingRole]) -> MarkedTree:
        """The job with the overlay's entries for training pods merged into the pod templates of the *roles* that the job has."""
        entries = items(self.overlay.spec.get("pods"))
        if not entries:
            return job
        roles = [role for role in roles if not role.path or job.get(*map(str, role.path))]  # the overlay can remove a role itself
        by_entry: list[tuple[MarkedTree | None, list[Settings]]] = []
        for number, entry in enumerate(entries):
            wanted = entry.get("roles")
            chosen = [role for role in roles if role.answers_to(wanted.data() if wanted else ())]
            if not chosen:
                self._report_missing_role(entry, wanted, roles)
            already = len(self._set)
            for role in chosen:
                job = self._changed_pod(job, role, entry, number)
            by_entry.append((wanted, self._set[already:]))
        if self.pods:
            self._report_differing_roles(by_entry)
        return job

    def _changed_pod(self, job: MarkedTree, role: TrainingRole, entry: MarkedTree, number: int) -> MarkedTree:
        substituted = self._substituted(entry, role.container)
        if substituted and self.pods:
            return self._changed_nodes(job, self.pods, substituted, entry.get("roles"), number)
        template, flags = (substituted.get("template"), substituted.get("flags")) if substituted else (None, None)
        if template:
            job = self._merged(job, template, role.path, entry=number)
        return self._with_flags(job, flags, role, number) if flags else job

    def _changed_nodes(self, job: MarkedTree, pods: TrainJobPods, entry: MarkedTree, roles: MarkedTree | None, number: int) -> MarkedTree:
        """The TrainJob with an entry merged into it; its pod templates are those of its runtime."""
        from jobspec.overlays.runtime_values import keep_runtime_values, set_trainer_flags

        template, flags = entry.get("template"), entry.get("flags")
        wrong = list(wrong_removals(template, pods.template_shape, ())) if template else []
        self.problems.extend(wrong)
        if template and not wrong:
            if roles and len(set(roles.data())) == 1:
                volumes = template.get("spec", "volumes")
                self.volumes.extend(items(volumes and volumes.get(APPEND)) or items(volumes))
            job = keep_runtime_values(job, template, pods, overlay=self.overlay.name, entry=number)
            everything, patch = pods.translate(template, job)
            job = self._merged(job, patch, (), entry=number, everything=everything)
        if flags:
            job = set_trainer_flags(job, flags, pods, overlay=self.overlay.name, entry=number)
            self._set.append(lambda: settings_of_flags(flags, ("spec", "trainer")))
        return job

    def _merged(self, job: MarkedTree, patch: MarkedTree, path: Path, *, entry: int, everything: MarkedTree | None = None) -> MarkedTree:
        """The job with a patch merged into it; *everything* is the patch with also the settings that the job has already."""
        shape = self.shape.at(path)
        wrong = list(wrong_removals(patch, shape, path))
        if wrong:
            self.problems.extend(wrong)
            return job
        merge = Merge(self.overlay.name, entry)
        changed = job.replace_at(path, lambda base: merge(base, patch, shape, path))
        self.problems.extend(merge.problems)
        self._set.append(lambda: settings_of(everything or patch, shape, path))
        return changed

    def _with_flags(self, job: MarkedTree, flags: MarkedTree, role: TrainingRole, number: int) -> MarkedTree:
        path = (*role.path, "spec", "containers")
        containers = items(job.get(*map(str, path)))
        for index, container in enumerate(containers):
            name = container.get("name")
            if name and name.value == role.container:
                containers[index], found = set_flags(container, flags, (*path, index), overlay=self.overlay.name, entry=number)
                self.problems.extend(found)
                self._set.append(lambda: settings_of_flags(flags, (*path, Key(role.container))))
                return job.replace_at(path, lambda tree: tree.with_value(containers))
        if all(problem.rule != "missing-container" for problem in self.problems):  # else the same mistake is reported already
            message = f"the {role.name} has no container `{role.container}`, which is the one that trains"
            self.problems.append(Diagnostic("missing-container", message, flags.place()))
        return job

    def _substituted(self, tree: MarkedTree, container: str = "") -> MarkedTree | None:
        """The tree with the values of the overlay's parameters, and the *container* that trains, in place; None where nothing is left."""
        substitution = Substitution({**self.overlay.values, TRAINING: container})
        result = substitution(tree)
        self.problems.extend(substitution.problems)
        return result

    def _report_differing_roles(self, by_entry: list[tuple[MarkedTree | None, list[Settings]]]) -> None:
        """Report settings for one role that conflict with those for another: a TrainJob has one kind of pod for both."""
        for number, (roles, later) in enumerate(by_entry):
            for others, earlier in by_entry[:number]:
                if (roles and sorted(roles.data())) != (others and sorted(others.data())):
                    self.problems.extend(self._differing_roles(*pair) for pair in conflicting(_all(earlier), _all(later)))

    def _differing_roles(self, other: OverlayValue, setting: OverlayValue) -> Diagnostic:
        message = f"`{self.overlay.name}` makes different changes to roles (see {other.mark}), and a TrainJob has one kind of pod"
        hint = "make the change to all pods, or leave the overlay out"
        return Diagnostic("not-expressible", message, setting.mark, field=spell(setting.address), hint=hint)

    def _report_missing_role(self, entry: MarkedTree, wanted: MarkedTree | None, roles: list[TrainingRole]) -> None:
        names = ", ".join(wanted.data()) if wanted else "any role"
        known = " and ".join(role.name for role in roles) or "none"
        message = f"`{self.overlay.name}` changes pods of {names}, and the job {self.document.name} has pods of {known} only"
        place = wanted.place() if wanted else entry.place()
        hint = "add the role to the job, or leave the overlay out"
        self.problems.append(Diagnostic("missing-role", message, place, hint=hint))


def _all(settings: list[Settings]) -> list[OverlayValue]:
    return [each for told in settings for each in told()]
