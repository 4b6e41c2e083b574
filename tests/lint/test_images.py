"""Names of images: a look at a text never takes one for a name that the kubelet does not take for one."""

from itertools import product

from jobspec.kubernetes.pods.defaults import image_name
from jobspec.lint.images import is_plain

SIGNS = "aA0./:-_@"


def test_what_is_plain_is_a_reference() -> None:
    texts = ["".join(each) for length in range(6) for each in product(SIGNS, repeat=length)]
    plain = [each for each in texts if is_plain(each)]
    assert "a:0-a" in plain
    assert [each for each in plain if image_name(each) is None] == []


def test_a_tag_is_not_too_long() -> None:
    for length in (128, 129):
        tagged = f"train:{'a' * length}"
        assert is_plain(tagged) == (image_name(tagged) is not None) == (length == 128)
