"""Find the objects of other files that decide on documents: admission policies, quotas, limits."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.results import DocumentResult
from jobspec.documents.document import Document
from jobspec.journey.steps import Checked
from jobspec.kubernetes.index import data_of
from jobspec.operators.kueue.versions import KINDS
from jobspec.operators.workloads import is_workload, may_have_templates
from jobspec.world.judging import can_be_looked_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from jobspec.apis.kinds import GroupKind
    from jobspec.journey.steps import GivenFile
    from jobspec.kubernetes.index import Index
    from jobspec.world.world import Cluster

    #: A file or a part of one that is read once more, and whether a document in it is wanted.
    Wanted = tuple[GivenFile, Callable[[Document], bool]]
    #: Reads parts of files once more for the documents that are wanted.
    ReadAgain = Callable[[Sequence[Wanted]], list[Document]]


def read_only(wanted: Wanted, world: Cluster) -> list[Document]:
    """Read the wanted documents of a part of a file without checking them."""
    part, is_wanted = wanted
    return [each for each in part.load(world).documents if not each.is_held and is_wanted(each)]


def kinds_concerned(files: Sequence[Checked], policies: Sequence[Document]) -> set[GroupKind]:
    """The kinds of the documents for which admission policies may be: those of accepted objects, and of refused ones."""
    if not policies:
        return set()
    from jobspec.kubernetes.admission.objects import may_concern

    met = {_kind_of(row) for file in files for row in file.result.documents if row.status in ("valid", "partly", "invalid")}
    return {each for each in met if may_concern(policies, each)}


def is_concerned(file: Checked, concerned: Collection[GroupKind]) -> bool:
    """True if a file has jobs, other objects that may make pods, or documents of the kinds that are concerned."""
    return (
        file.has_jobs
        or any(_kind_of(row) in concerned for row in file.result.documents)
        or any(may_have_templates(each) for each in file.seen)
    )


def expected_policies(
    files: Sequence[GivenFile], read_again: ReadAgain, cluster: Cluster, is_accepted: Callable[[Document, Cluster], bool] = can_be_looked_up
) -> list[Document]:
    """Find the policies that the files seem to have, and the objects that these need.

    That is what `policies_of_files` is likely to return later. *is_accepted*: returns what `can_be_looked_up` does, for example from
    the results of an earlier run.
    """

    def of_kinds(file: GivenFile, wanted: Collection[GroupKind]) -> list[Wanted]:
        return [(each, lambda document: document.group_kind in wanted) for each in file.parts_with(wanted, ())]

    policies = read_again([each for file in files for each in of_kinds(file, kinds.ADMISSION_POLICIES)])
    found = [each for each in policies if is_accepted(each, cluster)]
    if not found and not cluster.has_policies:
        return []
    from jobspec.kubernetes.admission.objects import may_be_parameter, parameter_kinds, parameter_words

    policies = [*cluster.rules, *found]
    in_rules, words, is_parameter = parameter_kinds(policies), parameter_words(policies), may_be_parameter(policies)

    def parameters(file: GivenFile) -> list[Wanted]:
        parts = file.parts_with(in_rules, words) if in_rules else ()
        return [(each, lambda document: is_parameter(document.group_kind, document.name, document.labels)) for each in parts]

    needed = read_again([each for file in files for each in (*of_kinds(file, [kinds.NAMESPACE]), *parameters(file))])
    return [*found, *(each for each in needed if each.group_kind != kinds.NAMESPACE or is_accepted(each, cluster))]


def policies_of_files(files: Sequence[GivenFile], checked: Sequence[Checked], read_again: ReadAgain, cluster: Cluster) -> list[Document]:
    """The admission policies in CEL of all files, with their bindings and parameters, and the namespaces that they select.

    Files with objects that may be parameters are read once more.
    """
    found = [each for file in checked for each in file.objects if each.group_kind in kinds.ADMISSION_POLICIES]
    if not found and not cluster.has_policies:
        return []
    namespaces = [each for file in checked for each in file.objects if each.group_kind == kinds.NAMESPACE]
    policies = [*cluster.rules, *found]
    from jobspec.kubernetes.admission.objects import may_be_parameter
    from jobspec.world.policies import parameters_in

    is_wanted = may_be_parameter(policies)
    rows = [file.result.documents for file in checked]
    holders = [
        each for each, several in zip(files, rows, strict=True) if any(is_wanted(_kind_of(row), row.name, row.labels) for row in several)
    ]
    if not holders:
        return [*found, *namespaces]
    read = read_again([(file, lambda each: is_wanted(each.group_kind, each.name, each.labels)) for file in holders])
    return [*found, *namespaces, *parameters_in(read, policies)]


def as_policies_leave(files: Sequence[Checked], cluster: Cluster) -> list[Checked]:
    """Return the files with their jobs as MutatingAdmissionPolicies change them."""
    given = [each for file in files for each in file.objects]
    if not cluster.index.change_objects and all(each.group_kind != kinds.MUTATING_POLICY_BINDING for each in given):
        return list(files)
    index = cluster.index.with_others(data_of(given))

    def changed(file: Checked) -> Checked:
        accepted = {row.index for row in file.result.documents if row.status == "valid"}
        sent = [as_changed(each, index, cluster) if each.index in accepted else each for each in file.documents]
        return file.changed(documents=sent)

    return [changed(each) for each in files]


def as_changed(document: Document, policies: Index, cluster: Cluster) -> Document:
    """A document as policies leave it that change objects, where it is a job; each value that they set has the policy for its place."""
    if document.is_held or not (is_workload(document) or document.group_kind in KINDS):
        return document
    from jobspec.operators.policies import changed_job, with_labels_of_next_job

    return with_labels_of_next_job(changed_job(document, policies, cluster.target), policies, cluster.target)


def _kind_of(row: DocumentResult) -> GroupKind:
    """The group and kind of a document, by its result."""
    return kinds.group_kind(row.api_version, row.kind)
