"""Check the conversion between a CRD's versions.

Follows `validateCustomResourceConversion`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, and
`ValidateWebhookURL`, `ValidateWebhookService`, k8s.io/apiserver pkg/util/webhook/validation.go, 1.36.
"""

from __future__ import annotations

from jobspec.diagnostics.places import Data, Path
from jobspec.diagnostics.problems import Problems
from jobspec.go.text_formats import is_uri
from jobspec.go.values import mapping
from jobspec.kubernetes.crds.schema_walk import invalid
from jobspec.kubernetes.metadata import bad_dns1035_label, bad_subdomain

_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")


def conversion_problems(conversion: Data | None, path: Path) -> Problems:
    """Yield the problems of `conversion`."""
    if conversion is None:
        return
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook")
    if strategy not in _STRATEGIES:
        yield invalid((*path, "strategy") if strategy else path, f"`strategy` must be one of {', '.join(_STRATEGIES)}")
    if strategy == "Webhook":
        yield from _webhook(webhook or {}, (*path, "webhook") if webhook is not None else path)
    elif webhook is not None and (webhook.get("clientConfig") is not None or webhook.get("conversionReviewVersions")):
        yield invalid((*path, "webhook"), "a webhook needs `strategy: Webhook`")


def _webhook(webhook: Data, path: Path) -> Problems:
    client = webhook.get("clientConfig")
    url, service = mapping(client).get("url"), mapping(client).get("service")
    place = (*path, "clientConfig")
    if client is None:
        yield invalid(path, "the webhook needs a `clientConfig`")
    elif (url is None) == (service is None):
        yield invalid(place, "the webhook needs either a `url` or a `service`")
    elif url is not None:
        yield from _url(url, (*place, "url"))
    elif service is not None:
        yield from _service(service, (*place, "service"))
    yield from _reviews([each or "" for each in webhook.get("conversionReviewVersions") or ()], path)


def _url(url: str, path: Path) -> Problems:
    from urllib.parse import urlsplit

    parts = urlsplit(url) if is_uri(url) else None
    if parts is None or parts.scheme != "https" or not parts.netloc:
        yield invalid(path, f"`{url}` must be a URL such as `https://example.com/convert`")
    elif "@" in parts.netloc or parts.query or parts.fragment:
        yield invalid(path, "the URL cannot contain a user, a query or a fragment")


def _service(service: Data, path: Path) -> Problems:
    yield from (invalid(path, f"the service needs `{name}`") for name in ("name", "namespace") if not service.get(name))
    port = service.get("port")
    if port is not None and not 0 < port < 1 << 16:
        yield invalid((*path, "port"), f"`{port}` is not a port: they go from 1 to 65535")
    text = service.get("path") or ""
    steps = text[1:].removesuffix("/").split("/")
    if text not in ("", "/") and (not text.startswith("/") or any(not step or bad_subdomain(step) for step in steps)):
        yield invalid((*path, "path"), f"`{text}` is not a path such as `/convert`")


def _reviews(versions: list[str], path: Path) -> Problems:
    if not versions:
        yield invalid(path, "the webhook needs `conversionReviewVersions`", "write `conversionReviewVersions: [v1]`")
        return
    at: Path = (*path, "conversionReviewVersions")
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid((*at, index), f"duplicate `{version}`")
        elif why := bad_dns1035_label(version):
            yield invalid((*at, index), f"`{version}` is not a version: {why}")
    if not set(versions) & set(_REVIEWS):
        yield invalid(at, f"one of {', '.join(_REVIEWS)} must be among them")
