"""Speech recognisers, real and simulated, and measures of their errors."""
