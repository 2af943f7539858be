"""Services of streams of records as a target."""
