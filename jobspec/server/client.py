"""Requests to one API server, by the transport and authentication of the kubernetes package; failures in plain words."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import urllib3
from urllib3 import exceptions as errors

from jobspec.diagnostics import JobspecError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kubernetes.client import ApiClient
    from urllib3.response import BaseHTTPResponse

MANAGER = "jobspec"  # the field manager of all requests
JSON, YAML, APPLY = "application/json", "application/yaml", "application/apply-patch+yaml"

_CONNECT_SECONDS = 10
_ANSWER_SECONDS = 60  # a webhook alone may take 30
_PAUSES = (0.2, 0.5, 1.0)  # seconds before each further try
_LONGEST_PAUSE = 10.0  # seconds, whatever `Retry-After` asks for
_TOO_BUSY = (429, 503)
_ANONYMOUS = 'User "system:anonymous"'


class Reply:
    """A server's reply: status code, body and warnings."""

    __slots__ = ("body", "status", "warnings")

    def __init__(self, status: int, body: Any, warnings: list[str]) -> None:
        self.status = status
        self.body = body
        """Decoded JSON; a mapping with `message` where the server sent something else."""
        self.warnings = warnings

    @property
    def ok(self) -> bool:
        """Whether the request succeeded."""
        return self.status < 300

    @property
    def message(self) -> str:
        """The message of a refusal."""
        return str(self.body.get("message") or f"HTTP status {self.status}")


class Client:
    """A client of one server, for many threads."""

    def __init__(self, api: ApiClient, name: str, *, namespace: str = "default", seconds: float = _ANSWER_SECONDS) -> None:
        self.name = name
        """The server's name in messages."""
        self.namespace = namespace
        """The namespace of objects that name none."""
        self.api = api
        self._configuration = api.configuration
        self._pool = api.rest_client.pool_manager
        self._timeout = urllib3.Timeout(connect=min(_CONNECT_SECONDS, seconds), read=seconds)
        if not self._configuration.verify_ssl:
            urllib3.disable_warnings(errors.InsecureRequestWarning)  # the kubeconfig wants it so

    @property
    def url(self) -> str:
        """The URL of the server."""
        return str(self._configuration.host)

    def call(self, method: str, path: str, body: str | None = None, *, kind: str = JSON, query: Mapping[str, str] | None = None) -> Reply:
        """The reply to a request, which is sent again where the connection is lost or the server is too busy.

        All requests are safe to repeat. Raises JobspecError where there is no reply, or the server does not accept the caller.
        """
        url = f"{self.url}{path}" + (f"?{'&'.join(f'{key}={value}' for key, value in query.items())}" if query else "")
        for pause in (*_PAUSES, None):
            try:
                response = self._send(method, url, body, kind)
            except (errors.HTTPError, OSError) as error:
                if pause is None or not _is_transient(error):
                    raise JobspecError(f"{self.name}: {_reason(error, self.url)}") from None
                time.sleep(pause)
                continue
            if response.status not in _TOO_BUSY or pause is None:
                break
            time.sleep(max(pause, _wanted_pause(response)))
        reply = _reply(response)
        if reply.status == 401:
            raise JobspecError(
                f"{self.name}: the server at {self.url} does not accept the credentials (401): the token or certificate in the kubeconfig "
                "has expired or belongs to another cluster; log in again"
            )
        if reply.status == 403 and _ANONYMOUS in reply.message:
            raise JobspecError(
                f"{self.name}: the server at {self.url} takes you for nobody (403): the user of the context has no credentials, "
                "or the program that gets them has failed"
            )
        return reply

    def get(self, path: str) -> Reply:
        """The reply to a GET."""
        return self.call("GET", path)

    def close(self) -> None:
        """Close all connections, for good."""
        self._pool.clear()

    def _send(self, method: str, url: str, body: str | None, kind: str) -> BaseHTTPResponse:
        headers = {"Accept": JSON, "User-Agent": MANAGER, **self._authorization()}
        if body is not None:
            headers["Content-Type"] = kind
        raw = body.encode() if body is not None else None
        response: BaseHTTPResponse = self._pool.request(
            method, url, body=raw, headers=headers, timeout=self._timeout, retries=False, redirect=False
        )
        return response

    def _authorization(self) -> dict[str, str]:
        token = self._configuration.auth_settings().get("BearerToken", {}).get("value")
        return {"Authorization": token} if token else {}


def _reply(response: BaseHTTPResponse) -> Reply:
    try:
        body = json.loads(response.data)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {"message": response.data.decode(errors="replace").strip()}
    return Reply(response.status, body, [_warning(each) for each in response.headers.getlist("Warning")])


def _warning(header: str) -> str:
    """The text of a header like `299 - "text"`."""
    text = header.split(" ", 2)[-1].strip()
    return text[1:-1].replace('\\"', '"').replace("\\\\", "\\") if text.startswith('"') else text


def _wanted_pause(response: BaseHTTPResponse) -> float:
    wanted = response.headers.get("Retry-After", "")
    return min(float(wanted), _LONGEST_PAUSE) if wanted.isdigit() else 0.0


def _is_transient(error: Exception) -> bool:
    """Whether another try may succeed: the connection was lost or refused, not timed out or untrusted."""
    lost = (errors.ProtocolError, errors.NewConnectionError, ConnectionError)
    return (isinstance(error, lost) and not isinstance(error, errors.NameResolutionError)) or _is_cut_off(error)


def _is_cut_off(error: Exception) -> bool:
    """Whether the connection was closed during the TLS handshake."""
    return isinstance(error, errors.SSLError) and "EOF" in str(error)


def _reason(error: Exception, url: str) -> str:
    """Why there is no reply, in words for the user who chose the server."""
    if isinstance(error, errors.ProtocolError) or _is_cut_off(error):
        return f"the server at {url} closed the connection, several times: {_cause(error)}"
    if isinstance(error, errors.SSLError):
        return _reason_of_tls(str(error), url)
    if isinstance(error, errors.ProxyError):
        return f"the proxy on the way to {url} refuses: {_cause(error)}; see HTTPS_PROXY, NO_PROXY and `proxy-url` in the kubeconfig"
    if isinstance(error, errors.NameResolutionError):
        return f"nobody knows the host of {url}; is the kubeconfig's `server` right, and the network up?"
    if isinstance(error, errors.NewConnectionError):  # a subclass of the timeout below
        return f"cannot reach the server at {url}: {_cause(error)}; is it running?"
    if isinstance(error, errors.ConnectTimeoutError):
        return f"nothing answers at {url}: no connection within {_CONNECT_SECONDS} s; is a VPN or a firewall in the way?"
    if isinstance(error, errors.TimeoutError):
        return f"the server at {url} took the request and did not answer in time"
    return f"the connection to {url} broke: {_cause(error)}"


def _reason_of_tls(what: str, url: str) -> str:
    if "CERTIFICATE_VERIFY_FAILED" in what:
        why = what.partition("certificate verify failed: ")[2].partition(" (_ssl")[0] or what
        return (
            f"the certificate of {url} is not one that the kubeconfig trusts ({why}): "
            "its `certificate-authority-data` is of another cluster or older, or something else answers there"
        )
    if "WRONG_VERSION_NUMBER" in what or "RECORD_LAYER_FAILURE" in what:
        return f"what answers at {url} does not speak TLS; is the kubeconfig's `server` right?"
    return f"no secure connection to {url}: {what}"


def _cause(error: BaseException) -> str:
    """The operating system's message among the causes of an error; the error's own where there is none."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror
        inner = seen.args[1] if len(seen.args) > 1 and isinstance(seen.args[1], BaseException) else None
        seen = inner or seen.__cause__ or seen.__context__
    return str(error)
