"""Every spelling that servers have for a field leads to the place that it means."""

from typing import Any

import pytest

from jobspec.documents.fields import path_of

DATA: dict[str, Any] = {
    "metadata": {"labels": {"a.b/c": "x", "a": "y"}, "finalizers": ["one/a", "two/b"]},
    "spec": {
        "runtimeRef": {"name": "torch"},
        "replicas": {
            "Worker": {
                "containers": [
                    {"name": "first"},
                    {"name": "second", "ports": [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP"}]},
                ]
            }
        },
    },
}


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("spec.replicas[Worker].containers[0].name", ("spec", "replicas", "Worker", "containers", 0, "name")),
        ("spec.replicas.Worker.containers[1].ports[0]", ("spec", "replicas", "Worker", "containers", 1, "ports", 0)),
        ('.spec.replicas.Worker.containers[name="second"].image', ("spec", "replicas", "Worker", "containers", 1, "image")),
        (
            '.spec.replicas.Worker.containers[name="second"].ports[containerPort=80,protocol="TCP"].hostPort',
            ("spec", "replicas", "Worker", "containers", 1, "ports", 1, "hostPort"),
        ),
        ('.metadata.finalizers[="two/b"]', ("metadata", "finalizers", 1)),
        ("metadata.labels.a.b/c", ("metadata", "labels", "a.b/c")),
        ("metadata.labels[a.b/c]", ("metadata", "labels", "a.b/c")),
        ("metadata.labels.a", ("metadata", "labels", "a")),
        ("metadata.labels[not.there/x]", ("metadata", "labels", "not.there/x")),
        ("spec.RuntimeRef.name", ("spec", "runtimeRef", "name")),
        ("spec.trainer.env[2].value", ("spec", "trainer", "env", 2, "value")),
        ('spec.replicas.Worker.containers[name="third"].image', ("spec", "replicas", "Worker", "containers")),
        ("spec.replicas[Worker", ("spec", "replicas")),
        ("", ()),
    ],
)
def test_a_field_is_found_however_it_is_spelt(field: str, path: tuple[str | int, ...]) -> None:
    assert path_of(field, DATA) == path
