"""What LeaderWorkerSet makes of a LeaderWorkerSet: groups of a leader and its workers, as StatefulSets, and the Services between them."""

PREFIX = "leaderworkerset.sigs.k8s.io"
"""Before the names of all labels and annotations."""
UNIQUE = "UniquePerReplica"
"""The policy of subdomains by which each group has a Service of its own, in the place of one with the object's name."""
EXCLUSIVE, SUBGROUP_EXCLUSIVE = f"{PREFIX}/exclusive-topology", f"{PREFIX}/subgroup-exclusive-topology"
"""The annotations that name the level of a topology whose places groups, or subgroups, have for themselves."""
