"""The history of a plan: gathered from a results directory, for a terminal, a page, or a program."""
