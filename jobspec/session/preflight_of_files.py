"""Answer what is asked of the jobs in files before they are sent.

The files of a command line are found, read, judged and fixed.
"""

from __future__ import annotations

from jobspec.project.capacity import PriceList
from jobspec.reports.preflight import PreflightAnswer
from jobspec.session.chosen_rules import chosen
from jobspec.session.finding import in_working_folder
from jobspec.session.fixing import CandidateChecker, files_to_fix, safe_fixes
from jobspec.session.inputs import settings_of
from jobspec.session.judging import Depth
from jobspec.session.options import Options
from jobspec.session.preflight import ReportedRun, preflight
from jobspec.session.queues import queue_documents, with_lookups
from jobspec.session.verdict import chosen_results, context_for, results_of


def answer_to(options: Options, prices: PriceList | None = None) -> PreflightAnswer:
    """Answer what is asked of the jobs in files, with all findings of `lint`."""
    options = options.changed(write_baseline=None, fix=False, diff=False)
    settings = settings_of(options)
    depth = Depth(chosen=chosen(settings), documents=True)
    context = with_lookups(context_for(options, settings), queue_documents(options))
    results = results_of(in_working_folder(options), context, settings, depth)
    files, fails = chosen_results(results, options, settings, depth)
    fixes = ""
    if not (context.wrong or options.helm or options.overlay) and any(each.has_safe_fix for file in files for each in file.diagnostics):
        given = files_to_fix(options, context, settings)
        fixes = safe_fixes(given, CandidateChecker(given, context, depth.chosen, options), settings)
    return preflight(ReportedRun(results, [*context.remarks, *files], fails), options, prices=prices, fixes=fixes)
