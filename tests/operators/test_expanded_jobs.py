"""What is made of Jobs, CronJobs and JobSets of a manifest: names, numbers, host names, environment."""

from jobspec.api import expand
from tests.support import quick_yaml

POD = "{spec: {restartPolicy: Never, subdomain: tune, containers: [{name: train, image: 'train:1'}]}}"


def _job(spec: str = "", metadata: str = "name: tune, namespace: team") -> str:
    return f"{{apiVersion: batch/v1, kind: Job, metadata: {{{metadata}}}, spec: {{template: {POD}, {spec}}}}}"


def _pods(manifest: str) -> list[tuple[str, str, str]]:
    """The name, the host name and the index of each pod."""
    found = []
    for pod in expand(quick_yaml.load(manifest)).of_kind("Pod"):
        spec, (container,) = pod["spec"], pod["spec"]["containers"]
        index = next((each["valueFrom"]["fieldRef"]["fieldPath"] for each in container.get("env", ())), "")
        found.append((pod["metadata"]["name"], spec.get("hostname", ""), index and pod["metadata"]["annotations"][index.split("'")[1]]))
    return found


def test_the_pods_of_an_indexed_job_have_a_number_and_a_host_name() -> None:
    found = _pods(_job("completionMode: Indexed, completions: 2, parallelism: 2"))
    assert found == [("tune-0-<random>", "tune-0", "0"), ("tune-1-<random>", "tune-1", "1")]


def test_other_pods_of_a_job_have_neither() -> None:
    assert _pods(_job("parallelism: 2")) == [("tune-<random>", "", "")] * 2
    assert _pods(_job(metadata="generateName: tune-")) == [("tune-<random>-<random>", "", "")]


def test_as_many_pods_as_run_at_once() -> None:
    assert len(_pods(_job("completions: 2, parallelism: 5"))) == 2
    assert len(_pods(_job("completions: 5, parallelism: 2"))) == 2
    assert _pods(_job("parallelism: 0")) == []


def test_nulls_are_gone_and_the_namespace_is_that_of_the_job() -> None:
    (pod,) = expand(quick_yaml.load(_job("suspend: null"))).objects
    assert pod["metadata"]["namespace"] == "team"
    assert pod["metadata"]["labels"]["job-name"] == "tune"


def test_a_suspended_job_and_one_of_other_managers_have_no_pods() -> None:
    assert _pods(_job("suspend: true")) == []
    assert _pods(_job("managedBy: example.com/other")) == []


def test_a_cron_job_makes_a_job_for_each_run() -> None:
    template = f"{{metadata: {{labels: {{team: a}}}}, spec: {{template: {POD}}}}}"
    manifest = f"{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: tune}}, spec: {{schedule: '@daily', jobTemplate: {template}}}}}"
    job, pod = expand(quick_yaml.load(manifest)).objects
    assert (job["kind"], job["metadata"]["name"], job["metadata"]["labels"]) == ("Job", "tune-<minutes>", {"team": "a"})
    assert job["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    assert job["metadata"]["annotations"] == {"batch.kubernetes.io/cronjob-scheduled-timestamp": "<time>"}
    assert pod["metadata"]["name"] == "tune-<minutes>-<random>"


def test_a_jobset_makes_a_service_jobs_and_their_pods() -> None:
    job = f"{{spec: {{completions: 2, parallelism: 2, template: {POD}}}}}"
    jobs = f"[{{name: worker, replicas: 2, template: {job}}}]"
    manifest = f"{{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {{name: tune}}, spec: {{replicatedJobs: {jobs}}}}}"
    found = [(each["kind"], each["metadata"]["name"]) for each in expand(quick_yaml.load(manifest)).objects if each["kind"] != "Pod"]
    assert found == [("Service", "tune"), ("Job", "tune-worker-0"), ("Job", "tune-worker-1")]
    names = [f"tune-worker-{job}-{index}" for job in (0, 1) for index in (0, 1)]
    assert _pods(manifest) == [(f"{name}-<random>", name, name[-1]) for name in names]


def test_a_jobset_of_another_manager_makes_nothing() -> None:
    spec = f"{{managedBy: example.com/other, replicatedJobs: [{{name: worker, template: {{spec: {{template: {POD}}}}}}}]}}"
    manifest = f"{{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {{name: tune}}, spec: {spec}}}"
    found = expand(quick_yaml.load(manifest))
    assert (list(found.objects), [each.rule for each in found.diagnostics]) == ([], ["no-pods-created"])
