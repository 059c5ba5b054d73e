"""Answers from formulas instead of a language model: see backend.py."""
