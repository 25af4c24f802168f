"""Tables of a report, by what was answered: choices, probabilities, vectors, texts."""
