"""What real trainers, with JobSet and Kubernetes behind them, made of accepted TrainJobs, and how our expansion compares with it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jobspec.apis.kinds import CLUSTER_TRAINING_RUNTIME, TRAINJOB
from jobspec.diagnostics.places import Mark, marks_at
from jobspec.documents.document import Document
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.trainer.objects import expand_trainjob
from jobspec.operators.trainer.runtimes import RuntimeReference, is_meant, shipped
from tests.agreement.created import Name, Object, as_recorded, by_name, differing
from tests.agreement.records import Record, records, target_of
from tests.support import quick_yaml
from tests.support.checking import documents

_IS_REMARK = '"# the demonstration that comes with the runtime" is ours'


@dataclass(frozen=True)
class MadeOfTrainJobs:
    """What came of the accepted TrainJobs of one file: the recorded objects, and ours."""

    record: str
    theirs: dict[Name, Object]
    ours: dict[Name, Object]
    reported: list[str]
    """The rules of our diagnostics."""

    @property
    def is_whole(self) -> bool:
        """Whether all that was to come had come: the JobSet, all its Jobs, and all their pods, where it is not suspended."""
        jobsets = [each for (kind, _), each in self.theirs.items() if kind == "JobSet"]
        return self.reported == ["no-pods-created"] or (bool(jobsets) and all(_is_whole(each, self.theirs) for each in jobsets))

    def differences(self) -> Iterator[str]:
        """Where ours are others than theirs; in a part of what was to come, everything that is there has to be among ours.

        What is known to differ is not among them.
        """
        return (each for each in self._differing() if not each.endswith(_IS_REMARK))

    @property
    def has_remark(self) -> bool:
        """Whether a command is only a remark in ours: upstream's demonstrations are no part of the runtimes that jobspec ships."""
        return any(each.endswith(_IS_REMARK) for each in self._differing())

    def _differing(self) -> Iterator[str]:
        for name in self.theirs.keys() | (self.ours.keys() if self.is_whole else set()):
            yield from differing(self.theirs.get(name), self.ours.get(name), "/".join(name))


def _is_whole(jobset: Object, there: Mapping[Name, Object]) -> bool:
    suspended = jobset["spec"]["suspend"]
    replicated = [each for each in jobset["spec"]["replicatedJobs"] if not (suspended and each.get("dependsOn"))]
    names = [f"{jobset['metadata']['name']}-{each['name']}-{index}" for each in replicated for index in range(each["replicas"])]
    jobs = [there.get(("Job", name)) for name in names]
    return all(job is not None and (suspended or _has_pods(job, there)) for job in jobs)


def _has_pods(job: Object, there: Mapping[Name, Object]) -> bool:
    owner = [{"kind": "Job", "name": job["metadata"]["name"]}]
    owned = [name for name, each in there.items() if name[0] == "Pod" and each["metadata"]["ownerReferences"] == owner]
    return len(owned) == job["spec"]["parallelism"]


@cache
def made_of_trainjobs(golden: Path, release: str) -> list[MadeOfTrainJobs]:
    """What came of all files of a release's records in which a TrainJob was accepted."""
    return [found for record in records(golden, release) if (found := _made(record, golden))]


def _made(record: Record, golden: Path) -> MadeOfTrainJobs | None:
    accepted = {reply["index"]: reply["stored"] for reply in record.replies if reply.get("stored")}
    if not any(each["kind"] == "TrainJob" for each in accepted.values()):
        return None
    target = target_of(record.release)
    there = [_named(each, accepted[each.index]) for each in documents(record.manifest, target) if each.index in accepted]
    expansions = [expand_trainjob(job, _runtime_of(job, there, target), target) for job in there if job.group_kind == TRAINJOB]
    ours = [
        _in_form_of_records(as_recorded(each.data(), {"metadata": {}}))
        for expansion in expansions
        for each in with_api_defaults(expansion.objects, there, target)
    ]
    recorded = json.loads((golden / record.release / f"{record.name}.json").read_text())["created"]
    reported = [each.rule for expansion in expansions for each in expansion.diagnostics]
    return MadeOfTrainJobs(record.name, by_name(recorded), by_name(ours), reported)


def _named(document: Document, stored: Object) -> Document:
    """A document with the name that the server has made for it."""
    if document.name:
        return document
    metadata = {**document.data["metadata"], "name": stored["metadata"]["name"]}
    data = {**document.data, "metadata": metadata}
    return Document(data, marks_at(data, Mark(document.file)), file=document.file, index=document.index)


def _runtime_of(job: Document, there: Sequence[Document], target: Mapping[str, str]) -> Document | None:
    ref = RuntimeReference(job.data)
    data = _of_source_tree(target["trainer"]).get(ref.name) if ref.group_kind == CLUSTER_TRAINING_RUNTIME else None
    shipped_one = Document(data, marks_at(data, Mark(ref.name)), file=ref.name) if data else None
    return next((each for each in there if is_meant(ref, job, each)), shipped_one)


@cache
def _of_source_tree(release: str) -> dict[str, Any]:
    """The shipped runtimes as the records' servers had them: those of upstream's source tree, without the tags and labels of a release."""
    text = re.sub(r"(ghcr\.io/kubeflow/trainer/[\w.-]+):v[\d.]+", r"\1", json.dumps(shipped({"trainer": release})))
    found: dict[str, Any] = json.loads(text)
    for runtime in found.values():
        runtime["metadata"].get("labels", {}).pop("trainer.kubeflow.org/webhook-validation", None)
    return found


def _in_form_of_records(made: Object) -> Object:
    """One of our objects without what no record has of its kind: a Job's template, secret values, the text of a runtime."""
    if made["kind"] == "Job":
        return {**made, "spec": {name: each for name, each in made["spec"].items() if name != "template"}}
    if made["kind"] == "Secret":
        return {**made, "data": dict.fromkeys(made["data"], "<secret>")}
    if "runtime" in made.get("data", {}):
        return {**made, "data": {"runtime": quick_yaml.load(made["data"]["runtime"])}}
    return made
