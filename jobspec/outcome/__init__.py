"""The outcome of a job that the server accepts: rules over the objects that its operator creates."""
