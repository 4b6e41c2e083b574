"""Admission: what the operators' webhooks refuse, on top of what the schema says.

A rule is a generator over a workload that yields findings; its name is its function's, its explanation the docstring. The list
WEBHOOK_RULES below the rules says which hold on which releases. Webhooks run only on what the schema accepts, and on the object as it
was written: without defaults that an operator fills in later.
"""
