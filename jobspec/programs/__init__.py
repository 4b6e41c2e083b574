"""Command lines of containers: how programs read them, and which arguments they take."""
