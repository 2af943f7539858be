"""Sources of drafted plans: each module declares one as `DRAFT`."""
