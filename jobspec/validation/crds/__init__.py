"""CustomResourceDefinitions as documents: what a server refuses of them."""
