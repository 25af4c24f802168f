"""Probes of an endpoint, one module for each thing that is probed; `endpoint_probes` joins them."""
