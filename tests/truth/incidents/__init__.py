"""Recall and precision of the doctor: real incidents, replays of random sizes, and healthy controls."""
