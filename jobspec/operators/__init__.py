"""What an operator makes of a job, by release: the objects that it creates, each value with the place that caused it."""
