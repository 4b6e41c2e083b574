"""What JobSet makes of a JobSet: Jobs and the headless Service through which their pods find each other."""
