"""TrainJobs and runtimes of one trainer release in the words of another."""

from __future__ import annotations

from jobspec.documents.marked_tree import MarkedTree, items, text, with_marks
from jobspec.kinds import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME, TRAINJOB
from jobspec.migration.loss import LOST, NOTE
from jobspec.migration.migrated import Migrated
from jobspec.migration.patches import FIELDS, OF_JOBSET, read_changes, unwritten, written
from jobspec.migration.pruned import Dropped, pruned
from jobspec.migration.variables import TRAINERS
from jobspec.migration.view import view
from jobspec.operators.trainer.runtimes import API_VERSION
from jobspec.schemas import shapes
from jobspec.targets import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobspec.cluster import Cluster
    from jobspec.diagnostics import Diagnostic
    from jobspec.documents.document import Document
    from jobspec.migration.facts import Fact
    from jobspec.targets import Target

RUNTIMES = (CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME)
KINDS = (TRAINJOB, *RUNTIMES)
_NUMBERS_ONLY = "2.2.0"  # the release from which on `numProcPerNode` takes no words


def migrate_runtime(runtime: Document, target: Target) -> tuple[MarkedTree, list[Diagnostic]]:
    """A runtime in the words of a release, and what it has no word for."""
    tree, dropped = pruned(with_marks(runtime.data, runtime.marks), target)
    return tree, [_told(each, runtime, target) for each in dropped]


def _told(dropped: Dropped, document: Document, target: Target) -> Diagnostic:
    name = dropped.path[-1]
    if name == "numProcPerNode":
        is_default = dropped.tree.value == "auto"
        message = f"a runtime of trainer {target['trainer']} says no number of processes"
        hint = "" if is_default else "say `spec.trainer.numProcPerNode` in the TrainJobs that use it"
        return document.problem(
            NOTE if is_default else LOST, message, _path(dropped, document), hint=hint, severity="info" if is_default else "warning"
        )
    message = f"`{name}` has no counterpart in trainer {target['trainer']}"
    return document.problem(LOST, message, _path(dropped, document), severity="warning")


def _path(dropped: Dropped, document: Document) -> tuple[str | int, ...]:
    from jobspec.migration.loss_report import path_at

    return path_at(dropped.tree.place(), document)


def migrate_trainjob(
    job: Document, old: Sequence[Document], new: Sequence[Document], before: Target, cluster: Cluster
) -> tuple[Migrated, list[Diagnostic]]:
    """A TrainJob in the words of a release. *old* and *new*: the runtimes and other objects beside it, before and after."""
    seen = view(job, old, before)
    tree, dropped = pruned(_in_words_of(with_marks(job.data, job.marks), cluster.target), cluster.target)
    dropped += _of_jobs(with_marks(job.data, job.marks).value["spec"], tree.value["spec"])
    first = Migrated(job, [tree], seen, cluster, new)
    best = first
    for repaired in _repaired(tree, first):
        candidate = Migrated(job, [repaired], seen, cluster, new)
        best = min(best, candidate, key=Migrated.cost)
    return best, [_told(each, job, cluster.target) for each in dropped]


def _of_jobs(before: MarkedTree, after: MarkedTree) -> Iterator[Dropped]:
    """The metadata of Jobs that a spec has no place for: pods do not show them."""
    if FIELDS[2] in before.value and FIELDS[2] not in after.value:
        yield from (Dropped(("template.metadata",), each) for each in unwritten(read_changes(before)))


def _in_words_of(tree: MarkedTree, target: Target) -> MarkedTree:
    spec = tree.value["spec"]
    shape = shapes.load(API_VERSION, "TrainJob", target)
    inside = shape and shape.at(("spec",))
    assert inside and inside.fields
    known = inside.fields
    field = next(each for each in reversed(FIELDS) if each in known)
    changes = read_changes(spec)
    kept = {name: each for name, each in spec.value.items() if name not in (*FIELDS, *OF_JOBSET)}
    if all(name in known for name in spec.value):
        kept = dict(spec.value)
    else:
        kept |= written(changes, field)
    if "trainer" in kept and isinstance(kept["trainer"].value, dict) and reached(target["trainer"], _NUMBERS_ONLY):
        kept["trainer"] = _with_numbers(kept["trainer"])
    return tree.with_value({**tree.value, "spec": spec.with_value(kept)})


def _with_numbers(trainer: MarkedTree) -> MarkedTree:
    """A trainer without what 2.2 refuses: words for the number of processes, and variables that the operator sets anyway."""
    fields = dict(trainer.value)
    number = fields.get("numProcPerNode")
    if number is not None and not isinstance(number.value, int):
        del fields["numProcPerNode"]
    env = [each for each in items(fields.get("env")) if text(each, "name") not in TRAINERS]
    if "env" in fields and len(env) != len(items(fields["env"])):
        fields["env"] = fields["env"].with_value(env)
    return trainer.with_value(fields)


def _repaired(tree: MarkedTree, first: Migrated) -> Iterator[MarkedTree]:
    """The job with the number of processes that its nodes had, where the releases count otherwise."""
    counts = [each.before for each in first.differences if each.key[-1] in ("PET_NPROC_PER_NODE", "nproc_per_node") and each.before]
    numbers = {_number(each) for each in counts} - {0}
    trainer = tree.value["spec"].get("trainer")
    if trainer and len(numbers) == 1:
        number = MarkedTree(numbers.pop(), (trainer.get("numProcPerNode") or trainer).mark)
        nodes = {name: each for name, each in trainer.value.items() if name == "numNodes"}
        rest = {name: each for name, each in trainer.value.items() if name not in ("numNodes", "numProcPerNode")}
        changed = trainer.with_value({**nodes, "numProcPerNode": number, **rest})
        yield tree.with_value({**tree.value, "spec": tree.value["spec"].with_value({**tree.value["spec"].value, "trainer": changed})})


def _number(fact: Fact) -> int:
    return int(fact.value) if str(fact.value).isdecimal() else 0
