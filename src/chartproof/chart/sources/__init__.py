"""Where a store's rows come from."""
