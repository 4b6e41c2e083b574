"""The rules of lint by topic. Those that see some kinds alone are loaded where a document is of these kinds."""

from __future__ import annotations

from functools import cache

from jobspec.diagnostics.record import Record
from jobspec.lint import (
    accelerators,
    applied_again,
    communication,
    data,
    environment,
    exit_codes,
    filesystems,
    flavors,
    images,
    injected_sidecars,
    interfaces,
    istio,
    jobset_placement,
    kueue_keys,
    metadata,
    named_kinds,
    pod_groups,
    queues,
    rendezvous_services,
    restarts,
    scheduling,
    security,
    ssh_keys,
    storage,
    sync_options,
    sync_order,
    synced_values,
    taken_names,
    topology,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from jobspec.diagnostics.rules import Rule, Sees

    #: Whether a rule is looked at.
    Chosen: TypeAlias = Callable[[Rule], bool]


class KindRules(Record):
    """Rules that see documents of some kinds alone."""

    sees: frozenset[Sees]
    load: Callable[[], Sequence[Rule]]


def _of_jobsets() -> Sequence[Rule]:
    from jobspec.lint import jobset_claims, jobset_failures

    return (*jobset_failures.RULES, *jobset_claims.RULES)


def _of_queued_jobsets() -> Sequence[Rule]:
    from jobspec.lint import queued_children

    return queued_children.RULES


def _of_leader_worker_sets() -> Sequence[Rule]:
    from jobspec.lint import leader_worker_sets

    return leader_worker_sets.RULES


def _of_mpijobs() -> Sequence[Rule]:
    from jobspec.lint import mpi

    return mpi.RULES


def _of_ray() -> Sequence[Rule]:
    from jobspec.lint import ray

    return ray.RULES


def _of_trainer() -> Sequence[Rule]:
    from jobspec.lint import runtimes

    return runtimes.RULES


def _of_training_operator() -> Sequence[Rule]:
    from jobspec.lint import autoscaling, training_jobs

    return (*training_jobs.RULES, *autoscaling.RULES)


_JOBSETS = KindRules(frozenset({"JobSet"}), _of_jobsets)
_QUEUED_JOBSETS = KindRules(frozenset({"JobSet"}), _of_queued_jobsets)
_LEADER_WORKER_SETS = KindRules(frozenset({"LeaderWorkerSet"}), _of_leader_worker_sets)
_MPIJOBS = KindRules(frozenset({"MPIJob", "any MPIJob"}), _of_mpijobs)
_RAY = KindRules(frozenset({"Ray"}), _of_ray)
_TRAINER = KindRules(frozenset({"TrainJob", "runtime", "runtime's pods"}), _of_trainer)
_TRAINING_OPERATOR = KindRules(frozenset({"training-operator"}), _of_training_operator)

#: The rules by topic, in the order of `docs/rules.md`; those of some kinds are loaded where they see a document.
TOPICS: Mapping[str, tuple[Sequence[Rule] | KindRules, ...]] = {
    "accelerators": (accelerators.RULES,),
    "communication": (communication.RULES, rendezvous_services.RULES),
    "data": (data.RULES,),
    "environment": (environment.RULES,),
    "filesystems": (filesystems.RULES,),
    "images": (images.RULES,),
    "interfaces": (interfaces.RULES,),
    "istio": (istio.RULES,),
    "jobsets": (jobset_placement.RULES, _JOBSETS),
    "kueue": (queues.RULES, kueue_keys.RULES, flavors.RULES, pod_groups.RULES, _QUEUED_JOBSETS),
    "mpi": (ssh_keys.RULES, _MPIJOBS),
    "leader-worker-sets": (_LEADER_WORKER_SETS,),
    "names": (metadata.RULES, taken_names.RULES),
    "ray": (_RAY,),
    "restarts": (restarts.RULES, exit_codes.RULES, injected_sidecars.RULES),
    "runtimes": (_TRAINER,),
    "scheduling": (scheduling.RULES,),
    "security": (security.RULES,),
    "storage": (storage.RULES,),
    "sync": (synced_values.RULES, sync_options.RULES, sync_order.RULES, named_kinds.RULES, applied_again.RULES),
    "topology": (topology.RULES,),
    "training-operator": (_TRAINING_OPERATOR,),
}


def is_default(rule: Rule) -> bool:
    """True if a rule runs by default."""
    return rule.by_default


def rules_for(seen_as: tuple[Sees, ...]) -> list[Rule]:
    """Return the rules that see a document, by what it is to rules."""
    parts = [part for several in TOPICS.values() for part in several]
    seeing = [part for part in parts if not isinstance(part, KindRules) or not part.sees.isdisjoint(seen_as)]
    return [rule for part in seeing for rule in _rules_in(part) if rule.sees in seen_as]


@cache
def by_topic() -> Mapping[str, tuple[Rule, ...]]:
    """Every rule by its topic."""
    return {topic: tuple(rule for each in several for rule in _rules_in(each)) for topic, several in TOPICS.items()}


def _rules_in(part: Sequence[Rule] | KindRules) -> Sequence[Rule]:
    return part.load() if isinstance(part, KindRules) else part


@cache
def every_rule() -> tuple[Rule, ...]:
    """Every rule of lint."""
    return tuple(rule for rules in by_topic().values() for rule in rules)
