"""Appointments that a user asks for bit by bit; its rows are in simulated_user.jsonl."""

from pathlib import Path

import toolmark as tm

ROWS = Path(__file__).with_suffix(".jsonl")


class Calendar(tm.Environment):
    """A calendar of one week."""

    def __init__(self, task: tm.Task) -> None:
        self.events = list(task.data["events"])

    @tm.tool
    def add_event(self, day: str, hour: int, title: str) -> str:
        """Add an event.

        Args:
            day: Weekday, in English.
            hour: Full hour, 0 to 23.
            title: What it is, in one word of lower case.
        """
        self.events.append([day, hour, title])
        return "added"

    def final_state(self) -> object:
        """Return the events in their order."""
        return sorted(self.events)


@tm.suite
def appointments(path: str = str(ROWS)) -> tm.Suite:
    """Appointments by request, with a user who says what is missing when it is asked."""
    user = tm.simulated_user("{goal}", knows="{knows}", does_not_know="{room}", max_turns=5)
    return tm.Suite(
        tasks=tm.read_tasks(path),
        environment=Calendar,
        scorer=tm.state_equals("expected"),
        user=user,
    )
