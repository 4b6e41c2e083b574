"""The CEL rules of other people's CRDs."""
