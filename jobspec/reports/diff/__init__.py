"""What a change of a project does, as text, Markdown and JSON."""
