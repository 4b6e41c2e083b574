"""The server's Go rules for ConfigMaps, Secrets, Namespaces, roles, NetworkPolicies, budgets, classes, limits and quotas.

Each kind has a function that gives the problems of an object as it is decoded, as an update of *old* unless that is None.
"""
