"""Bottlenecks made on purpose on real parts, at random sizes: does a run name each as its limit?"""
