"""Print, as Markdown, how far `validate` agrees with the recorded servers: `python -m tests.agreement` with JOBSPEC_REFERENCE set."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.agreement.records import disagreements, is_known, records, releases


def table(golden: Path) -> Iterator[str]:
    """One row for each release."""
    yield "| a server with | manifests | documents | agree | known to differ |"
    yield "|---|---|---|---|---|"
    for release in releases(golden):
        found = list(records(golden, release))
        documents = sum(reply["code"] is not None for record in found for reply in record.replies)
        differing = [record for record in found if disagreements(record)]
        known = sum(is_known(record) for record in differing)
        yield f"| {' '.join(release.rsplit('-', 1))} | {len(found)} | {documents} | {len(found) - len(differing)} | {known} |"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in table(Path(os.environ["JOBSPEC_REFERENCE"], "golden")))
