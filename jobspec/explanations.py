"""The names and explanations of rules, and the stage of each; those of webhooks and of lint are beside their functions.

They are loaded with the first diagnostic: most files have none.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    #: Who refuses: the server's decoder, its schemas and its own code, the operators' webhooks; jobspec itself, where it renders; or, of
    #: what the server has accepted, its operator; and nobody, where it runs and bites, or where a migration changes what a job means.
    Stage = Literal["decoding", "schema", "admission", "render", "outcome", "lint", "migration"]

#: Rules by their names, which are the ids in reports, the keys to ignore them and the arguments of `jobspec explain`; those of the
#: operators' webhooks stand beside their functions, and `catalogue.py` has all.
_DECODING = {
    "too-large": "The object is over 3 MiB as JSON, the most that an API server takes in one request; or the file is over 256 MiB.",
    "not-utf8": "The file is not UTF-8 text. Save it as UTF-8.",
    "yaml-syntax": "The text is not YAML, so the API server cannot decode it.",
    "wrong-indentation": "A key stands beside the field that it belongs into: the indentation was lost, often by copying.",
    "too-deep": "Values are nested more than 128 levels deep; no manifest is.",
    "excessive-aliasing": "Aliases (`*name`) multiply into far more values than the text holds; the API server refuses such a document.",
    "recursive-alias": "An alias stands inside the value that it names, so the value would contain itself.",
    "unknown-tag": "A YAML tag (`!!name`) asks for a type that Kubernetes does not have. Write the plain value.",
    "unsupported-value": "JSON, which Kubernetes speaks, cannot hold the value: infinity, not-a-number, a key that is null or no scalar.",
    "duplicate-key": "A key stands twice in one mapping. Other tools keep one of the two without a word; the API server refuses both.",
    "ambiguous-merge": "A merge key (`<<`) stands behind a key that it sets, too: tools disagree which value counts. Write `<<` first.",
    "unjudged-template": "The file is a template, or has placeholders such as `${NAME}`: what it becomes can be judged, they cannot.",
    "broken-kustomization": "kustomize cannot build this: a file is missing, or a patch does not apply. Its files are judged alone.",
    "not-a-manifest": "A manifest is a mapping with string `apiVersion` and `kind`; this document is something else.",
}
_SCHEMA = {
    "later-release": "The target is a release of an operator that came after this jobspec, which knows its webhooks as they were before.",
    "unknown-kind": "jobspec has no schema for this apiVersion and kind, so it cannot say what a server would.",
    "unknown-field": "The field does not exist at this place. Without strict validation a server drops it silently.",
    "wrong-type": "The value has another type than the field.",
    "missing-field": "A required field is absent.",
    "out-of-range": "The number lies outside of what the field can hold.",
    "wrong-size": "The text, list or object is shorter or longer than the field takes.",
    "wrong-format": "The text does not have the form that the field needs.",
    "duplicate-item": "Two items of the list have the same key.",
    "unsupported-choice": "The value is not one of those that the field takes.",
    "rule-broken": "The value breaks a rule of its kind, which the message quotes: one that sees several fields, or the object as it was.",
    "immutable-field": "An update cannot change the value: the object keeps what it was created with.",
    "wrong-combination": "The value is not what the schema's `anyOf`, `oneOf` or `not` asks for.",
    "rule-not-evaluated": "Nobody looked whether the object keeps a CEL rule of its kind, since the rule cannot be run here.",
    "invalid-crd": "The CustomResourceDefinition is none that a server takes, or its schema is not structural.",
    "conflicting-values": "Two values, each right by itself, exclude each other or contradict.",
    "missing-name": "An object needs `metadata.name` or `metadata.generateName`.",
    "invalid-name": "The name is not one that Kubernetes takes.",
    "invalid-metadata": "A label, annotation, owner or finalizer in `metadata` is not one that Kubernetes takes.",
    "refused-value": "The server refuses the value, for the reason that the message gives in the server's own words.",
}
_RENDER = {
    "no-workload": "There is no training job in the given files to apply the overlay to.",
    "invalid-overlay": "The overlay contradicts itself or uses something that it does not declare.",
    "unknown-parameter": "The overlay has no parameter of this name.",
    "missing-parameter": "The overlay needs a value for this parameter.",
    "wrong-parameter": "The value does not fit the parameter's type or limits.",
    "overlay-conflict": "Two overlays conflict: they set one field to different values, or exclude each other.",
    "missing-container": "The overlay changes a container that the job does not have.",
    "missing-role": "The overlay is for roles of which the job has none.",
    "not-expressible": "The API of this kind and release has no place for what the overlay sets.",
    "volume-not-shared": "Pods on several nodes mount one volume, which only ReadWriteMany lets them do.",
    "shell-command": "The program runs inside a shell's command string, where flags cannot be found or added safely.",
    "list-replaced": "The overlay replaces a list of the base as a whole, since its items cannot be told apart.",
    "volume-replaced": "The overlay gives a volume of the base another source, for all that mount it.",
    "invalid-project": "The project contradicts itself or uses something that it does not declare.",
    "unknown-release": "The project's target names an operator or a release that jobspec does not know.",
    "unknown-overlay": "The project names an overlay that is not there.",
    "wrong-base": "The project names a base that is not there, or that is not one training job.",
    "duplicate-variant": "Two variants of a project have one name, and would be one folder.",
    "fixed-name": "A job under a fixed name changes where it cannot in place: that is refused, has no effect, or starts the job over.",
    "runs-again": "A time to live deletes the finished job, and an engine, or the trainer of a TrainJob, makes it again: it runs anew.",
    "run-returned": "The job is an earlier run of its variant again, which `history` kept: the same object, so that nothing is started.",
    "import-differs": "A manifest cannot be imported, since its variant would not render to the same objects again.",
    "duplicate-resource": "Two documents are the same object: same kind, namespace and name.",
}
_ADMISSION = {
    "pod-security": "The Pod Security level that the labels of the namespace name forbids what the pod asks for, or wants what it lacks.",
    "outside-limit-range": "A LimitRange of the namespace allows less, or wants more, than the container, pod or claim requests.",
    "over-quota": "A ResourceQuota of the namespace leaves less than is asked for, or counts what the pod does not say.",
    "refused-by-class": "The pod contradicts its PriorityClass or RuntimeClass, from which the server takes the value itself.",
    "refused-by-account": "The ServiceAccount of the pod does not let it use the Secret.",
    "unresolved-reference": "What the manifest refers to is not at hand, so that nobody can look at it.",
    "missing-kind": "The server has no such kind: no CRD defines it there. On a cluster that is not its own, jobspec stores nothing.",
    "missing-namespace": "The server has no such namespace. On a cluster that is not its own, jobspec stores nothing, so make it first.",
    "field-conflict": "Somebody else manages the field of the live object, with another value, so that an apply is refused.",
    "refused-by-webhook": "A webhook of the cluster refuses the object, for the reason that the message gives in its own words.",
    "refused-by-server": "The server refuses the object as a whole, by a quota for example; the message gives the reason in its own words.",
    "server-warning": "The server takes the object, and warns.",
    "offline-webhooks": "The server has no webhooks of the operator, so jobspec applied their rules itself, for the target's release.",
}
_OUTCOME = {
    "pod-waits": "The server takes the pod, which then waits for ever: a claim, ConfigMap or Secret that it needs does not exist.",
    "refused-by-operator": "The server accepts the job, and its operator makes nothing of it: at most an event says why.",
    "operator-crash": "The server accepts the job, and its operator crashes on it; older releases then work for nobody any more.",
    "autoscaler-refused": "The server refuses the autoscaler that the operator makes first, so no pod follows. Mend the elastic policy.",
    "jobset-refused": "The server refuses the JobSet that the trainer makes of an accepted TrainJob, so nothing runs; only an event tells.",
    "nothing-made": "The operator makes no pods of the job as it stands, because the job says so: it is suspended, or others manage it.",
    "never-fits": "The pods of the job together ask for more than a ResourceQuota of the namespace ever allows: some are never made.",
    "pods-refused": "The server refuses pods that the operator makes of an accepted job: none comes, and at most an event tells.",
    "service-refused": "The server refuses a Service by which the pods of an accepted job find each other, so that they never meet.",
    "job-refused": "The server refuses the batch Job that JobSet makes of an accepted job, so that no pod comes; only an event tells.",
    "claim-refused": "The server refuses the claim that JobSet makes for an accepted job, so that the pods wait for ever.",
    "no-rendezvous": "Nothing tells torchrun where the pods meet: each waits at its own address for the others, for ever.",
    "trains-alone": "The program is told no rank, or reads none: all pods do the same work, each by itself.",
    "ranks-missing": "The program waits for more ranks than processes are started, for ever.",
    "wrong-process-count": "torchrun ends at once, since the number of processes is none that it takes.",
    "unknown-address": "The operator tells the pods to meet at a name that none of them has, so that they never do.",
    "unknown-flag": "The program of a container, or torchrun before it, takes no such flag, and ends at once with 2.",
    "wrong-flag-value": "The program of a container, or torchrun before it, does not take this value for a flag, and ends at once with 2.",
    "complete-without-training": "The job counts as complete, and nothing was trained.",
    "restarts-for-ever": "A job that fails starts again without end, since the count of its restarts begins anew.",
}
_MIGRATION = {
    "not-migrated": "The job cannot be migrated to this release, for the reason that the message gives; it stays as it is.",
    "migration-loss": "What the job said has no counterpart, so that its pods or its life are not what they were.",
    "migration-change": "The migrated job does another thing than before where the two kinds differ, though nothing that it said is lost.",
    "migration-note": "A value is another one, and nothing that the job runs takes notice.",
}
_CHOICE = {
    "unused-ignore": "A comment `# jobspec: ignore[rule]` ignores nothing: the rule is not broken there, or there is no such rule.",
    "stale-baseline": "The baseline has an entry for what is not wrong any more. Write it again, or it hides the next one.",
}
RULES = {**_DECODING, **_SCHEMA, **_RENDER, **_ADMISSION, **_OUTCOME, **_MIGRATION, **_CHOICE}
#: The rules about text that nobody can read, which cannot be ignored.
DECODING = frozenset(_DECODING)
STAGES: dict[str, Stage] = {
    **dict.fromkeys(_DECODING, "decoding"),
    **dict.fromkeys(_SCHEMA, "schema"),
    **dict.fromkeys(_RENDER, "render"),
    **dict.fromkeys(_OUTCOME, "outcome"),
    **dict.fromkeys(_MIGRATION, "migration"),
    **dict.fromkeys(_CHOICE, "lint"),
}
