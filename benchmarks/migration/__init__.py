"""What migrating costs, and what an assistant costs that was migrated.

`python -m benchmarks.migration` measures batch jobs, with `--get` single reads.
"""
