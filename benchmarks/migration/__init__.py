"""What migrating costs, and what an assistant costs that was migrated.

`python -m benchmarks.migration` measures sweeps over many assistants, with `--get` single reads.
"""
