"""Provider protocols: a request as a body, a body as a reply."""
