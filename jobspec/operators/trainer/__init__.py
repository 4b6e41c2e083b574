"""What the trainer makes of a TrainJob and its runtime: a JobSet, and the config maps, secrets and pod groups beside it."""
