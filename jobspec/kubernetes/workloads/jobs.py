"""Check a Job as the API server's Go code does: its spec, selector, failure and success policies, and what an update changes.

Follows `ValidateJob`, k8s.io/kubernetes pkg/apis/batch/validation, with the defaults of pkg/apis/batch/v1, and `jobStrategy`,
pkg/registry/batch/job, 1.30 to 1.37.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data, Key, Path
from jobspec.diagnostics.problems import Problem, Problems
from jobspec.go.values import is_given, items, mapping, number, string_map, structs, text
from jobspec.kubernetes import metadata
from jobspec.kubernetes.label_selectors import selector_problems
from jobspec.kubernetes.pods.pod import with_template
from jobspec.kubernetes.problems import (
    at_most,
    choice,
    closest,
    describe,
    excluded,
    field_items,
    fixed,
    formed,
    listed,
    missing,
    one_of,
    outside,
    required,
    required_choice,
    within,
)
from jobspec.kubernetes.workloads.selectors import misses, negative_numbers, same, same_pods, unmatched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_TEMPLATE = ("spec", "template")


def job_problems(data: Data, old: Data | None, release: str) -> Problems:
    """Yield the problems of a new Job, or of an update of *old*."""
    return with_template(_job_problems(data, old, release), mapping(data, *_TEMPLATE), release)


def _job_problems(data: Data, old: Data | None, release: str) -> Problems:
    """The problems apart from those of the pod template."""
    data = _without_disabled(data, release, is_new=old is None)
    spec = with_defaults(mapping(data, "spec"))
    if old is not None:
        yield from job_update_problems(data, old, release)
    yield from job_selector(data, old, release)
    yield from job_spec(spec, ("spec",))
    yield from _host_names(data, spec)


def _without_disabled(data: Data, release: str, *, is_new: bool) -> Data:
    """Return a Job without the fields of features that are off in a release.

    A manager is dropped only from new Jobs.
    """
    off = disabled_fields_of_job(release) - (set() if is_new else {"managedBy"})
    spec = mapping(data, "spec")
    return data if off.isdisjoint(spec) else {**data, "spec": {name: each for name, each in spec.items() if name not in off}}


def disabled_fields_of_job(release: str) -> set[str]:
    """Return the fields of a new Job's spec whose features are off in a release.

    The server drops them.
    """
    on_since = {"managedBy": "1.32", "successPolicy": "1.31"}
    return {"scheduling", *(name for name, since in on_since.items() if not is_at_least(release, since))}


def with_defaults(spec: Data) -> Data:
    """Fill in the defaults of `parallelism` and `completions` in a Job's spec.

    `completions` has a default only if both are absent.
    """
    if is_given(spec, "parallelism") or is_given(spec, "completions"):
        return spec if is_given(spec, "parallelism") else {**spec, "parallelism": 1}
    return {**spec, "parallelism": 1, "completions": 1}


def _host_names(data: Data, spec: Data) -> Problems:
    """Yield the problem of an Indexed Job whose last pod would get an invalid host name."""
    completions = number(spec, "completions") or 0
    if text(spec, "completionMode") != "Indexed" or completions <= 0:
        return
    host = f"{name_of_job(data)}-{completions - 1}"
    if why := metadata.bad_label_name(host):
        yield Problem("invalid-name", ("metadata", "name"), f"the last pod of the Job would have the host name `{host}`, and cannot: {why}")


# The spec of a Job, and of the Jobs that a CronJob makes: numbers of pods and failures, modes, policies, pods that end.
#
# Follows `validateJobSpec`, k8s.io/kubernetes pkg/apis/batch/validation, 1.36.


_INDEXED = "Indexed"
_NUMBERS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
#: The most pods at a time, and failed indexes, of an Indexed Job; with more completions than that, fewer of both are allowed.
_MAX_INDEXED_COMPLETIONS, _FEWER = 100_000, 10_000


def job_spec(spec: Data, path: Path) -> Problems:
    """Yield the problems of a Job's spec, except those of its selector and pod template."""
    yield from negative_numbers(spec, _NUMBERS, path)
    if is_given(spec, "maxFailedIndexes") and not is_given(spec, "backoffLimitPerIndex"):
        yield missing("backoffLimitPerIndex", spec, path, "`maxFailedIndexes` counts the indexes that fail more often")
    if is_given(spec, "managedBy"):
        yield from managed_by(text(spec, "managedBy"), (*path, "managedBy"))
    mode = text(spec, "completionMode") if is_given(spec, "completionMode") else "NonIndexed"
    yield from one_of(mode, ("NonIndexed", _INDEXED), (*path, "completionMode"))
    yield from _indexed(spec, path) if mode == _INDEXED else ()
    for name in ("backoffLimitPerIndex", "maxFailedIndexes") if mode == "NonIndexed" else ():
        if is_given(spec, name):
            yield _needs_indexes(name, path)
    if is_given(spec, "podFailurePolicy"):
        yield from failure_policy(spec, path)
    if is_given(spec, "successPolicy"):
        yield from success_policy(spec, path) if mode == _INDEXED else [_needs_indexes("successPolicy", path)]
    yield from choice(spec, "podReplacementPolicy", ("Failed", "TerminatingOrFailed"), path)
    if text(spec, "podReplacementPolicy") == "TerminatingOrFailed" and is_given(spec, "podFailurePolicy"):
        message = "beside `podFailurePolicy`, pods are replaced once they are `Failed`"
        yield excluded((*path, "podReplacementPolicy"), message, "write `Failed`")
    yield from _restarts(spec, path)


def _indexed(spec: Data, path: Path) -> Problems:
    parallel, failed, completions = number(spec, "parallelism"), number(spec, "maxFailedIndexes"), number(spec, "completions")
    if completions is None:
        yield missing("completions", spec, path, "an Indexed Job has a number for each completion; write it beside `parallelism`")
    if failed is not None and completions is not None and failed > completions:
        message = f"`maxFailedIndexes` is at most the number of `completions`, {completions}, not {failed}"
        yield Problem("out-of-range", (*path, "maxFailedIndexes"), message)
    is_large = completions is not None and completions > _MAX_INDEXED_COMPLETIONS and is_given(spec, "backoffLimitPerIndex")
    if is_large and failed is None:
        hint = f"more than {_MAX_INDEXED_COMPLETIONS:,} completions with `backoffLimitPerIndex` need it"
        yield missing("maxFailedIndexes", spec, path, hint)
    for name, value in (("parallelism", parallel), ("maxFailedIndexes", failed)):
        most = _FEWER if is_large else _MAX_INDEXED_COMPLETIONS
        yield from within(value or 0, None, most, (*path, name))


def _needs_indexes(name: str, path: Path) -> Problem:
    message = f"`{name}` needs `completionMode: Indexed`"
    return excluded((*path, name), message, "write `completionMode: Indexed`, or remove it", at_key=True)


def _restarts(spec: Data, path: Path) -> Problems:
    at, pod = (*path, "template", "spec"), mapping(spec, "template", "spec")
    policy = text(pod, "restartPolicy")
    if policy == "Always":
        yield Problem("unsupported-choice", (*at, "restartPolicy"), "`restartPolicy` of a Job must be `OnFailure` or `Never`, not `Always`")
    else:
        hint = "the default, `Always`, is not allowed in a Job: write `Never` or `OnFailure`"
        yield from required_choice(pod, "restartPolicy", ("OnFailure", "Never"), at, hint)
    if policy == "OnFailure" and is_given(spec, "podFailurePolicy"):
        message = f"`podFailurePolicy` needs `restartPolicy: Never`, not {describe(policy)}: it counts failed pods"
        yield Problem("conflicting-values", (*at, "restartPolicy"), message)


# The selector of a Job and the labels of its pods, which the server writes itself unless `manualSelector` is set.
#
# Follows `generateSelector`, k8s.io/kubernetes pkg/registry/batch/job, `validateGeneratedSelector` and `ValidateJobSpec`,
# pkg/apis/batch/validation, 1.36.


_UIDS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAMES = ("job-name", "batch.kubernetes.io/job-name")
#: The labels that the server adds to the pods of a Job.
GENERATED = (*_UIDS, *_NAMES)
#: The UID that the server gives a new Job, which nobody can know before.
_NEW_UID = "\N{REPLACEMENT CHARACTER}"


def job_selector(data: Data, old: Data | None, release: str) -> Problems:
    """Yield the problems of the selector and of the labels of a Job's pods.

    If *old* is given, the Job is an update of it.
    """
    spec = mapping(data, "spec")
    if spec.get("manualSelector") is not True:
        uid, is_checked = _NEW_UID if old is None else _uid_of(data, old), old is None or not is_at_least(release, "1.37")
        yield from _generated(spec, name_of_job(data), uid, is_checked=is_checked)
    elif spec.get("selector") is not None:
        wrong = list(selector_problems(spec["selector"], ("spec", "selector")))
        yield from wrong or unmatched(spec["selector"], spec)
    elif old is None:
        yield missing("selector", spec, ("spec",), "`manualSelector: true` needs it; best leave both out")


def name_of_job(data: Data) -> str:
    """Return the name of a Job, or one as the server makes it."""
    own = mapping(data, "metadata")
    name, prefix = text(own, "name"), text(own, "generateName")
    return name or (metadata.generated_name(prefix) if prefix else "")


def _uid_of(data: Data, old: Data) -> str:
    """The UID of a stored Job, from wherever it is known."""
    labels = string_map(mapping(data, "spec", "template", "metadata"), "labels")
    known = [text(mapping(each, "metadata"), "uid") for each in (old, data)]
    written = [labels.get(key, "") for key in reversed(_UIDS)]
    return next(filter(None, [*known, *filter(_is_uid, written)]), _NEW_UID)


def _is_uid(value: str) -> bool:
    """Whether a text looks like the UIDs of a server, which are UUIDs."""
    return [len(part) for part in value.split("-")] == [8, 4, 4, 4, 12]


def _generated(spec: Data, name: str, uid: str, *, is_checked: bool) -> Problems:
    """The problems of a selector and of labels that the server writes.

    *is_checked*: all have to be the server's own. If not, one label has to be the UID, and the selector has to match the labels.
    """
    labels, at = string_map(mapping(spec, "template", "metadata"), "labels"), ("spec", "template", "metadata", "labels")
    of_server = GENERATED if is_checked else _UIDS[1:]
    for key in _UIDS:
        if key in of_server and labels.get(key, uid) != uid:
            yield excluded((*at, Key(key)), f"the label `{key}` of a Job's pods is the Job's UID, which the server sets")
    for key in _NAMES:
        if key in of_server and labels.get(key, name) != name:
            message = f"the label `{key}` of a Job's pods is the Job's name, `{name}`, not \"{labels[key]}\""
            yield excluded((*at, Key(key)), message, "remove it; the server sets it")
    if is_checked and not metadata.bad_subdomain(name) and (why := metadata.bad_label_value(name)):
        yield Problem("invalid-name", ("metadata", "name"), f"`{name}` becomes a label of the Job's pods, `job-name`, and cannot: {why}")
    selector, generated = mapping(spec, "selector"), {**dict.fromkeys(_UIDS, uid), **dict.fromkeys(_NAMES, name)}
    wrong = list(selector_problems(selector, ("spec", "selector")))
    yield from wrong
    missed = [] if wrong else (is_checked and misses(selector, generated)) or misses(selector, {**generated, **labels})
    if missed:
        message = f"the server writes the selector of a Job; this one requires {', '.join(missed)}, which its pods do not have"
        yield excluded(("spec", "selector"), message, "remove `selector`", at_key=True)


# A Job's `podFailurePolicy`: what failures of its pods lead to.
#
# Follows `validatePodFailurePolicy`, k8s.io/kubernetes pkg/apis/batch/validation, with the defaults of pkg/apis/batch/v1, 1.36.


_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUS = ("False", "True", "Unknown")
_MOST_RULES, _MOST_CONDITIONS, _MOST_CODES = 20, 20, 255


def failure_policy(spec: Data, path: Path) -> Problems:
    """Yield the problems of the policy of a Job's spec."""
    policy, at = mapping(spec, "podFailurePolicy"), (*path, "podFailurePolicy")
    yield from at_most(_MOST_RULES, len(items(policy, "rules")), "rule", (*at, "rules"))
    pod = mapping(spec, "template", "spec")
    containers = [text(each, "name") for field in ("containers", "initContainers") for each in structs(pod, field)]
    for place, rule in field_items(policy, "rules", at):
        yield from _failure_rule(rule, place, containers, by_index=is_given(spec, "backoffLimitPerIndex"))


def _failure_rule(rule: Data, path: Path, containers: list[str], *, by_index: bool) -> Problems:
    action = text(rule, "action")
    yield from required_choice(rule, "action", _ACTIONS, path, f"it is one of {listed(_ACTIONS)}")
    if action == "FailIndex" and not by_index:
        message = "`FailIndex` fails an index, and indexes fail by themselves only with `backoffLimitPerIndex`"
        yield excluded((*path, "action"), message, "set `backoffLimitPerIndex`, or write `FailJob`")
    codes, conditions = rule.get("onExitCodes"), items(rule, "onPodConditions")
    if codes is not None:
        yield from _exit_codes(mapping(codes), (*path, "onExitCodes"), containers)
    yield from at_most(_MOST_CONDITIONS, len(conditions), "condition", (*path, "onPodConditions"))
    for at, condition in field_items(rule, "onPodConditions", path):
        yield from formed(text(condition, "type"), "type of a condition", metadata.bad_qualified_name, (*at, "type"))
        yield from one_of(text(condition, "status") or "True", _STATUS, (*at, "status"))
    if (codes is not None) == bool(conditions):
        has = "has both" if conditions else "has neither"
        message = f"a rule needs either `onExitCodes` or `onPodConditions`; this one {has}"
        yield Problem("conflicting-values" if conditions else "missing-field", path, message)


def _exit_codes(codes: Data, path: Path, containers: list[str]) -> Problems:
    operator = text(codes, "operator")
    yield from required_choice(codes, "operator", ("In", "NotIn"), path, "it is `In` or `NotIn`")
    name = text(codes, "containerName")
    if is_given(codes, "containerName") and name not in containers:
        message = f"the pod template has no container `{name}`; there is {listed(containers) or 'none'}"
        yield Problem("unsupported-choice", (*path, "containerName"), message, closest(name, containers))
    values, at = items(codes, "values"), (*path, "values")
    yield from required(codes, "values", path, "it is a list of exit codes, such as `[42]`")
    yield from at_most(_MOST_CODES, len(values), "exit code", at)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield Problem("out-of-range", (*at, index), "exit code 0 is success, and not allowed with `In`")
        if value in values[:index]:
            yield Problem("duplicate-item", (*at, index), f"duplicate exit code {value}", "remove one of the two")
    if values != sorted(values):
        yield Problem("wrong-format", at, "the exit codes must be in ascending order", f"write `{sorted(values)}`")


# A Job's `successPolicy`: which of its indexes, or how many, are enough.
#
# Follows `validateSuccessPolicy`, `validateIndexesFormat` and `parseIndexInterval`, k8s.io/kubernetes pkg/apis/batch/validation, 1.36. A
# policy of a Job without `completions` makes the server panic; here the missing field is reported.


_LONGEST = 64 * 1024


def success_policy(spec: Data, path: Path) -> Problems:
    """Yield the problems of the policy of an Indexed Job's spec."""
    policy, at = mapping(spec, "successPolicy"), (*path, "successPolicy")
    yield from required(policy, "rules", at, "it is a list of `succeededIndexes`, `succeededCount` or both")
    yield from at_most(_MOST_RULES, len(items(policy, "rules")), "rule", (*at, "rules"))
    for place, rule in field_items(policy, "rules", at):
        yield from _success_rule(rule, number(spec, "completions"), place)


def _success_rule(rule: Data, completions: int | None, path: Path) -> Problems:
    indexes, count = rule.get("succeededIndexes"), number(rule, "succeededCount")
    if indexes is None and count is None:
        yield Problem("missing-field", path, "a rule needs `succeededIndexes`, `succeededCount` or both")
    if completions is None:
        return
    total = None
    if indexes is not None:
        at = (*path, "succeededIndexes")
        yield from at_most(_LONGEST, len(text(rule, "succeededIndexes").encode()), "character", at)
        total, why = _number_of(text(rule, "succeededIndexes"), completions)
        if why:
            yield Problem("wrong-format", at, f"`succeededIndexes` takes indexes in order, such as `0,2-4`: {why}")
    if count is None:
        return
    at = (*path, "succeededCount")
    if count < 0:
        yield outside(count, 0, None, at)
    elif count > completions:
        yield Problem("out-of-range", at, f"`succeededCount` is at most the number of `completions`, {completions}, not {count}")
    elif total is not None and count > total:
        yield Problem("out-of-range", at, f"`succeededCount` is {count}, and `succeededIndexes` names {total}, so it is never reached")


def _number_of(indexes: str, completions: int) -> tuple[int, str]:
    """How many indexes a text names, and what is wrong with it."""
    last, total = -1, 0
    for interval in indexes.split(",") if indexes else ():
        ends = interval.split("-")
        if len(ends) > 2:
            return 0, f"`{interval}` has more than two parts"
        for end in ends:
            if not (end.removeprefix("+").isdecimal() and end.isascii() and len(end) < 19):
                return 0, f'"{end}" is not a number'
            if int(end) >= completions:
                return 0, f"{end} is not below the number of `completions`, {completions}"
        first, final = int(ends[0]), int(ends[-1])
        if first <= last or (len(ends) > 1 and first >= final):
            return 0, f"`{interval}` does not ascend"
        last, total = final, total + final - first + 1
    return total, ""


# The controller that a Job is left to, `managedBy`: a domain and a path.
#
# Follows `IsDomainPrefixedPath`, k8s.io/apimachinery pkg/util/validation, 0.36, and `validateJobSpec`, k8s.io/kubernetes
# pkg/apis/batch/validation, 1.36.


_PATH = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~%!$&'()*+,;=:")
_MAX_MANAGER_LENGTH = 63


def managed_by(name: str, path: Path) -> Problems:
    """Yield the problems of a controller's name."""
    domain, _, rest = name.partition("/")
    if not domain or not rest:
        yield Problem("wrong-format", path, f'`managedBy` is a domain and a path, such as `kueue.x-k8s.io/multikueue`, not "{name}"')
    elif why := metadata.bad_subdomain(domain):
        yield Problem("wrong-format", path, f"`{domain}` in `managedBy` is not a domain: {why}")
    elif not _PATH.issuperset(rest):
        yield Problem("wrong-format", path, f"`{rest}` in `managedBy` is not a path of a URL")
    yield from at_most(_MAX_MANAGER_LENGTH, len(name.encode()), "character", path)


# Updates of a Job: most fields are immutable, except the scheduling directives of a suspended Job.
#
# Follows `ValidateJobSpecUpdate`, k8s.io/kubernetes pkg/apis/batch/validation, and `validationOptionsForJob`, pkg/registry/batch/job,
# 1.30 to 1.37.
# What the server filled in (the selector, labels of the pods, numbers) stays as it is if neither state has it.


_SPEC: Path = ("spec",)
_FIXED = ("podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
CHANGEABLE_OF_PODS = ("nodeSelector", "tolerations", "schedulingGates")
_ANEW = "restore the old value, or create a Job of another name"
#: What of the metadata of a suspended Job's pods may change; all of it from 1.36 on.
_FREE: Data = {"labels": None, "annotations": None}


def job_update_problems(data: Data, old: Data, release: str) -> Problems:
    """Yield the problems of changes from the stored Job *old* to *data*."""
    new_spec, old_spec = mapping(data, "spec"), mapping(old, "spec")
    yield from _completions(new_spec, old_spec)
    for name in _FIXED:
        if not same(new_spec.get(name), old_spec.get(name), name):
            yield _fixed(name)
    if (text(new_spec, "completionMode") or "NonIndexed") != (text(old_spec, "completionMode") or "NonIndexed"):
        yield _fixed("completionMode")
    new, was = new_spec.get("selector"), old_spec.get("selector") or {}
    # an empty `matchLabels` takes away what the server added
    is_emptied = isinstance(new, dict) and new.get("matchLabels") == {} and new != was
    of_server = {} if old_spec.get("manualSelector") is True else {_UIDS[1]: _uid_of(data, old)}
    if new is not None and (is_emptied or not same(_selector_as_stored(new, of_server), _selector_as_stored(was, of_server))):
        yield _fixed("selector")
    yield from _template(mapping(new_spec, "template"), mapping(old_spec, "template"), old, _of_server(data, old, release), release)


def _fixed(name: str) -> Problem:
    return fixed((*_SPEC, name), f"`{name}` of a Job cannot change", _ANEW)


def _completions(new: Data, old: Data) -> Problems:
    now, was, parallel = number(new, "completions"), _default(old), number(new, "parallelism")
    if not is_given(new, "completions") and not is_given(old, "completions"):
        if is_given(old, "parallelism") and not is_given(new, "parallelism"):
            message = "without `parallelism` and `completions` the server writes 1 for both, and `completions` of a Job cannot change; "
            yield fixed((*_SPEC, "completions"), message + _was(None), "write `parallelism`")
        return
    now = _default(new) if now is None else now
    if now == was:
        return
    if text(new, "completionMode") != "Indexed":
        yield fixed((*_SPEC, "completions"), f"`completions` of a Job cannot change; {_was(was)}", _ANEW)
    elif now is not None and now != (1 if parallel is None else parallel):
        message = f"`completions` of an Indexed Job changes together with `parallelism`, and to the same number; {_was(was)}"
        yield fixed((*_SPEC, "completions"), message, f"write {now} for both")


def _default(spec: Data) -> int | None:
    """The completions of a Job: one where it says neither them nor how many pods run at a time."""
    return number(spec, "completions") if is_given(spec, "completions") or is_given(spec, "parallelism") else 1


def _was(number_: int | None) -> str:
    return "there were none" if number_ is None else f"they were {number_}"


def _selector_as_stored(selector: Any, of_server: dict[str, str]) -> Any:
    """A selector with the label that the server adds to it."""
    labels = {**of_server, **string_map(selector, "matchLabels")}
    return {**selector, "matchLabels": labels} if isinstance(selector, dict) else selector


def _of_server(data: Data, old: Data, release: str) -> dict[str, str]:
    """Return the labels that the server wrote into the pods, if an update may change them.

    That is so from 1.37 on; before, there are none.
    """
    if not is_at_least(release, "1.37"):
        return {}
    return {**dict.fromkeys(_NAMES, name_of_job(old)), **dict.fromkeys(_UIDS, _uid_of(data, old))}


def _template(new: Data, old: Data, job: Data, written: dict[str, str], release: str) -> Problems:
    new_pod, old_pod = mapping(new, "spec"), mapping(old, "spec")
    is_relabeled = not same(_metadata_without_generated(new, written), _metadata_without_generated(old, written)) or _regenerates(new, old)
    if not mapping(job, "spec").get("suspend"):
        if is_relabeled or not same_pods(new_pod, old_pod, release):
            message = "the pod template of a Job cannot change, unless the Job is suspended"
            yield fixed(_TEMPLATE, message, "create a Job of another name", at_key=True)
    elif _is_at_rest(job, release):
        sized = is_at_least(release, "1.36")
        is_renamed = not sized and not same(_metadata_without_generated(new, {}) | _FREE, _metadata_without_generated(old, {}) | _FREE)
        if is_renamed or not same_pods(new_pod, _scheduled(new_pod, old_pod, sized=sized), release):
            what = "labels, annotations and resources" if sized else "labels and annotations"
            message = f"of the pods of a suspended Job, only what decides on their nodes can change, their {what}"
            yield fixed((*_TEMPLATE, "spec"), message, "create a Job of another name", at_key=True)
    elif is_relabeled or not same_pods(new_pod, old_pod, release):
        when, hint = "once the Job has started", "create a Job of another name"
        if is_at_least(release, "1.36"):
            when, hint = "before all of its pods have gone", "wait until the suspended Job has no pods"
        yield fixed(_TEMPLATE, f"the pod template of a Job cannot change {when}", hint, at_key=True)


def _is_at_rest(job: Data, release: str) -> bool:
    """True if a suspended Job has no pods left, and gets no more.

    Before 1.36, it must never have started.
    """
    status = mapping(job, "status")
    if not is_at_least(release, "1.36"):
        return not is_given(status, "startTime")
    suspended = any(text(each, "type") == "Suspended" and text(each, "status") == "True" for each in structs(status, "conditions"))
    return not number(status, "active") and (suspended or not is_given(status, "startTime"))


def _metadata_without_generated(template: Data, written: dict[str, str]) -> Data:
    """Return the metadata of a template without the labels that the server adds.

    Labels whose values differ from the ones *written* stay.
    """
    own = mapping(template, "metadata")
    labels = {key: value for key, value in string_map(own, "labels").items() if key not in GENERATED or written.get(key, value) != value}
    return {name: each for name, each in {**own, "labels": labels}.items() if name != "creationTimestamp"}


def _regenerates(new: Data, old: Data) -> bool:
    """Whether a template says another value for a label that the server added to the old one."""
    labels, labels_before = (string_map(mapping(each, "metadata"), "labels") for each in (new, old))
    return any(labels.get(name, before) != before for name, before in labels_before.items() if name in GENERATED)


def _scheduled(new: Data, old: Data, *, sized: bool) -> Data:
    """Return the old spec of the pods with the new values of the fields that may change.

    These are the choice of nodes and, if *sized*, the resources.
    """
    affinity = {name: each for name, each in mapping(old, "affinity").items() if name != "nodeAffinity"}
    on_nodes = {name: each for name, each in mapping(new, "affinity").items() if name == "nodeAffinity"}
    taken = {name: new[name] for name in CHANGEABLE_OF_PODS if name in new}
    fields = [field for field in ("containers", "initContainers") if field in old and sized]
    resized: Data = {field: _sized(structs(new, field), structs(old, field)) for field in fields}
    kept = {name: each for name, each in old.items() if name not in (*CHANGEABLE_OF_PODS, "affinity")}
    has_any = affinity or "affinity" in new
    return {**kept, **taken, **resized, **({"affinity": {**affinity, **on_nodes}} if has_any else {})}


def _sized(new: list[Data], old: list[Data]) -> list[Data]:
    """Return the old containers with the resources of the new ones.

    A container whose name has changed keeps its own.
    """
    if len(new) != len(old):
        return old
    made = []
    for now, was in zip(new, old, strict=True):
        kept = {name: each for name, each in was.items() if name != "resources"}
        resized = {**kept, "resources": now["resources"]} if "resources" in now else kept
        made.append(resized if text(now, "name") == text(was, "name") else was)
    return made
