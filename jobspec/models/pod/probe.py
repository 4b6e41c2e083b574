"""Health checks of a container, and hooks of its life."""

from typing import Annotated

from pydantic import Field

from jobspec.models.base import POD_DEFAULT, GoPointer, Int32, Int64, IntOrString, Model, OneOf, PodList, Pointer, Since


class ExecAction(Model):
    """A command inside of the container; exit code 0 is success."""

    command: PodList[str] | None = Field(None, description="program and arguments, started in `/` and without a shell")


class HTTPHeader(Model):
    """A header of an HTTP request."""

    name: str = Field(description="name of the header")
    value: str = Field(description="value of the header")


class HTTPGetAction(Model):
    """An HTTP GET from the node; a status from 200 to 399 is success."""

    path: str | None = Field(None, description="path of the URL, `/` by default")
    port: IntOrString = Field(description="number from 1 to 65535, or name of a port of the container")
    host: str | None = Field(None, description="host to connect to, the pod's IP by default")
    scheme: str | None = Field(None, description="`HTTP` (default) or `HTTPS`, whose certificate is not checked")
    http_headers: PodList[HTTPHeader] | None = Field(None, description="headers to send; a name may come twice")


class TCPSocketAction(Model):
    """A TCP connection from the node; that it opens is success."""

    port: IntOrString = Field(description="number from 1 to 65535, or name of a port of the container")
    host: str | None = Field(None, description="host to connect to, the pod's IP by default")


class GRPCAction(Model):
    """A call of gRPC's health checking protocol."""

    port: Int32 = Field(description="number of the port, from 1 to 65535; a name is not possible")
    service: Annotated[str, GoPointer(), POD_DEFAULT] = Field("", description="service to ask about; empty for the server as a whole")


class SleepAction(Model):
    """A pause."""

    seconds: Int64 = Field(description="length of the pause, in seconds")


class Probe(Model):
    """A repeated check of a container; exactly one action."""

    FACTS = (OneOf("exec", "httpGet", "tcpSocket", "grpc"),)

    exec: ExecAction | None = Field(None, description="run a command in the container")
    http_get: HTTPGetAction | None = Field(None, description="ask an HTTP server")
    tcp_socket: TCPSocketAction | None = Field(None, description="open a TCP connection")
    grpc: GRPCAction | None = Field(None, description="ask a gRPC server")
    initial_delay_seconds: Int32 | None = Field(None, description="seconds from the container's start to the first check, 0 by default")
    period_seconds: Int32 | None = Field(None, description="seconds from check to check, 10 by default, at least 1")
    timeout_seconds: Int32 | None = Field(None, description="seconds until a check without answer counts as failed, 1 by default")
    success_threshold: Int32 | None = Field(None, description="successes in a row to pass again, 1 by default and except for readiness")
    failure_threshold: Int32 | None = Field(None, description="failures in a row until it counts, 3 by default")
    termination_grace_period_seconds: Pointer[Int64] = Field(None, description="seconds to end after the failure, instead of the pod's")


class LifecycleHandler(Model):
    """What to do at a moment of a container's life; exactly one action."""

    FACTS = (OneOf(),)

    exec: ExecAction | None = Field(None, description="run a command in the container")
    http_get: HTTPGetAction | None = Field(None, description="send an HTTP request")
    sleep: Annotated[SleepAction | None, Since("kubernetes", "0.29")] = Field(None, description="wait")
    tcp_socket: TCPSocketAction | None = Field(None, description="deprecated: accepted, and fails when the hook runs")


class Lifecycle(Model):
    """Hooks of a container's life."""

    post_start: LifecycleHandler | None = Field(None, description="runs beside the start of the container, which is killed when it fails")
    pre_stop: LifecycleHandler | None = Field(None, description="runs before the stop signal; the grace period counts from its start")
    stop_signal: Annotated[Pointer[str], Since("kubernetes", "0.33")] = Field(
        None, description="signal to stop with, such as `SIGUSR1`; the image's own or `SIGTERM` by default; the pod has to set `os`"
    )
