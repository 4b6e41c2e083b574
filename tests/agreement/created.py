"""What real operators made of accepted jobs, and how our expansion compares with it, object by object and field by field.

The last section of the records' README says what was taken out of them; the same is taken out of ours here.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jobspec.documents.document import Document
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.operators.expansion import expand
from jobspec.operators.made import RANDOM
from tests.agreement.records import records, target_of
from tests.support.checking import documents

Object = dict[str, Any]
Name = tuple[str, str]

TOKEN_VOLUME = "kube-api-access-"

#: Kinds that are no built-in ones: records keep their `apiVersion`.
_CUSTOM = ("JobSet",)
_WATCHED = (
    *("Pod", "Service", "ConfigMap", "Secret", "JobSet", "Job", "HorizontalPodAutoscaler", "NetworkPolicy"),
    *("ServiceAccount", "Role", "RoleBinding"),
)


@dataclass(frozen=True)
class Made:
    """What came of one accepted job: the recorded objects, and ours."""

    record: str
    job: Document
    stored: Object
    theirs: dict[Name, Object]
    ours: dict[Name, Object]
    reported: list[str]
    """The rules of our diagnostics."""

    @property
    def is_whole(self) -> bool:
        """Whether every replica that was asked for has its pod and its service; where the operator makes nothing, that is all."""
        if self.reported:
            return True
        name = self.stored["metadata"]["name"]
        replicas = self.stored["spec"].get("pytorchReplicaSpecs", {})
        made = [f"{name}-{role.lower()}-{n}" for role, each in replicas.items() for n in range(each.get("replicas", 1))]
        return all((kind, each) in self.theirs for each in made for kind in ("Pod", "Service"))

    def differences(self) -> Iterator[str]:
        """Where ours are others than theirs; in a part of what was to come, everything that is there has to be among ours."""
        for name in self.theirs.keys() | (self.ours.keys() if self.is_whole else set()):
            yield from differing(self.theirs.get(name), self.ours.get(name), "/".join(name))


def differing(theirs: Any, ours: Any, path: str) -> Iterator[str]:
    """The places in which two values differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in sorted(theirs.keys() | ours.keys()):
            yield from differing(theirs.get(name), ours.get(name), f"{path}.{name}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for index, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            yield from differing(their, our, f"{path}[{index}]")
    elif theirs != ours or type(theirs) is not type(ours):
        yield f"{path}: {json.dumps(theirs)} was made, {json.dumps(ours)} is ours"


@cache
def made(golden: Path, release: str) -> list[Made]:
    """What came of all accepted PyTorchJobs of a release's records."""
    return [each for record in records(golden, release) for each in _made(record.name, record.manifest, golden, release, record.replies)]


def _made(name: str, manifest: Path, golden: Path, release: str, replies: list[Object]) -> Iterator[Made]:
    accepted = {reply["index"]: reply["stored"] for reply in replies if reply.get("stored")}
    if not any(each["kind"] == "PyTorchJob" for each in accepted.values()):
        return
    target = target_of(release)
    created = json.loads((golden / release / f"{name}.json").read_text())["created"]
    context = [each for each in documents(manifest, target) if each.index in accepted]
    for job in context:
        stored = accepted[job.index]
        if job.kind == "PyTorchJob" and stored["kind"] == "PyTorchJob":
            expansion = expand(job, context, target)
            ours = [as_recorded(each.data(), stored) for each in with_api_defaults(expansion.objects, context, target)]
            owned = [each for each in created if _is_owned(each, stored)]
            reported = [each.rule for each in expansion.diagnostics]
            yield Made(name, job, stored, by_name(owned), by_name(ours), reported)


def _is_owned(made: Object, job: Object) -> bool:
    owner = {"kind": job["kind"], "name": job["metadata"]["name"]}
    return owner in made["metadata"].get("ownerReferences", ())


def by_name(objects: Iterable[Object]) -> dict[Name, Object]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects if each["kind"] in _WATCHED}


def as_recorded(made: Object, job: Object) -> Object:
    """One of our objects with what the records lack taken out, and the name that the server has made."""
    text = json.dumps(made)
    prefix = job["metadata"].get("generateName")
    if prefix:
        text = text.replace(f"{prefix}{RANDOM}", job["metadata"]["name"])
    found: Object = json.loads(text)
    if found["kind"] not in _CUSTOM:
        del found["apiVersion"]
    found["metadata"]["namespace"] = "default"
    owners = found["metadata"]["ownerReferences"]
    found["metadata"]["ownerReferences"] = [{"kind": each["kind"], "name": each["name"]} for each in owners]
    if found["kind"] == "Pod":
        found["spec"] = without_token(found["spec"])
    return found


def without_token(spec: Object) -> Object:
    """A pod's spec without its service account's token; where no mount and no volume is left, an empty list remains."""
    made = {
        name: [without_token(each) for each in child] if name in ("containers", "initContainers") else child for name, child in spec.items()
    }
    for field in ("volumes", "volumeMounts"):
        if field in made:
            made[field] = [item for item in made[field] if not item["name"].startswith(TOKEN_VOLUME)]
    return made
