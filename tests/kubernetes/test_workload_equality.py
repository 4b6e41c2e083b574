"""What of a workload's pods means the same: with the defaults that `expand` fills in as without them."""

from random import Random
from typing import Any

from jobspec.apis.releases import choose
from jobspec.diagnostics.places import Mark
from jobspec.documents.marked_tree import set_by
from jobspec.go.codec import decode_as_go
from jobspec.kubernetes.workloads.selectors import same_pods
from jobspec.operators.api_defaults import with_api_defaults
from jobspec.schemas import shapes
from tests.support.pod_growth import grown
from tests.support.seeds import seed

_TARGET = choose([])


def _whole(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec of a Job's pods as the server stores it."""
    template = {"spec": {"restartPolicy": "Never", **spec}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "a"}, "spec": {"template": template}}
    stored: dict[str, Any] = with_api_defaults([set_by(Mark("job"), job)], [], _TARGET)[0].data()["spec"]["template"]["spec"]
    return stored


def test_pods_with_their_defaults_mean_the_same_as_without() -> None:
    random = Random(seed())
    pod = shapes.load("v1", "Pod", _TARGET)
    assert pod and pod.fields
    shape = pod.fields["spec"]
    small: dict[str, Any] = {"containers": [{"name": "a", "image": "a:1"}]}
    for _ in range(60):
        spec = small
        for _ in range(20):
            spec = decode_as_go(grown(spec, shape, random), shape)
        given = {"restartPolicy": "Never", **spec}
        assert same_pods(given, decode_as_go(_whole(spec), shape), _TARGET["kubernetes"]), spec
        assert not same_pods(given, {**given, "priorityClassName": "other"}, _TARGET["kubernetes"])
