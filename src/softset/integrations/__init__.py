"""Other packages' calls, with softset behind them."""
