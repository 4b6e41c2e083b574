"""Objects of the files that are more than a ResourceQuota of their namespace allows of their kind."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.grouping import gathered, grouped
from jobspec.diagnostics.results import FileResult
from jobspec.documents.document import result_of
from jobspec.journey.steps import document_key, reaches
from jobspec.kubernetes.admission.object_counts import count_limits, counts_objects
from jobspec.kubernetes.index import index_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence

    from jobspec.diagnostics.diagnostic import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.journey.steps import Checked
    from jobspec.kubernetes.index import Index
    from jobspec.world.world import Cluster

_RULE = "over-quota"
_COUNTED = ("valid", "partly")


def within_counts(
    files: Sequence[Checked],
    folders: Sequence[str],
    quotas: Sequence[tuple[str, Document]],
    cluster: Cluster,
    read: Callable[[int], Sequence[Document]],
    *,
    left_out: Collection[int] = (),
) -> list[Checked]:
    """The files with an error for each accepted object that a quota has no room for, beside the others of its folder.

    Objects are counted in the order of files and documents. *folders*: as in `check_files`. *quotas*: the ResourceQuotas, each with its
    folder. *read* reads a file of a number once more, where a quota counts objects. *left_out*: the numbers of files that are not
    applied with the others.
    """
    quotas = [(folder, each) for folder, each in quotas if counts_objects(each.data)]
    if not quotas or cluster.stored is not None:
        return list(files)

    changed, outside = list(files), frozenset(left_out)
    for folder, numbers in gathered((each, at) for at, each in enumerate(folders)).items():
        reaching = [each for place, each in quotas if reaches(each, place, folder)]
        if not reaching:
            continue
        counting = {each.namespace for each in reaching}
        accepted = [(at, each) for at in numbers if at not in outside for each in _accepted(read(at), files[at], counting)]
        policies = index_of(reaching)
        for at, problems in gathered(_refused(accepted, policies, cluster)).items():
            changed[at] = _with_problems(files[at], problems)
    return changed


def _accepted(documents: Iterable[Document], file: Checked, namespaces: Container[str]) -> Iterator[Document]:
    """The documents of a file that are accepted objects in one of some namespaces."""
    inside = [each for each in documents if each.namespace in namespaces]
    accepted = {document_key(row) for row in file.result.documents if row.status in _COUNTED} if inside else ()
    for each in inside:
        is_object = not each.is_held and not each.is_shown and each.group_kind[0] not in (kinds.OVERLAY[0], kinds.KUSTOMIZATION[0])
        if is_object and document_key(each) in accepted and not kinds.is_cluster_scoped(each.api_version, each.kind):
            yield each


def _refused(accepted: Sequence[tuple[int, Document]], policies: Index, cluster: Cluster) -> Iterator[tuple[int, Diagnostic]]:
    """The objects that come after as many as a quota allows, by the number of their file; one name is one object."""
    for (kind, namespace), several in grouped(accepted, lambda each: (each[1].group_kind, each[1].namespace)).items():
        plural = (cluster.custom_kinds.plural(several[0][1]) if cluster.custom_kinds else "") or kinds.plural_of(kind[1])
        limits = count_limits(kind[0], plural, namespace, policies) if kind != kinds.POD else ()
        named = list(_first_of_each_name(several).values()) if limits else ()
        for limit in limits:
            for at, each in named[limit.allowed :]:
                message = f"exceeds {limit.quota}: {_counted(named, kind[1])}, {limit.sentence()}"
                yield at, each.problem(_RULE, message, ("metadata", "name"), hint="raise the quota, or create fewer")


def _first_of_each_name(several: Iterable[tuple[int, Document]]) -> dict[str | int, tuple[int, Document]]:
    """The first document of each name; each that has a generated name counts."""
    first: dict[str | int, tuple[int, Document]] = {}
    for at, each in several:
        first.setdefault(each.name or id(each), (at, each))
    return first


def _counted(several: Sequence[object], kind: str) -> str:
    return f"the files have {len(several)} {kind}s" if len(several) > 1 else f"the files have a {kind}"


def _with_problems(file: Checked, problems: Sequence[Diagnostic]) -> Checked:
    """A file with problems of its accepted objects: a refused one is invalid, and another one does not run."""
    refused = {each.document for each in problems if each.rule == _RULE}
    wrong = {each.document for each in problems}
    rows = [
        row
        if row.index not in wrong or row.status not in _COUNTED
        else result_of(row, "invalid", runs=False)
        if row.index in refused
        else row.changed(runs=False)
        for row in file.result.documents
    ]
    return file.changed(result=FileResult(file.result.path, rows, [*file.result.diagnostics, *problems], ignored=file.result.ignored))
