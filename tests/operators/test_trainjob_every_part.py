"""Whatever a TrainJob or its runtime may have, something comes of it: with each part alone that they can have."""

import json
from typing import Any

import pytest

from jobspec.apis.releases import RELEASES, choose
from jobspec.diagnostics.places import Mark, marks_at
from jobspec.documents.document import Document
from jobspec.kubernetes.verdict import verdict
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from tests.agreement.parts import parts

Data = dict[str, Any]
TRAINER = "trainer.kubeflow.org/v1alpha1"
JOB = {"metadata": {"name": "a"}, "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "a"}, "trainer": {"numNodes": 2}}}
POD = {"spec": {"containers": [{"name": "node", "image": "a"}]}}
TEMPLATE = {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}, "spec": {"template": POD}}
JOBSET = {"spec": {"replicatedJobs": [{"name": "node", "template": TEMPLATE}]}}
RUNTIME = {"metadata": {"name": "a"}, "spec": {"mlPolicy": {"torch": {}}, "template": JOBSET}}


def _document(kind: str, data: Data, index: int) -> Document:
    whole = {"apiVersion": TRAINER, "kind": kind, **data}
    return Document(whole, marks_at(whole, Mark("grown.yaml", 1, 1)), file="grown.yaml", index=index)


@pytest.mark.parametrize("release", RELEASES["trainer"])
@pytest.mark.parametrize("kind", ["TrainJob", "TrainingRuntime"])
def test_every_part(kind: str, release: str) -> None:
    target = choose([f"trainer={release}"])
    expanded = 0
    for case in parts(kind, target):
        made = json.loads(case.text)
        if kind == "TrainJob":
            made["spec"]["runtimeRef"] = JOB["spec"]["runtimeRef"]
        pair = (RUNTIME, made) if kind == "TrainJob" else (made, JOB)
        runtime, job = _document("TrainingRuntime", pair[0], 0), _document("TrainJob", pair[1], 1)
        if any(each.severity == "error" for document in (runtime, job) for each in verdict(document, target).diagnostics):
            continue
        expansion = expand(job, [runtime, job], target)
        assert expansion.objects or expansion.diagnostics, case.name
        assert all(each.marks().mark.file for each in with_api_defaults(expansion.objects, [runtime], target)), case.name
        expanded += 1
    assert expanded > 60
