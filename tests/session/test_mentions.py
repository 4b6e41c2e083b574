"""What the words of a text say is never less than what it holds, also of a text without its digits."""

import pytest

from jobspec.session.mentions import Mentions, mentions_in, without_digits
from jobspec.session.secret_values import may_have_secret

_NOTHING = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train-17}\n"


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (_NOTHING, ()),
        ("kind: Secret\n", ("secrets",)),
        ("secretGenerator: []\n", ("secrets",)),
        ("roleRef: {kind: Secrets}\n", ()),
        ("kind: CustomResourceDefinition\n", ("definitions",)),
        ("kind: CustomResourceDefinition\nname: {{ name }}\n", ()),
        ("kind: ValidatingAdmissionPolicyBinding\n", ("policies", "deciding")),
        ("kind: MutatingAdmissionPolicy\n", ("policies", "deciding")),
        ("kind: PriorityClass\n", ("deciding",)),
        ("priorityClassName: high\n", ()),
        ("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n", ("deciding",)),
        ("metadata: {labels: {kueue.x-k8s.io/queue-name: team}}\n", ()),
        ("apiVersion: argoproj.io/v1alpha1\nkind: Application\n", ("roles",)),
        ("apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\n", ("roles",)),
    ],
)
def test_words_say_what_a_text_may_hold(text: str, held: tuple[str, ...]) -> None:
    for content in (text, f"{_NOTHING}---\n{text}"):
        found = mentions_in(without_digits(content.encode()))
        assert found == Mentions(**{name: name in held for name in ("secrets", "definitions", "policies", "deciding", "roles")})
        assert found.secrets == may_have_secret(content.encode())
