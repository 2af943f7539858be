"""One renderer a medium for the blocks of `loadcell.report.blocks`: HTML, Markdown, terminal, and JSON of
documents.
"""
