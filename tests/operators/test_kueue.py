"""What Kueue does to jobs: each case says beside a job's name what becomes of it, and words of why."""

import re
from pathlib import Path

import pytest

from jobspec.apis.releases import choose
from jobspec.documents.document import items_of
from jobspec.documents.reader import read
from jobspec.operators.kueue.admission import ask, ask_in_turn
from jobspec.operators.kueue.fitting import fitting
from jobspec.operators.kueue.versions import KINDS
from jobspec.operators.kueue.workload import workload_of, workloads_of
from jobspec.operators.kueue.world import world_of
from jobspec.operators.workloads import queued_object
from jobspec.reports.queue import Asked, TextOptions, text_report
from tests.support.reference import ROOT

CASES = sorted((ROOT / "tests" / "cases" / "queues").glob("*.yaml"))
_EXPECTATION = re.compile(r"[nN]ame: .*?# ~ (\w+)(?:: (.*))?$")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_job_is_said_what_is_expected(path: Path) -> None:
    text = path.read_text()
    documents = [each for document in read(text, file=path.name)[0] for each in items_of(document)]
    world = world_of([each.data for each in documents])
    expected = {
        number: (match[1], match[2] or "") for number, line in enumerate(text.splitlines(), 1) if (match := _EXPECTATION.search(line))
    }
    found = {}
    for job in (each for each in documents if queued_object(each).group_kind in KINDS):
        answer = ask(workload_of(queued_object(job), documents, choose(()), world), world)
        line = job.marks.nearest(("metadata", "name" if job.name else "generateName")).place().line
        found[line] = answer.verdict
        asked = Asked(job, answer, room=fitting(answer, world))
        words = re.sub(r"\s+", " ", text_report([asked], world, TextOptions(100, "0.19.2", colour=False)))
        assert all(part in words for part in expected[line][1].split("; ") if part), words
    assert found == {line: verdict for line, (verdict, _) in expected.items()}


_QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
    - coveredResources: [cpu]
      flavors:
        - {name: first, resources: [{name: cpu, nominalQuota: 4}]}
        - {name: second, resources: [{name: cpu, nominalQuota: 3}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: lq, namespace: team}
spec: {clusterQueue: all}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: server, namespace: team, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  replicas: 5
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {spec: {containers: [{name: a, image: "a:1", resources: {requests: {cpu: 1}}}]}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: second}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
"""
_PLAIN = f"{_QUEUE}metadata: {{name: first}}\n"
_RUNNING = f"""{_PLAIN}---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{name: low, namespace: team}}
spec: {{priority: -1, podSets: [{{name: main, count: 1, template: {{spec: {{}}}}}}]}}
status:
  admission:
    clusterQueue: all
    podSetAssignments: [{{name: main, count: 1, flavors: {{cpu: second}}, resourceUsage: {{cpu: "2"}}}}]
"""
_RESERVED = _RUNNING.replace(
    "kind: ClusterQueue\n",
    "kind: ClusterQueue\nstatus: {flavorsReservation: [{name: first, resources: [{name: cpu, total: 0}]}, "
    "{name: second, resources: [{name: cpu, total: 2}]}]}\n",
)
_NODES = f"""{_QUEUE}metadata: {{name: first}}
spec: {{topologyName: hosts, nodeLabels: {{pool: a}}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {{name: hosts}}
spec: {{levels: [{{nodeLabel: kubernetes.io/hostname}}]}}
---
apiVersion: v1
kind: Node
metadata: {{name: n1, labels: {{pool: a, kubernetes.io/hostname: n1}}}}
status: {{allocatable: {{cpu: "3", pods: "10"}}}}
""".replace(
    "workerTemplate: {spec",
    "workerTemplate: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: kubernetes.io/hostname}}, spec",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_PLAIN, ["fits first", "fits first", "fits second", "waits", "waits"]),
        (_RUNNING, ["fits first", "fits first", "preempts second", "waits", "waits"]),
        (_RESERVED, ["fits first", "fits first", "preempts second", "waits", "waits"]),
        (_NODES, ["fits first", "waits", "waits", "waits", "waits"]),
    ],
)
def test_the_groups_of_a_leader_worker_set_are_admitted_one_after_the_other(text: str, expected: list[str]) -> None:
    documents, problems = read(text, file="groups.yaml")
    assert not problems
    world = world_of([each.data for each in documents])
    job = next(each for each in documents if each.kind == "LeaderWorkerSet")
    answers = list(ask_in_turn(workloads_of(job, documents, choose(()), world), world))
    assert [" ".join([each.verdict, *each.pod_sets[0].flavors.values()]) for each in answers] == expected
    assert [each.workload.group for each in answers] == [0, 1, 2, 3, 4]
