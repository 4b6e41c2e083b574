"""What an API server fills in."""

import pytest

from jobspec.operators.api_defaults.image import tag_of


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("train", "latest"),
        ("train:latest", "latest"),
        ("train:v1", "v1"),
        ("ghcr.io/a/train", "latest"),
        ("ghcr.io:443/a/train:v1", "v1"),
        ("localhost:5000/train", "latest"),
        (f"train@sha256:{'0' * 64}", ""),
        (f"train:latest@sha256:{'0' * 64}", "latest"),
        ("gcr.io/<project>/train", ""),
        ("Train", ""),
        ("EXAMPLE/train", "latest"),
        ("train:", ""),
        (" train", ""),
        ("0" * 64, ""),
        ("", ""),
        ("a" * 256, ""),
    ],
)
def test_tags_of_images(image: str, tag: str) -> None:
    assert tag_of(image) == tag
