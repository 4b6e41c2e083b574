"""The journey of files: read, apply overlays, judge in a world, foresee, relate."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.documents.document import Document
from jobspec.journey.checking import check, with_stand_ins
from jobspec.journey.outcomes import foresee, foresee_rest
from jobspec.journey.policies import clusters_with_policies, expected_policies, is_concerned, kinds_concerned, policies_of_files, read_only
from jobspec.journey.references import name_in_file, resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Any, TypeVar

    from jobspec.apis.kinds import GroupKind
    from jobspec.journey.policies import Wanted
    from jobspec.journey.steps import Checked, Manifests
    from jobspec.world.world import Cluster

    T = TypeVar("T")
    R = TypeVar("R")
    #: `run(items, work)` is `[work(item) for item in items]`.
    Run = Callable[[Sequence[Any], Callable[[Any], "Checked"]], list["Checked"]]
    #: A function of a file, its cluster and the function that checks it, that gives a new or an earlier result.
    Kept = Callable[[Any, Cluster, Callable[[Any], "Checked"]], "Checked"]


#: The kinds of objects that decide on objects of other files.
_DECIDING = (kinds.LIMIT_RANGE, kinds.RESOURCE_QUOTA, *kinds.ADMISSION_POLICIES)


def one_by_one(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """The work for each item, in this process."""
    return [work(item) for item in items]


def check_files(
    files: Sequence[T],
    load: Callable[[T, Cluster], Manifests],
    cluster: Cluster,
    *,
    outcome: bool,
    documents: bool = True,
    definitions: bool = True,
    run: Run = one_by_one,
    folders: Sequence[str] = (),
    has_placeholders: Callable[[T], bool] = lambda _: False,
    kept: Kept | None = None,
    is_left_out: Callable[[T], bool] = lambda _: False,
    parts_with: Callable[[T, Collection[GroupKind], Collection[str]], Sequence[T]] = lambda *_: (),
) -> list[Checked]:
    """Check files one by one, and then what they say of each other.

    *load* gives the documents of a file, with overlays applied that a cluster takes. *outcome*: what becomes of accepted jobs is reported,
    too; where objects of other files decide on their pods, files with jobs are checked once more, with these objects. Without *documents*
    the results alone come back, without *definitions* of CRDs their names. *run* goes through the files, in several processes for example.
    *folders*: of each file, the folder whose files are applied together: quotas and limits without a namespace reach no further.
    *has_placeholders*: whether others fill in values of a file, for which stand-ins are then checked. *is_left_out*: whether nobody applies
    a file with the others, for which its quotas, limits and policies then do not count. *kept* checks a file, or knows its result by itself
    already. *parts_with*: the parts of a file that seem to have objects of some kinds, with one of some words unless there are none; where
    policies are found by it, files need not be checked once more.
    """

    def check_one(asked: tuple[T, Cluster]) -> Checked:
        each, cluster = asked
        manifests = load(each, cluster)
        checked = check(manifests, cluster)
        if not checked.result.valid and has_placeholders(each):
            filled, checked = with_stand_ins(manifests, checked, cluster)
            checked = checked.with_objects_named_in(manifests) if filled is not manifests else checked
        checked = foresee(checked, cluster) if outcome else checked
        if checked.objects and is_left_out(each):
            checked = checked.changed(objects=[one for one in checked.objects if one.group_kind not in _DECIDING])
        if documents and definitions:
            return checked
        return checked.changed(documents=_without_definitions(checked.documents) if documents else ())

    def check_kept(asked: tuple[T, Cluster]) -> Checked:
        return kept(*asked, lambda each: check_one((each, asked[1]))) if kept else check_one(asked)

    def check_in(those: Sequence[T], clusters: Sequence[Cluster]) -> list[Checked]:
        return run(list(zip(those, clusters, strict=True)), check_kept)

    def read_again(those: Sequence[T], *wanted: Wanted[T]) -> list[Document]:
        """The wanted documents in some files, or in parts of these, which are read for that alone."""
        found = run(those, lambda each: read_only(each, wanted, lambda part: load(part, cluster)))
        return [each for file in found for each in file.documents]

    folders = folders or [""] * len(files)
    rules = expected_policies(files, parts_with, read_again, cluster)
    expected = for_all = cluster.with_objects(rules) if rules else cluster
    checked = check_in(files, [expected] * len(files))
    found = policies_of_files(files, checked, read_again, cluster) if len(files) > 1 else []
    if set(map(name_in_file, found)) != set(map(name_in_file, rules)):
        rules, for_all = found, cluster.with_objects(found)
    clusters = clusters_with_policies(checked, folders, for_all) if outcome else {}
    met = [clusters.get(folder, for_all) for folder in folders]
    concerned = kinds_concerned(checked, [*rules, *cluster.rules] if rules else [])
    again = [at for at, there in enumerate(met) if there is not expected and is_concerned(checked[at], concerned)]
    for at, each in zip(again, check_in([files[at] for at in again], [met[at] for at in again]), strict=True):
        checked[at] = each
    resolved = resolve(checked, for_all, folders)
    return foresee_rest(resolved, met)


def _without_definitions(documents: Sequence[Document]) -> list[Document]:
    """The documents, of CRDs their names alone: their schemas are much of a repository's memory, and nobody looks into them."""
    return [_name_alone(each) if each.group_kind == kinds.CUSTOM_RESOURCE_DEFINITION else each for each in documents]


def _name_alone(document: Document) -> Document:
    """A document with its name alone."""
    return document.reduced_to({"apiVersion": document.api_version, "kind": document.kind, "metadata": {"name": document.name}})
