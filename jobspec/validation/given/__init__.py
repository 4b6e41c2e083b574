"""The kinds that users bring along, as CRDs or JSON Schemas."""
