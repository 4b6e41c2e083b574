"""What the server's Go code says of built-in kinds whose rules fit on a page each."""
