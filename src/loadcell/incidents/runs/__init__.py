"""Evidence from the samples and logs of a stored run, and its findings. One file a source."""
