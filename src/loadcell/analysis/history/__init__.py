"""The runs of one plan over time: their figures, where these changed, and what changed there besides."""
