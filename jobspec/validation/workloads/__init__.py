"""What the API server's Go code says to Jobs, CronJobs, Deployments, StatefulSets, DaemonSets, ReplicaSets, their elder, and Services."""
