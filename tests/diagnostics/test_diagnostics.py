"""A diagnostic in other words stays the same in all else."""

from jobspec.diagnostics.diagnostic import Diagnostic
from jobspec.diagnostics.places import Mark
from jobspec.diagnostics.problems import Change


def test_other_words_keep_all_else() -> None:
    changes = [Change("set", ("spec",), 1)]
    reported = Diagnostic("wrong-type", "a", Mark("a.yaml", 1), field="b", document=2, hint="c", stage="admission", changes=changes)
    for other in (reported.with_message("d"), reported.with_hint("d")):
        assert (other.stage, other.changes, other.field, other.document) == ("admission", changes, "b", 2)
    assert (reported.with_message("d").message, reported.with_hint("d").hint) == ("d", "d")
