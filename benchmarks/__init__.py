"""Measurements that are run by hand or by `make bench`, never as part of the tests."""
