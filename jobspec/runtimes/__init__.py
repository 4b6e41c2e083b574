"""Training runtimes: what a TrainJob refers to, and what it makes of it.

`trainer-RELEASE.json` holds the ClusterTrainingRuntimes that a release of the trainer installs by default, by name, as its
kustomization renders them; of the scripts that only demonstrate a runtime, a remark stands in their place.
"""
