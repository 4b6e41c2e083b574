"""Training runtimes: those that TrainJobs refer to, and those that the trainer ships.

`trainer-RELEASE.json` holds the ClusterTrainingRuntimes that a release of the trainer installs by default, by name, as its
kustomization renders them; demonstration scripts in them are replaced by a remark.
"""
