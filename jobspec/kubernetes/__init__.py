"""Checks that predict an API server's verdict; they run on compiled shapes and never load pydantic."""
