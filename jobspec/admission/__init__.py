"""Admission: the rules of the operators' webhooks, which review what the server's own checks accept.

A rule is a generator over a workload that yields faults. Its function gives it its name, and the docstring its explanation. The list
WEBHOOK_RULES below the rules says on which releases each holds. The webhooks see the object without the defaults that an operator fills
in later.
"""
