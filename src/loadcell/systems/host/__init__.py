"""The machine itself as a target."""
