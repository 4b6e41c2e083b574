"""The pod template that every kind of job embeds."""
