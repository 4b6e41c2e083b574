"""The outcome of a job that the server accepts: rules over the objects that its operator creates."""

#: The modules that other rooms import.
DOORS: tuple[str, ...] = (
    "arguments",
    "endings",
    "judgement",
    "ordinary",
    "queueing",
    "rendezvous",
    "templates",
    "training_program",
    "updates",
)
