"""What tools that people know print: one module a tool, each turns its output into what it measured."""
