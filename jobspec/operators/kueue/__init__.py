"""Kueue: the queues of a cluster, the Workloads that it makes of jobs, and whether it admits them."""
