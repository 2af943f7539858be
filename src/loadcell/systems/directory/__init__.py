"""A directory as a target: its file system is what is measured."""
