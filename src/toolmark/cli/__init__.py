"""The command line: reads words, calls `api`, prints."""
