"""What the trainer and JobSet do that no record shows, by their sources."""

from typing import Any

import pytest

from jobspec.apis.releases import choose
from jobspec.diagnostics.places import Mark, marks_at
from jobspec.documents.document import Document
from jobspec.operators.expansion import expand
from tests.support import quick_yaml

Data = dict[str, Any]
ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
NODE = f"""
name: node
template:
  metadata: {{labels: {{{ANCESTOR}: trainer}}}}
  spec: {{template: {{spec: {{containers: [{{name: node, image: "a:1"}}]}}}}}}
"""


def _document(kind: str, name: str, spec: Any, index: int) -> Document:
    data = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    return Document(data, marks_at(data, Mark("job.yaml", index + 1, 1)), file="job.yaml", index=index)


def _made(runtime: str, job: str = "{}", *, jobs: str = NODE, release: str = "2.3.0", template: str = "{}") -> tuple[list[Data], list[str]]:
    """The objects, and what is reported, of a job with a runtime of its own."""
    jobset = {"metadata": quick_yaml.load(template), "spec": {"replicatedJobs": list(quick_yaml.load_all(jobs))}}
    runtime_document = _document("TrainingRuntime", "own", {**quick_yaml.load(runtime), "template": jobset}, 0)
    own = {"runtimeRef": {"kind": "TrainingRuntime", "name": "own"}, **quick_yaml.load(job)}
    job_document = _document("TrainJob", "job", own, 1)
    expansion = expand(job_document, [runtime_document, job_document], choose([f"trainer={release}"]))
    return [each.data() for each in expansion.objects], [str(each.message) for each in expansion.diagnostics]


def _one(objects: list[Data], kind: str) -> Data:
    (found,) = [each for each in objects if each["kind"] == kind]
    return found


def _pods(objects: list[Data]) -> list[Data]:
    return [each for each in objects if each["kind"] == "Pod"]


def _variables(container: Data) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in container.get("env", [])}


def test_variables_of_torch_reach_the_containers_that_the_runtime_names() -> None:
    jobs = NODE.replace("containers:", 'initContainers: [{name: check, image: "b:1"}, {name: other, image: "b:1"}], containers:')
    policy = "mlPolicy: {numNodes: 2, torch: {envInjection: {targets: [{jobName: node, containerNames: [check]}]}}}"
    pod = _pods(_made(policy, jobs=jobs)[0])[1]["spec"]
    check, other = pod["initContainers"]
    found = {name: value for name, value in _variables(check).items() if name != "PET_NODE_RANK"}
    address = {"PET_MASTER_ADDR": "job-node-0-0.job", "PET_MASTER_PORT": "29500"}
    assert found == {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "1", **address, "JOB_COMPLETION_INDEX": ""}
    assert list(_variables(other)) == ["JOB_COMPLETION_INDEX"]
    assert list(_variables(pod["containers"][0])) == ["JOB_COMPLETION_INDEX"]  # the job has no `trainer`


def test_a_gang_waits_for_all_pods_and_what_they_request() -> None:
    policy = "{mlPolicy: {numNodes: 3}, podGroupPolicy: {coscheduling: {}}}"
    jobs = NODE.replace('image: "a:1"', 'image: "a:1", resources: {requests: {cpu: 500m, memory: 1Gi}}')
    objects = _made(policy, jobs=jobs)[0]
    group = _one(objects, "PodGroup")
    assert group["apiVersion"] == "scheduling.x-k8s.io/v1alpha1"
    assert group["spec"] == {"minMember": 3, "minResources": {"cpu": "1500m", "memory": "3Gi"}, "scheduleTimeoutSeconds": 60}
    assert [each["metadata"]["labels"]["scheduling.x-k8s.io/pod-group"] for each in _pods(objects)] == ["job"] * 3


def test_a_group_counts_the_resources_of_the_job_from_2_2_on() -> None:
    jobs = NODE.replace('image: "a:1"', 'image: "a:1", resources: {requests: {cpu: 1}}')
    trainer = "trainer: {numNodes: 2, resourcesPerNode: {requests: {cpu: 16}}}"
    policy = "{mlPolicy: {numNodes: 1}, podGroupPolicy: {coscheduling: {}}}"

    def reserved(release: str) -> str:
        return str(_one(_made(policy, trainer, jobs=jobs, release=release)[0], "PodGroup")["spec"]["minResources"]["cpu"])

    assert [reserved(each) for each in ("2.0.0", "2.1.0", "2.2.0", "2.3.0")] == ["2", "2", "32", "32"]


def test_volcano_takes_queue_and_priority_from_the_runtime() -> None:
    policy = "{podGroupPolicy: {volcano: {networkTopology: {mode: hard, highestTierAllowed: 1}}}}"
    jobs = NODE.replace("containers:", "priorityClassName: system-node-critical, containers:")
    template = "{annotations: {scheduling.volcano.sh/queue-name: big}}"
    objects = _made(policy, jobs=jobs, template=template)[0]
    assert _one(objects, "PodGroup")["spec"] == {
        "minMember": 1,
        "minResources": {},
        "queue": "big",
        "priorityClassName": "system-node-critical",
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    (pod,) = _pods(objects)
    assert pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "job"
    assert pod["metadata"]["labels"]["jobset.sigs.k8s.io/priority"] == "2000001000"
    assert not [
        each
        for each in _made(policy.replace("networkTopology: {mode: hard, highestTierAllowed: 1}", ""), release="2.0.0")[0]
        if each["kind"] == "PodGroup"
    ]


def test_a_priority_class_that_is_not_at_hand_leaves_no_label() -> None:
    jobs = NODE.replace("containers:", "priorityClassName: high, containers:")
    (pod,) = _pods(_made("{}", jobs=jobs)[0])
    assert "jobset.sigs.k8s.io/priority" not in pod["metadata"]["labels"]


def test_two_ports_without_a_name_become_one_twice() -> None:
    """The trainer distinguishes ports by number or name, and both have none; the server then refuses the JobSet."""
    jobs = NODE.replace('image: "a:1"', 'image: "a:1", ports: [{containerPort: 1}, {containerPort: 2}]')
    objects, reported = _made("mlPolicy: {torch: {}}", "trainer: {numNodes: 1}", jobs=jobs)
    jobset = _one(objects, "JobSet")
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    assert [each["containerPort"] for each in pod["containers"][0]["ports"]] == [2, 2]
    assert len(reported) == 1
    assert "JobSet refused" in reported[0]


def test_pods_after_the_first_follow_it_into_its_topology() -> None:
    template = "{annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: rack}}"
    first, second = _pods(_made("mlPolicy: {numNodes: 2}", template=template)[0])
    together = first["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert [(each["topologyKey"], each["namespaceSelector"]) for each in together] == [("rack", {})]
    assert "affinity" not in second["spec"]
    assert second["spec"]["nodeSelector"] == {"rack": "<random>"}


def test_claims_come_before_the_jobs_that_mount_them() -> None:
    jobs = NODE.replace('image: "a:1"', 'image: "a:1", volumeMounts: [{name: data, mountPath: /data}]')
    runtime = _document("TrainingRuntime", "own", {"template": {"spec": {"replicatedJobs": [quick_yaml.load(jobs)]}}}, 0)
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}}
    runtime.data["spec"]["template"]["spec"]["volumeClaimPolicies"] = [{"templates": [claim]}]
    runtime = Document(runtime.data, marks_at(runtime.data, Mark("job.yaml")), file="job.yaml")
    job = _document("TrainJob", "job", {"runtimeRef": {"kind": "TrainingRuntime", "name": "own"}}, 1)
    objects = [each.data() for each in expand(job, [runtime], choose(["trainer=2.2.1"])).objects]
    assert [each["kind"] for each in objects] == ["JobSet", "Service", "PersistentVolumeClaim", "Job", "Pod"]
    made = _one(objects, "PersistentVolumeClaim")
    assert (made["metadata"]["name"], made["metadata"]["ownerReferences"][0]["kind"]) == ("data-job", "JobSet")
    assert _pods(objects)[0]["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-job"}}]


def test_what_depends_on_others_waits_while_a_job_is_suspended() -> None:
    waiting = NODE.replace("name: node\n", "name: later\ndependsOn: [{name: node, status: Complete}]\n", 1)
    objects = _made("{}", "suspend: true", jobs=f"{NODE}---{waiting}")[0]
    assert [each["metadata"]["name"] for each in objects if each["kind"] in ("Job", "Pod")] == ["job-node-0"]
    objects = _made("{}", jobs=f"{NODE}---{waiting}")[0]
    assert [each["metadata"]["name"] for each in objects if each["kind"] == "Job"] == ["job-node-0", "job-later-0"]


def test_a_patch_puts_what_is_new_before_what_is_there() -> None:
    """So Kubernetes orders the result of a strategic merge."""
    jobs = NODE.replace("containers:", "volumes: [{name: x, emptyDir: {}}, {name: y, emptyDir: {}}], containers:")
    volumes = "[{name: y, emptyDir: {medium: Memory}}, {name: z, emptyDir: {}}]"
    patch = f"{{name: node, template: {{spec: {{template: {{spec: {{volumes: {volumes}}}}}}}}}}}"
    own = f"runtimePatches: [{{manager: a.b/c, trainingRuntimeSpec: {{template: {{spec: {{replicatedJobs: [{patch}]}}}}}}}}]"
    for release in ("2.2.1", "2.3.0"):
        (pod,) = _pods(_made("{}", own, jobs=jobs, release=release)[0])
        assert [each["name"] for each in pod["spec"]["volumes"]] == ["x", "y", "z"]
    (pod,) = _pods(_made("{}", own.replace("{name: y, emptyDir: {medium: Memory}}, ", ""), jobs=jobs)[0])
    assert [each["name"] for each in pod["spec"]["volumes"]] == ["z", "x", "y"]


@pytest.mark.parametrize(
    ("release", "own"),
    [
        ("2.0.0", "podSpecOverrides: [{targetJobs: [{name: node}], serviceAccountName: ''}]"),
        ("2.1.0", "podTemplateOverrides: [{targetJobs: [{name: node}], spec: {serviceAccountName: ''}}]"),
    ],
)
def test_an_empty_service_account_takes_the_runtimes_away(release: str, own: str) -> None:
    jobs = NODE.replace("containers:", "serviceAccountName: team, containers:")
    (pod,) = _pods(_made("{}", jobs=jobs, release=release)[0])
    assert pod["spec"]["serviceAccountName"] == "team"
    (pod,) = _pods(_made("{}", own, jobs=jobs, release=release)[0])
    assert "serviceAccountName" not in pod["spec"]


@pytest.mark.parametrize(
    ("own", "base", "kept"),
    [
        ("{limits: {}, requests: {cpu: 1}}", "", {"requests": {"cpu": "1"}}),
        ("{limits: {}, requests: {}}", "", {}),
        ("{limits: {}}", ", resources: {requests: {cpu: 1}}", {"requests": {"cpu": "1"}}),
    ],
)
def test_amounts_that_are_none_do_not_reach_the_jobset(own: str, base: str, kept: Data) -> None:
    """As trainer 2.3.0 makes it on a live server."""
    made, _ = _made("mlPolicy: {numNodes: 1}", f"trainer: {{resourcesPerNode: {own}}}", jobs=NODE.replace('"a:1"', f'"a:1"{base}'))
    (job,) = _one(made, "JobSet")["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] == kept


def test_flux_starts_the_program_on_all_nodes() -> None:
    jobs = NODE.replace('image: "a:1"', 'image: "a:1", command: [solve], args: [--fast]')
    objects, reported = _made("mlPolicy: {flux: {}}", "trainer: {numNodes: 2, env: [{name: FLUX_VIEW_IMAGE, value: view}]}", jobs=jobs)
    assert reported == []
    names = ["job-runtime-snapshot", "job-flux-entrypoint", "job-flux-curve"]
    assert [each["metadata"]["name"] for each in objects if each["kind"] in ("ConfigMap", "Secret")] == names
    pod = _pods(objects)[1]["spec"]
    assert [(each["name"], each["image"]) for each in pod["initContainers"]] == [("flux-installer", "view")]
    assert pod["containers"][0]["command"] == ["/bin/bash", "/etc/flux-config/entrypoint.sh", "solve"]
    assert pod["containers"][0]["args"] == ["--fast"]  # the runtime's, which the trainer forgets to take away
    mounted = {each["name"] for each in pod["containers"][0]["volumeMounts"]}
    assert mounted == {"flux-install", "spack-install", "job-flux-entrypoint", "flux-curve", "shared-memory"}
    assert {each["name"] for each in pod["volumes"]} == mounted


def test_flux_needs_a_number_of_nodes() -> None:
    objects, reported = _made("mlPolicy: {flux: {}}", "trainer: {image: b}")
    assert reported == ["the trainer crashes on a job for Flux without `numNodes`"]
    assert [each["kind"] for each in objects] == ["ConfigMap"]


@pytest.mark.parametrize(("release", "reported"), [("2.2.1", 1), ("2.3.0", 0)])
def test_a_runtime_for_jax_without_a_part_for_the_trainer(release: str, reported: int) -> None:
    objects, messages = _made("mlPolicy: {jax: {}}", jobs=NODE.replace(f"{ANCESTOR}: trainer", "a: b"), release=release)
    assert len(messages) == reported
    assert ("JobSet" in [each["kind"] for each in objects]) == (not reported)


def test_whom_others_manage_gets_nothing_from_2_3_on() -> None:
    own = "managedBy: kueue.x-k8s.io/multikueue"
    assert _made("{}", own) == ([], ["`kueue.x-k8s.io/multikueue` manages the job: the trainer creates nothing for it here"])
    assert len(_made("{}", own, release="2.2.1")[0]) == 4


@pytest.mark.parametrize(
    ("resources", "slots"),
    [
        ("{requests: {nvidia.com/gpu: 4}}", 4),
        ('{requests: {nvidia.com/gpu: "1e19"}}', 1),  # beyond 64 bits, where Go's count is 0
        ('{requests: {nvidia.com/gpu: "10E"}, limits: {nvidia.com/gpu: 2}}', 2),
        ("{limits: {nvidia.com/gpu: -2}}", 1),
    ],
)
def test_gpus_are_counted_as_the_webhook_counts_them(resources: str, slots: int) -> None:
    policy = "{mlPolicy: {mpi: {numProcPerNode: 1, mpiImplementation: OpenMPI, sshAuthMountPath: /root/.ssh}}}"
    made = _made(policy, f"{{trainer: {{resourcesPerNode: {resources}}}}}")[0]
    hosts = [each["data"]["hostfile"] for each in made if "hostfile" in each.get("data", {})]
    assert hosts == [f"job-node-0-0.job slots={slots}\n"]
