"""Ask a real API server for its verdict on manifests; nothing is stored on a server that jobspec does not own."""
