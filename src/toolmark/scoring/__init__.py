"""Parts of scorers, usable without a transport or a suite."""
