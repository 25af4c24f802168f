"""Speech synthesisers: each module is one engine, with one process per utterance.

A fresh process per utterance makes equal texts give equal bytes: within one process eSpeak keeps
state between calls.
"""
