"""Items of templates, each drawn once: their pictures are what takes the time."""

from __future__ import annotations

import random
from functools import cache

from toolmark.suites.m3.local.task_item import TaskItem, Template


@cache
def make_item(template: Template, seed: int) -> TaskItem:
    """Draw the item of a template for a seed; equal ones are the same object."""
    return template(random.Random(seed))
