"""Conversion of official BFCL result files to run folders and back."""
