"""Measures what running plugins in processes of their own costs."""
