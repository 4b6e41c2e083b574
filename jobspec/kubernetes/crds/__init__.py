"""Check a CustomResourceDefinition and the schemas in it."""
