"""Ask a real API server what it would say to manifests; nothing is stored on a server that jobspec does not own."""
