"""CEL, the language of rules in CRDs: parse, type-check and evaluate expressions."""
