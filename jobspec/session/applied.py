"""What a cluster gets of the files of a command line: manifests, what is built of them, and the variants of projects."""

from __future__ import annotations

from jobspec.diagnostics.record import Record
from jobspec.journey.outcomes import context_of, foresee
from jobspec.journey.steps import Checked
from jobspec.session.inputs import Judging, settings_of
from jobspec.session.verdict import files_for, judged_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from jobspec.diagnostics.results import FileResult
    from jobspec.documents.document import Document
    from jobspec.session.found import Found
    from jobspec.session.inputs import RunContext
    from jobspec.session.options import Options
    from jobspec.session.project import Plan
    from jobspec.world.world import Cluster


class AppliedFile(Record):
    """A file, or a variant of a project, checked in the cluster that it meets."""

    checked: Checked
    cluster: Cluster
    others: Sequence[Checked] = ()
    """The files whose objects its jobs may refer to."""
    variant: str = ""
    """The name of the variant; empty for a file."""

    @property
    def context(self) -> list[Document]:
        """What its jobs may refer to."""
        return context_of(self.checked, self.others, self.cluster)


class AppliedFiles(Record):
    """The files and variants that are applied, and the results of all files that were read for them."""

    files: list[AppliedFile]
    results: list[FileResult]
    checked: list[Checked]
    """All files as they were checked, the bases of projects among them."""
    read: list[Found]
    """All files that were read."""


def applied(options: Options, run_context: RunContext, *, outcome: bool = False) -> AppliedFiles:
    """The files and variants that a command line applies; *outcome*: the outcomes of jobs are among the results."""
    found = files_for(options, run_context, settings_of(options), encrypted=False)
    made: list[AppliedFile] = []

    def judge(files: Sequence[Checked], _: RunContext, __: Collection[str] | None) -> list[FileResult]:
        made.extend(AppliedFile(each, run_context.cluster, files) for each in files)
        return [each.result for each in files]

    def judge_variants(planned: Plan) -> list[FileResult]:
        from jobspec.project.rendering import documents_of

        results = []
        for variant in planned.variants:
            cluster = planned.met_by(variant)
            checked, objects = documents_of(variant, cluster)
            file = Checked(checked.result, list(objects.values()), checked.objects)
            file = foresee(file, cluster) if outcome else file
            made.append(AppliedFile(file, cluster, variant=variant.name))
            results.append(file.result)
        return results

    how = Judging(judge, outcome=outcome, judge_variants=judge_variants)
    given, checked, results, projects = judged_files(found, options, run_context, how, documents=True)
    return AppliedFiles(made, results, checked, [*given, *(each for planned in projects.values() for each in planned.read)])
