"""The formats of a CRD's schema that older releases of Kubernetes do not check.

Follows `StripUnsupportedFormatsPostProcessorForVersion`, k8s.io/apiextensions-apiserver pkg/apiserver/validation, which goes by the
release before the server's own, and `SchemaValidator.numberValidator`, k8s.io/kube-openapi pkg/validation/validate, 0.34 to 0.36.
"""

from __future__ import annotations

from jobspec.apis.releases import is_at_least
from jobspec.diagnostics.places import Data
from jobspec.kubernetes.conditions import as_int64

_NAMES, _NAMES_SINCE = ("k8sshortname", "k8slongname"), "1.35"
_NUMBERS, _NUMBERS_SINCE = ("int32", "int64", "float", "double"), "1.36"


def checked_by(release: str, schema: Data) -> Data:
    """Return a schema as a release of Kubernetes checks it.

    Formats that the release does not check yet are removed. Limits of integers are as the release reads them.
    """
    if is_at_least(release, _NUMBERS_SINCE):
        return schema
    made = dict(schema)
    form = (made.get("format") or "").replace("-", "")
    if form in _NUMBERS or (form in _NAMES and not is_at_least(release, _NAMES_SINCE)):
        del made["format"]
    if made.get("type") == "integer":
        made |= {word: as_int64(float(made[word])) for word in ("minimum", "maximum", "multipleOf") if made.get(word) is not None}
    if made.get("properties"):
        made["properties"] = {name: checked_by(release, child) for name, child in made["properties"].items()}
    for word in ("items", "additionalProperties", "not"):
        if isinstance(made.get(word), dict):
            made[word] = checked_by(release, made[word])
    for word in ("anyOf", "oneOf", "allOf"):
        if made.get(word):
            made[word] = [checked_by(release, branch) for branch in made[word]]
    return made
