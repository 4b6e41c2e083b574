"""Claims that JobSet makes, and that outlive their JobSet.

Follows `validateVolumeClaimPolicies`, sigs.k8s.io/jobset pkg/webhooks, 0.11.1 to 0.12.0: the spec of a claim that exists has to equal the
template's, as both are stored. A server fills in `volumeMode`, and `volumeName` once the claim is bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobspec.apis.kinds import PERSISTENT_VOLUME_CLAIM, RUNTIMES
from jobspec.diagnostics.places import value_at
from jobspec.diagnostics.rules import Finding, Rule
from jobspec.documents.marked_tree import text
from jobspec.go.codec import encode_as_go
from jobspec.go.values import mapping
from jobspec.kubernetes.problems import listed
from jobspec.lint.linted import LintedJob
from jobspec.schemas import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jobspec.apis.releases import Target
    from jobspec.diagnostics.places import Data
    from jobspec.documents.marked_tree import MarkedTree

_RETAIN = "Retain"
_RETENTION = ("retentionPolicy", "whenDeleted")
_UNKNOWN = ("storageClassName", "volumeName", "dataSource", "dataSourceRef")
"""What a server may fill in."""
_OF_BOUND_CLAIMS = ("volumeMode", "volumeName")


def existing_claim(job: LintedJob) -> Iterator[Finding]:
    """A claim that JobSet would make exists among the files with another spec: JobSet's webhook refuses the JobSet.

    Why: from 0.11 on, the webhook compares the stored claim with the template, field by field. A template does not have what the server
    has filled in, such as `volumeMode`; and unless the template's policy is to retain the claim, it is refused in any case.
    Instead: mount the claim by `volumes`, write the template as the server stores it, or give one of them another name.
    Before: "templates: [{metadata: {name: cache}, spec: {accessModes: [ReadWriteOnce]}}], beside a claim cache-train"
    After: "volumes: [{name: cache, persistentVolumeClaim: {claimName: cache-train}}]"
    Evidence: kubernetes-sigs/jobset#1307
    """
    for policy, template in _claims(job) if job.given.group_kind not in RUNTIMES else ():
        from jobspec.operators.jobset.claims import claim_name

        name = claim_name(template.value["metadata"].value["name"], job.jobset)
        for each in job.documents.met(job.given, PERSISTENT_VOLUME_CLAIM, name):
            if value_at(each.data, ("metadata", "ownerReferences")):
                continue
            others = _differences(mapping(template.data(), "spec"), mapping(each.data, "spec"), job.target)
            if text(policy, *_RETENTION) != _RETAIN:
                message = f"JobSet refused: the claim `{name}` exists, and its policy is not to retain it"
                yield Finding(template, message, "mount it by `volumes`, or rename it")
            elif others:
                message = f"JobSet refused: the claim `{name}` exists, and differs in {listed(others)}"
                yield Finding(template, message, "write the template as the server stores the claim")


def kept_claim(job: LintedJob) -> Iterator[Finding]:
    """A claim is kept when its JobSet is deleted: JobSet's webhook then refuses the same JobSet under its name.

    Why: the webhook compares the stored claim with the template. The stored one has `volumeMode`, and once it is bound `volumeName`, which
    the template has not. A clean-up, or a TrainJob that is created again, then fails for good.
    Instead: a claim of its own that the pods mount by `volumes`, or another name for each run.
    Before: "retentionPolicy: {whenDeleted: Retain}"
    After: "volumes: [{name: cache, persistentVolumeClaim: {claimName: cache}}]"
    Evidence: kubernetes-sigs/jobset#1307
    """
    if not job.given.name:
        return  # `generateName` gives each run a name and a claim of its own
    for policy, template in _claims(job):
        missing = [each for each in _OF_BOUND_CLAIMS if not text(template, "spec", each)]
        if text(policy, *_RETENTION) == _RETAIN and missing:
            message = f"the next JobSet of this name is refused: the kept claim has {listed(missing)}, the template has not"
            yield Finding(policy.get(*_RETENTION), message, "mount a claim of its own, or rename the JobSet for each run")


def _claims(job: LintedJob) -> list[tuple[MarkedTree, MarkedTree]]:
    """The templates of claims with their policies; none for a release that makes no claims."""
    from jobspec.operators.jobset.claims import claims, makes_claims

    return claims(job.jobset) if makes_claims(job.target) else []


def _differences(template: Data, claim: Data, target: Target) -> list[str]:
    """The fields in which the spec of a template certainly differs from that of a stored claim."""
    shape = shapes.part("v1", "PersistentVolumeClaim", target, ("spec",))
    wanted, stored = encode_as_go(template, shape), encode_as_go({"volumeMode": "Filesystem", **claim}, shape)
    known = [each for each in dict.fromkeys((*stored, *wanted)) if each not in _UNKNOWN or each in stored]
    return [each for each in known if wanted.get(each) != stored.get(each)]


RULES = (
    Rule(existing_claim, "error", sees="JobSet", kinds=[PERSISTENT_VOLUME_CLAIM]),
    Rule(kept_claim, "warning", sees="JobSet", reads=["volumeClaimPolicies"]),
)
