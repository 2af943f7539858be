"""Known incidents, recognised from evidence: one file an incident, with its signs, remedy and prevention."""
