"""Check the conversion between a CRD's versions.

Follows `validateCustomResourceConversion`, k8s.io/apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go, and
`ValidateWebhookURL`, `ValidateWebhookService`, k8s.io/apiserver pkg/util/webhook/validation.go, 1.36.
"""

from __future__ import annotations

from jobspec.validation.crds.invalid import invalid
from jobspec.validation.metadata import bad_dns1035_label, bad_subdomain
from jobspec.validation.problem import Problem
from jobspec.validation.text_formats import CHECKS, is_uri

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jobspec.diagnostics import Path

_STRATEGIES = ("None", "Webhook")
_REVIEWS = ("v1", "v1beta1")


def conversion_problems(conversion: dict[str, Any] | None, path: Path) -> Iterator[Problem]:
    """The problems of `conversion`."""
    if conversion is None:
        return
    strategy, webhook = conversion.get("strategy") or "", conversion.get("webhook")
    if strategy not in _STRATEGIES:
        yield invalid((*path, "strategy") if strategy else path, f"`strategy` has to be one of {', '.join(_STRATEGIES)}")
    if strategy == "Webhook":
        yield from _webhook(webhook or {}, (*path, "webhook") if webhook is not None else path)
    elif webhook is not None and (webhook.get("clientConfig") is not None or webhook.get("conversionReviewVersions")):
        yield invalid((*path, "webhook"), "a webhook needs `strategy: Webhook`")


def bundle_problems(conversion: Any, path: Path) -> Iterator[Problem]:
    """A `caBundle` that cannot be decoded from base64."""
    value = conversion
    for step in ("webhook", "clientConfig", "caBundle"):
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, str) and (text := value.replace("\r", "").replace("\n", "")) and not CHECKS["byte"](text):
        yield Problem("wrong-format", (*path, "webhook", "clientConfig", "caBundle"), "`caBundle` takes text in base64")


def _webhook(webhook: dict[str, Any], path: Path) -> Iterator[Problem]:
    client = webhook.get("clientConfig")
    if client is None:
        yield invalid(path, "the webhook needs a `clientConfig`")
    else:
        yield from _client(client, (*path, "clientConfig"))
    yield from _reviews([each or "" for each in webhook.get("conversionReviewVersions") or ()], path)


def _client(client: dict[str, Any], path: Path) -> Iterator[Problem]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield invalid(path, "the webhook needs either a `url` or a `service`")
    elif url is not None:
        yield from _url(url, (*path, "url"))
    elif service is not None:
        yield from _service(service, (*path, "service"))


def _url(url: str, path: Path) -> Iterator[Problem]:
    from urllib.parse import urlsplit

    parts = urlsplit(url) if is_uri(url) else None
    if parts is None or parts.scheme != "https" or not parts.netloc:
        yield invalid(path, f"`{url}` has to be a URL such as `https://example.com/convert`")
    elif "@" in parts.netloc or parts.query or parts.fragment:
        yield invalid(path, "the URL cannot hold a user, a query or a fragment")


def _service(service: dict[str, Any], path: Path) -> Iterator[Problem]:
    for name in ("name", "namespace"):
        if not service.get(name):
            yield invalid(path, f"the service needs `{name}`")
    port = service.get("port")
    if port is not None and not 0 < port < 1 << 16:
        yield invalid((*path, "port"), f"`{port}` is no port: they go from 1 to 65535")
    text = service.get("path") or ""
    steps = text[1:].removesuffix("/").split("/")
    if text not in ("", "/") and (not text.startswith("/") or any(not step or bad_subdomain(step) for step in steps)):
        yield invalid((*path, "path"), f"`{text}` is no path such as `/convert`")


def _reviews(versions: list[str], path: Path) -> Iterator[Problem]:
    if not versions:
        yield invalid(path, "the webhook needs `conversionReviewVersions`", "write `conversionReviewVersions: [v1]`")
        return
    at: Path = (*path, "conversionReviewVersions")
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid((*at, index), f"`{version}` stands twice")
        elif why := bad_dns1035_label(version):
            yield invalid((*at, index), f"`{version}` is no version: {why}")
    if not set(versions) & set(_REVIEWS):
        yield invalid(at, f"one of {', '.join(_REVIEWS)} has to be among them")
