"""Mutants: single faults planted in functions of the product, which the tests have to find.

`make mutants SEED=1 COUNT=200` runs the tests once and records which test calls which function. It
then draws functions of all members, changes one expression or statement in each, and runs the
tests that call the function until one fails. It lists the mutants that no test finds.
"""
