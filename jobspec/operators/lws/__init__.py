"""What LeaderWorkerSet makes of a LeaderWorkerSet: groups of a leader and its workers, as StatefulSets, and the Services between them."""
