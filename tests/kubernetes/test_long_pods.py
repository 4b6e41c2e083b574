"""What is too long in a pod, or there too often, is reported; what is as long as it may be is not."""

from jobspec import check
from tests.support.long_pods import long_pods


def test_each_is_reported_at_its_field() -> None:
    assert [[each.field for each in check(pod).diagnostics] for pod, _ in long_pods()] == [[field] for _, field in long_pods()]
