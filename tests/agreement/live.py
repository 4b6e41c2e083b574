"""What a live server says to manifests, beside what `validate` says."""

import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from jobspec.apis.releases import reported
from jobspec.documents.writer import write
from jobspec.journey import checking
from jobspec.journey.steps import Checked, Source
from jobspec.world.world import Cluster
from tests.agreement import known
from tests.agreement.corpus import Case
from tests.hunt.finds import Find, errors_in_yaml, errors_of
from tests.support.server import Answer, Server

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_THREADS = 6


@dataclass(frozen=True)
class Live:
    """A live server, and what stands for it where `validate` judges."""

    name: str
    """Its name in `known.yaml`."""
    server: Server
    cluster: Cluster

    def disagreements(self, cases: Iterable[Case]) -> list[Find]:
        """The cases, and both verdicts, where the two differ and are not known to; the server answers while we go on judging."""
        with ThreadPoolExecutor(_THREADS) as pool:
            asked = [(case, checked, pool.submit(self.ask, case, checked)) for case in cases for checked in [self.check(case)]]
            answered = [(case, checked, answer.result()) for case, checked, answer in asked]
        return [self._find(case, checked, answer) for case, checked, answer in answered if not self._agree(checked, answer)]

    def check(self, case: Case) -> Checked:
        """What we say."""
        return checking.checked(Source("manifest.yaml", case.text.encode()), (), self.cluster)

    def ask(self, case: Case, checked: Checked) -> Answer:
        """What the server says, in the namespace that the document is in; merge keys are resolved before, as clients do."""
        text = case.text
        if checked.documents and checked.documents[0].has_merges and not errors_in_yaml(checked):
            text = write([checked.documents[0].data])
        name = checked.documents[0].namespace if checked.documents else ""
        answer = self.server.judge(case.kind, text, namespace=name if _NAMESPACE.fullmatch(name) else "default")
        taken = answer.code == 409 and "already exists" in answer.message  # found out last, when nothing else stands against the object
        return Answer(201) if taken else answer

    def _agree(self, checked: Checked, answer: Answer) -> bool:
        errors = errors_of(checked)
        if answer.accepted and errors:
            refusals = known.refusals(self.name)
            return all(any(each.is_reported_by(error) for each in refusals) for error in errors)
        return answer.accepted == (not errors and bool(checked.result.documents))

    def outdated(self) -> list[Find]:
        """What `known.yaml` says of this server and is not so: a witness that both refuse, or take, or that we refuse for other reasons."""
        wrong = []
        for refusal in known.refusals(self.name):
            case = Case(refusal.cause, refusal.kind, refusal.witness)
            checked = self.check(case)
            answer = self.ask(case, checked)
            errors = errors_of(checked)
            if not (answer.accepted and errors and all(map(refusal.is_reported_by, errors))):
                wrong.append(self._find(case, checked, answer))
        return wrong

    def _find(self, case: Case, checked: Checked, answer: Answer) -> Find:
        ours = f"{errors_of(checked)} to {case.name}"
        target = " ".join(f"{operator}={release}" for operator, release in reported(self.cluster.target).items())
        return Find(case.text, ours, str(answer), self.name, answer.accepted, target=target)
