"""Reports of a comparison: terminal, HTML page, Markdown, JSON."""
