"""What a server has against a CustomResourceDefinition and the schemas in it."""
