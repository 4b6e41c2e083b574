"""Training runtimes: what TrainJobs refer to, and what the trainer ships of them.

`trainer-RELEASE.json` holds the ClusterTrainingRuntimes that a release of the trainer installs by default, by name, as its
kustomization renders them; of the scripts that only demonstrate a runtime, a remark stands in their place.
"""
