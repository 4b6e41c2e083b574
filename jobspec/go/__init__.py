"""How Go reads, checks and compares values: numbers and quantities, texts with a format, regular expressions, decoded objects."""
