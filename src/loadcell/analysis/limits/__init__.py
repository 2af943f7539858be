"""Limiting resources: candidates with their signs, and the judge that names one of them or none."""
