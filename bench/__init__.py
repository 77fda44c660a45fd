"""The benchmarks: what Fanlight costs, as ratios against its peers in one run. Linux only."""
