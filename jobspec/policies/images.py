"""Images: pinned, valid, and built for the devices of the pod."""

from __future__ import annotations

from jobspec.kubernetes.pods.defaults import IMAGE_REFERENCE
from jobspec.lint.images import PLACEHOLDERS, REPLACED, REPLACED_BY
from jobspec.policies.cel import GPUS, alternatives, in_containers, literal
from jobspec.policies.rule import Parameter, PolicyRule
from jobspec.policies.templates import EVERY

_IMAGE = "container.image"
_LAST = f"{_IMAGE}.substring({_IMAGE}.lastIndexOf('/') + 1)"
_IS_VALID = f"{_IMAGE}.matches({literal(f'^{IMAGE_REFERENCE}$')})"
_TAG = f"({_LAST}.contains(':') ? {_LAST}.substring({_LAST}.indexOf(':') + 1) : '')"
_WORD_BEFORE, _WORD_AFTER = "(?:^|[-_])", "(?:[-_]|$)"
_STANDS_IN = "|".join(
    (
        f"{_WORD_BEFORE}{alternatives(REPLACED)}[-_]{alternatives(REPLACED_BY)}{_WORD_AFTER}",
        f"{_WORD_BEFORE}{alternatives(PLACEHOLDERS)}{_WORD_AFTER}",
    )
)
#: True if another image takes the place of this one, as of `replaced-by-kustomize`.
_IS_REPLACED = f"!{_IMAGE}.split('@')[0].split(':')[0].contains('/') && {_IMAGE}.split('@')[0].split(':')[0].matches({literal(_STANDS_IN)})"
_NAMED = "container.name + ' has ' + container.image"
_MUTABLE = Parameter("mutable-tags", ["latest"], "Tags that can change under the same name, besides that of an image without a tag.")
_EXEMPT = Parameter("exempt-images", [], "Beginnings of the names of images that are not judged, such as those of injected sidecars.")
_IS_EXEMPT = f"variables.exemptImages.exists(start, {_IMAGE}.startsWith(start))"
_OF_CLUSTER = "it also refuses images that OpenShift's image triggers replace"
_IS_MUTABLE = f"({_TAG} == '' || {_TAG} in variables.mutableTags)"

POLICIES = (
    PolicyRule(
        "unpinned-image",
        in_containers(f"{_IS_VALID} && !{_IMAGE}.contains('@') && {_IS_MUTABLE} &&\n      !({_IS_REPLACED}) && !{_IS_EXEMPT}", _NAMED),
        EVERY,
        parameters=(_MUTABLE, _EXEMPT),
        differs=["lint says nothing of images that training-operator adds by itself; they have a tag by default", _OF_CLUSTER],
    ),
    PolicyRule(
        "invalid-image",
        in_containers(f"{_IMAGE} != '' && !{_IS_VALID}", _NAMED),
        EVERY,
        differs=["it refuses placeholders such as `$IMAGE`, too, of which lint says `unfilled-placeholder`", _OF_CLUSTER],
    ),
    PolicyRule(
        "image-without-digest",
        in_containers(f"{_IS_VALID} && !{_IMAGE}.contains('@') && !{_IS_MUTABLE} && !{_IS_EXEMPT}", _NAMED),
        EVERY,
        parameters=(_MUTABLE, _EXEMPT),
        differs=["it also refuses images of operators and of runtimes that the trainer ships, which no manifest writes", _OF_CLUSTER],
    ),
    PolicyRule(
        "cpu-image-with-gpus",
        in_containers(
            f"{GPUS} > 0 && {_IS_VALID} &&\n      {_LAST}.lowerAscii().matches('(^|[-_.:])cpu([-_.:]|$)') &&\n"
            f"      !{_LAST}.lowerAscii().matches('(^|[-_.:])(gpu|cuda)([-_.:]|$)')",
            _NAMED,
        ),
        EVERY,
    ),
)
