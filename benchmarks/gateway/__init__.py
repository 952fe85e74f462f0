"""What a request and a token cost on their way through Heddle.

Run `python -m benchmarks.gateway --help`. Heddle, as separate processes and as one, is measured
beside a bare one-hop proxy and beside the upstream itself, in interleaved rounds of one run. Only
ratios within a run are worth comparing: absolute figures belong to a machine and to an hour.
"""
