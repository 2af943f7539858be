"""Plans drafted from what a user has: a server, a recording, an API's description, another tool's command."""
