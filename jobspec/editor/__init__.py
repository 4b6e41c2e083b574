"""The language server and the door for agents: manifests judged while they are written, by the journey of the command line."""
