"""What an API server fills into the objects that operators create: the defaults of their types, and those of its admission plugins."""
