"""The orders that both programs show."""

from functools import cache

import numpy as np
import pandas as pd

FIRST = "Customer 0000"
"""The customer of the first order, by which a painted table is recognized."""


@cache
def load_orders(rows: int) -> pd.DataFrame:
    chance = np.random.default_rng(1)
    customers = np.char.add("Customer ", np.char.zfill(np.arange(5_000).astype(str), 4))
    chosen = chance.integers(0, len(customers), rows)
    chosen[0] = 0
    return pd.DataFrame(
        {
            "order": np.arange(rows),
            "customer": customers[chosen],
            "region": np.array(["north", "south", "east", "west"])[chance.integers(0, 4, rows)],
            "pieces": chance.integers(1, 50, rows),
            "total": chance.random(rows).round(4) * 1_000,
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(chance.integers(0, 365, rows), unit="D"),
            "paid": chance.random(rows) < 0.7,
            "note": np.array(["", "gift", "call before delivery"])[chance.integers(0, 3, rows)],
        }
    )
