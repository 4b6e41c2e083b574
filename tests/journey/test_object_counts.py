"""Objects of files that are more than a quota allows are refused, the last ones first."""

from jobspec.diagnostics.results import FileResult
from jobspec.journey.checking import TextFile
from jobspec.journey.journey import Journey, travel
from jobspec.journey.steps import Source
from jobspec.world.world import Cluster

QUOTA = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: team}, spec: {hard: {%s}}}\n---\n"
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: %s, namespace: %s}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: train, image: train}]}}}
---
"""
CONFIG_MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s}}\n---\n"


def refused(*texts: str, folders: list[str] | None = None) -> list[tuple[str, int]]:
    """The files and the lines of the objects that are refused."""
    places = folders or [""] * len(texts)
    files = [TextFile(Source(f"{at}.yaml", text), folder=place) for at, (text, place) in enumerate(zip(texts, places, strict=True))]
    found = travel(Journey(files, Cluster(), outcome=True))
    assert {each.rule for file in found for each in file.result.diagnostics} <= {"over-quota"}
    invalid = [row for file in found for row in file.result.documents if row.status == "invalid"]
    lines = [(file.result.path, each.mark.line) for file in found for each in file.result.diagnostics]
    assert len(invalid) == len(lines)
    return lines


def test_an_object_after_as_many_as_are_allowed_is_refused() -> None:
    jobs = [JOB % (name, "team") for name in "abc"]
    assert refused(QUOTA % "count/jobs.batch: 2" + "".join(jobs)) == [("0.yaml", 18)]
    assert refused(QUOTA % "count/jobs.batch: 3" + "".join(jobs)) == []
    assert refused(*jobs, QUOTA % "count/jobs.batch: 2") == [("2.yaml", 4)]


def test_objects_of_other_namespaces_names_and_folders_do_not_count() -> None:
    quota = QUOTA % "count/jobs.batch: 1"
    assert refused(quota + JOB % ("a", "team") + JOB % ("b", "other")) == []
    assert refused(quota + JOB % ("a", "team") + JOB % ("a", "team")) == []
    assert refused(quota, JOB % ("a", "team"), JOB % ("b", "team"), folders=["base", "dev", "prod"]) == []


def test_each_namespace_has_a_config_map() -> None:
    assert refused(QUOTA % "configmaps: 2" + CONFIG_MAP % ("a", "team")) == []
    assert refused(QUOTA % "configmaps: 1" + CONFIG_MAP % ("a", "team")) == [("0.yaml", 3)]


def test_a_quota_with_scopes_counts_no_other_objects_than_pods() -> None:
    text = QUOTA.replace("spec: {", "spec: {scopes: [BestEffort], ") % "pods: 1"
    assert refused(text + JOB % ("a", "team") + JOB % ("b", "team")) == []


def test_a_jobset_creates_no_more_objects_than_a_quota_allows() -> None:
    jobset = """
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: a, namespace: team}
spec:
  replicatedJobs:
    - name: worker
      replicas: 3
      template: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: train, image: train}]}}}}
"""
    enough, few, none = (
        result(QUOTA % f"count/jobs.batch: {jobs}, services: {services}" + jobset) for jobs, services in ((3, 1), (2, 1), (3, 0))
    )
    assert [each.message for each in enough.diagnostics] == []
    assert [(each.rule, each.mark.line) for found in (few, none) for each in found.diagnostics] == [("never-fits", 6), ("never-fits", 6)]
    assert [(row.status, row.runs) for row in few.documents[1:]] == [("valid", False)]


def result(text: str) -> FileResult:
    (found,) = travel(Journey([TextFile(Source("a.yaml", text))], Cluster(), outcome=True))
    return found.result
