"""Contracts between the parts: records, messages, metrics, tables; plain values that import nothing above
them.
"""
