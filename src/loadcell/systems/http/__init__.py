"""HTTP services as a target."""
