"""Secrets and ConfigMaps that controllers and kustomize make of other objects, with their keys as far as these name them.

Follows the APIs of External Secrets (v1), Sealed Secrets (v1alpha1), the Secrets Store CSI driver (v1), cert-manager (v1) and kustomize
(v1beta1).
"""

from __future__ import annotations

from jobspec.apis.kinds import ANY, GENERATING_KINDS, group_kind
from jobspec.diagnostics.places import Data
from jobspec.go.values import mapping, structs, text, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jobspec.apis.kinds import GroupKind

    #: Kind, name and keys of a generated object.
    Made = tuple[str, str, Iterable[str]]


_KEYSTORES = {"jks": ("keystore.jks", "truststore.jks"), "pkcs12": ("keystore.p12", "truststore.p12")}
_FORMATS = {"CombinedPEM": "tls-combined.pem", "DER": "key.der"}


def generated_by(data: Data) -> Iterator[Data]:
    """Yield the Secrets and ConfigMaps that a controller or kustomize makes of an object."""
    kind = group_kind(str(data.get("apiVersion")), str(data.get("kind")))
    make = _MAKERS.get(kind)
    if not make:
        return
    namespace = ANY if kind[1] == "ClusterExternalSecret" else mapping(data, "metadata").get("namespace")
    for made, name, keys in make(text(mapping(data, "metadata"), "name"), data):
        values = dict.fromkeys(keys, "")
        yield {"apiVersion": "v1", "kind": made, "metadata": {"name": name, "namespace": namespace}, "data": values}


def _of_external_secret(name: str, data: Data) -> Iterator[Made]:
    spec = mapping(data, "spec")
    target = mapping(spec, "target")
    template = mapping(target, "template")
    if target.get("creationPolicy") == "None":
        return
    own = [text(each, "secretKey") for each in structs(spec, "data")] + ([ANY] if spec.get("dataFrom") else [])
    templated = [*mapping(template, "data"), *([ANY] if template.get("templateFrom") else [])]
    is_merged = template.get("mergePolicy") == "Merge" or not templated
    yield "Secret", text(target, "name") or name, [*templated, *(own if is_merged else ())]


def _of_cluster_external_secret(name: str, data: Data) -> Iterator[Made]:
    spec = mapping(data, "spec")
    yield from _of_external_secret(text(spec, "externalSecretName") or name, {"spec": spec.get("externalSecretSpec")})


def _of_sealed_secret(name: str, data: Data) -> Iterator[Made]:
    spec = mapping(data, "spec")
    yield "Secret", name, [*mapping(spec, "encryptedData"), *mapping(spec, "template", "data"), *([ANY] if spec.get("data") else [])]


def _of_provider(_: str, data: Data) -> Iterator[Made]:
    for each in structs(data, "spec", "secretObjects"):
        yield "Secret", text(each, "secretName"), [text(item, "key") for item in structs(each, "data")]


def _of_certificate(_: str, data: Data) -> Iterator[Made]:
    spec = mapping(data, "spec")
    stores = [key for store, keys in _KEYSTORES.items() if mapping(spec, "keystores", store).get("create") for key in keys]
    formats = [_FORMATS.get(text(each, "type"), "") for each in structs(spec, "additionalOutputFormats")]
    yield "Secret", text(spec, "secretName"), ["tls.crt", "tls.key", "ca.crt", *stores, *formats]


def _of_kustomization(_: str, data: Data) -> Iterator[Made]:
    for field, kind in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
        for each in structs(data, field):
            literals = [literal.partition("=")[0] for literal in texts(each, "literals")]
            files = [file.partition("=")[0] if "=" in file else file.rpartition("/")[2] for file in texts(each, "files")]
            yield kind, text(each, "name"), [*literals, *files, *([ANY] if each.get("envs") or each.get("env") else [])]


_MAKERS: dict[GroupKind, Callable[[str, Data], Iterator[Made]]] = dict(
    zip(
        GENERATING_KINDS,
        (_of_external_secret, _of_cluster_external_secret, _of_sealed_secret, _of_provider, _of_certificate, _of_kustomization),
        strict=True,
    )
)
