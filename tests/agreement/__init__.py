"""How far `validate` agrees with real servers, and where it is known not to."""
