"""Overcooked: what two people do next in a kitchen, from games that were played in 2019."""
