"""The commands, one module each: values in, exit code out."""
