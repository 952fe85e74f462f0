"""Python loads this module at the start of each process whose PYTHONPATH has its folder."""

from mutants import calls

calls.begin(write_at_once=True)
