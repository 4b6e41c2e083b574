"""The journey of files: read, apply overlays, judge in a world, foresee, relate."""

from __future__ import annotations

import jobspec.apis.kinds as kinds
from jobspec.diagnostics.record import Record
from jobspec.documents.document import Document
from jobspec.journey.checking import check, stand_ins, with_stand_ins
from jobspec.journey.refused import refused_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from dataclasses import KW_ONLY
    from typing import Any, Protocol, TypeVar

    from jobspec.apis.kinds import Name
    from jobspec.journey.policies import Wanted
    from jobspec.journey.steps import Checked, GivenFile, Manifests
    from jobspec.journey.worlds import Worlds
    from jobspec.operators.webhooks import Objects
    from jobspec.world.world import Cluster

    T = TypeVar("T")
    R = TypeVar("R")
    #: `run(items, work)` is `[work(item) for item in items]`.
    Run = Callable[[Sequence[Any], Callable[[Any], Any]], list[Any]]
    #: A function of a file, its world and the function that checks it, that gives a new or an earlier result.
    Kept = Callable[[Any, Cluster, Callable[[Any], "Checked"]], "Checked"]

    class Earlier(Protocol):
        """The results of an earlier run."""

        def known(self, file: Any, world: Cluster) -> Checked | None:
            """Return the result of an earlier check that read the same. If there is none, return None."""

        def learned(self, file: Any, world: Cluster, checked: Checked) -> Checked:
            """Return the new result of a file, and keep the result."""

        def accepts(self, document: Document, world: Cluster) -> bool:
            """Return whether the server's own checks accept a policy or a namespace."""


def one_by_one(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """Do the work for each item, in this process."""
    return [work(item) for item in items]


class Journey(Record):
    """The files of one run, the world that they meet, and how far the journey goes."""

    files: Sequence[GivenFile]
    world: Cluster
    _: KW_ONLY
    outcome: bool
    """Whether the journey foresees what becomes of accepted jobs."""
    documents: bool = True
    """Whether the documents of files come back with their results."""
    definitions: bool = True
    """Whether the schemas of CRDs come back, too, and not their names alone."""
    reads_ahead: bool = True
    """Whether policies are looked for before files are checked, which is another read of files with policies."""
    waits: bool = True
    """Whether outcomes wait for the objects of all files.

    If they do not wait, files are checked once more if these objects decide on their pods.
    """
    spread: Run | None = None
    """Does the work for many files, in several processes for example; None if files are checked one by one."""
    kept: Kept | None = None
    """Checks a file, or gives its earlier result; None if there are no earlier results."""
    earlier: Earlier | None = None
    """The results of an earlier run; None if there are none."""

    @property
    def run(self) -> Run:
        """Do the work for several files."""
        return self.spread or one_by_one


def travel(journey: Journey) -> list[Checked]:
    """Check files one by one, foresee the outcomes of jobs, and relate the files."""
    files = journey.files
    checked, for_all = _check_behind_policies(journey)
    folders = [each.folder for each in files]
    if journey.outcome:
        from jobspec.journey.worlds import Worlds

        worlds = Worlds(checked, folders, for_all)
        checked = _foresee_in(journey, checked, worlds)
    left_out = [at for at, each in enumerate(files) if each.is_left_out]
    foreseen = checked
    if any(each.pending for each in checked) and (len(checked) > 1 or checked[0].refused):  # else no object is in another file
        from jobspec.journey.references import resolve

        foreseen = resolve(checked, for_all, folders)
    if journey.outcome:
        from jobspec.journey.outcomes import foresee_rest

        foreseen = foresee_rest(foreseen, worlds)

    def read(at: int) -> Sequence[Document]:
        is_at_hand = journey.documents and not foreseen[at].is_filled
        return foreseen[at].documents if is_at_hand else files[at].load(for_all).documents

    quotas = [(folder, each) for file, folder in zip(foreseen, folders, strict=True) for each in file.objects if _is_quota(each)]
    quotas += [("", each) for each in for_all.objects if _is_quota(each)]
    if not quotas:
        return foreseen
    from jobspec.journey.object_counts import within_counts

    return within_counts(foreseen, folders, quotas, for_all, read, left_out=left_out)


def _is_quota(document: Document) -> bool:
    return document.group_kind == kinds.RESOURCE_QUOTA


def _check_behind_policies(journey: Journey) -> tuple[list[Checked], Cluster]:
    """Check the files behind the admission policies that are among them.

    Return the results, and the world with the policies. If other policies were expected, the files that they may concern are checked twice.
    """
    files, world = journey.files, journey.world
    if len(files) < 2:
        return _run(journey, [(each, world) for each in files], lambda file, there: _check(journey, file, there)), world
    from jobspec.journey.policies import expected_policies, is_concerned, kinds_concerned, policies_of_files, read_only

    def read_again(those: Sequence[Wanted]) -> list[Document]:
        return [each for read in journey.run(those, lambda wanted: read_only(wanted, world)) for each in read]

    given = (journey.earlier.accepts,) if journey.earlier else ()
    rules = expected_policies(files, read_again, world, *given) if journey.reads_ahead else []
    expected = world.with_objects(rules) if rules else world
    checked = _check_in(journey, files, expected)
    found = policies_of_files(files, checked, read_again, world)
    if set(map(_name_in_file, found)) == set(map(_name_in_file, rules)):
        return checked, expected
    concerned, for_all = kinds_concerned(checked, [*found, *world.rules] if found else []), world.with_objects(found)
    again = [at for at, each in enumerate(checked) if is_concerned(each, concerned)]
    return _replaced(checked, again, _check_in(journey, [files[at] for at in again], for_all)), for_all


def _name_in_file(document: Document) -> tuple[str, Name]:
    """Return the file of a document, and its kind, namespace and name."""
    return document.file, (document.group_kind, document.namespace, document.name)


def _check_in(journey: Journey, files: Sequence[GivenFile], world: Cluster) -> list[Checked]:
    """Check each of several files in a world, or take its earlier result."""
    return _run(journey, [(each, world) for each in files], lambda file, there: _check(journey, file, there, waits=journey.waits))


def _foresee_in(journey: Journey, files: Sequence[Checked], worlds: Worlds) -> list[Checked]:
    """Foresee the outcomes that wait for the objects of all files.

    If these objects decide on the documents of a file whose outcomes are foreseen, the file is checked once more.
    """
    from jobspec.journey.worlds import unrecorded

    changed = {at for at, each in enumerate(files) if worlds.change(at)}
    again = [at for at, each in enumerate(files) if each.awaits_outcome or at in changed]
    before = {id(journey.files[at]): files[at] for at in again if at not in changed}

    def foreseen(file: GivenFile, world: Cluster) -> Checked:
        waiting = before.get(id(file))
        done = _foresee(journey, file, waiting, world) if waiting else None
        if done and not world.is_pinned:
            return done
        checked = done or _check(journey, file, world)
        return checked.changed(asked=checked.asked | {unrecorded(world)})

    return _replaced(files, again, _run(journey, [(journey.files[at], worlds.of(at)) for at in again], foreseen))


def _replaced(files: Sequence[Checked], numbers: Sequence[int], new: Sequence[Checked]) -> list[Checked]:
    """Return the files with *new* results of those with some numbers."""
    replaced = dict(zip(numbers, new, strict=True))
    return [replaced.get(at, each) for at, each in enumerate(files)]


def _run(journey: Journey, asked: Sequence[tuple[GivenFile, Cluster]], work: Callable[[Any, Cluster], Checked]) -> list[Checked]:
    """Do the work for each file in its world, or take its earlier result."""

    def work_kept(each: tuple[GivenFile, Cluster]) -> Checked:
        file, world = each
        return journey.kept(file, world, lambda one: work(one, world)) if journey.kept else work(file, world)

    earlier = journey.earlier
    if earlier is None:
        return journey.run(asked, work_kept)
    known = [earlier.known(*each) for each in asked]
    left = [each for each, found in zip(asked, known, strict=True) if found is None]
    new = iter(journey.run(left, work_kept))
    return [found or earlier.learned(*each, next(new)) for each, found in zip(asked, known, strict=True)]


def _check(journey: Journey, file: GivenFile, world: Cluster, *, waits: bool = False) -> Checked:
    """Read a file, apply overlays, judge its documents, and foresee their outcomes.

    *waits*: outcomes are left for later, when the objects of all files are known, unless values have to stand in for placeholders.
    """

    def judge(manifests: Manifests) -> Checked:
        return _with_outcomes(journey, check(manifests, world), world)

    manifests = file.load(world)
    refused, met = refused_files(manifests, world), (journey.outcome, file.has_placeholders)
    if refused and (known := refused.of(manifests, *met)):
        return _at_hand(journey, file, known)
    checked = check(manifests, world)
    if waits and journey.outcome and (checked.result.valid or not file.has_placeholders):
        from jobspec.journey.outcomes import waiting

        checked = waiting(checked, manifests.substitution, world)
        if checked.awaits_outcome:
            return _at_hand(journey, file, checked)
    checked = _with_outcomes(journey, checked, world)
    if not checked.result.valid and file.has_placeholders:
        filled, checked = with_stand_ins(manifests, checked, world, judge)
        checked = checked.with_objects_named_in(manifests).changed(is_filled=True) if filled is not manifests else checked
    else:
        checked = _with_hints(checked)
    if refused:
        refused.keep(manifests, checked, *met)
    return _at_hand(journey, file, checked)


def _foresee(journey: Journey, file: GivenFile, waiting: Checked, world: Cluster) -> Checked | None:
    """Foresee what becomes of the jobs of a checked file.

    If values have to stand in for its placeholders, return None.
    """
    checked = _with_outcomes(journey, waiting.changed(awaits_outcome=False, substitution=None), world)
    if not checked.result.valid and file.has_placeholders:
        _, notes = stand_ins(checked.documents, checked.result, waiting.substitution, world)
        if notes:
            return None
    return _at_hand(journey, file, _with_hints(checked))


def _with_outcomes(journey: Journey, checked: Checked, world: Cluster) -> Checked:
    """Return a checked file with the outcomes of its jobs, if the journey foresees them."""
    if not journey.outcome:
        return checked
    from jobspec.journey.outcomes import foresee

    return foresee(checked, world)


def _with_hints(checked: Checked) -> Checked:
    """Return a checked file whose errors at placeholders say how to give their values."""
    if checked.result.valid or checked.settled:
        return checked
    from jobspec.repository.stand_ins import with_hints

    return checked.changed(result=with_hints(checked.result, checked.documents))


def _at_hand(journey: Journey, file: GivenFile, checked: Checked) -> Checked:
    """Return what later steps ask of a checked file, without what can be made again."""
    if checked.objects and file.is_left_out:
        checked = checked.changed(objects=[one for one in checked.objects if one.group_kind not in kinds.DECIDING])
    if not (journey.documents or checked.awaits_outcome):
        checked = checked.changed(documents=())
    if not journey.definitions:
        checked = _without_definitions(checked)
    for each in (*checked.documents, *checked.objects):
        each.forget_marks()  # the nodes of all files together are most of the memory, and few are asked for again
    return checked


def _without_definitions(checked: Checked) -> Checked:
    """Return a file with the names alone of its CRDs.

    Their schemas take much of the memory for a repository, and no later step reads them.
    """
    if not any(map(_is_definition, (*checked.documents, *checked.objects))):
        return checked
    made: dict[int, Any] = {}

    def reduced(document: Document) -> Document:
        return _once(made, document, _name_alone) if _is_definition(document) else document

    def without(objects: Objects) -> Objects:
        return objects.changed(**{name: [*map(reduced, getattr(objects, name))] for name in ("in_file", "elsewhere", "refused")})

    return checked.changed(
        documents=[*map(reduced, checked.documents)],
        objects=[*map(reduced, checked.objects)],
        pending=[(judged, _once(made, objects, without)) for judged, objects in checked.pending],
    )


def _is_definition(document: Document) -> bool:
    return document.group_kind == kinds.CUSTOM_RESOURCE_DEFINITION


def _once(made: dict[int, Any], given: T, make: Callable[[T], T]) -> T:
    """Return what is made of a value, for the same value the same."""
    if id(given) not in made:
        made[id(given)] = make(given)
    found: T = made[id(given)]
    return found


def _name_alone(document: Document) -> Document:
    """A document with its name alone."""
    return document.reduced_to({"apiVersion": document.api_version, "kind": document.kind, "metadata": {"name": document.name}})
