"""A calendar with three tools: requests are right if the calendar is right at the end."""

from typing import Literal

import toolmark as tm

Day = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]


class Calendar(tm.Environment):
    """The events of one week."""

    def __init__(self, task: tm.Task) -> None:
        self.events = dict(task.data["events"])

    @tm.tool
    def add_event(self, title: str, day: Day, hour: int) -> str:
        """Add an event.

        Args:
            title: What it is, in the words of the request.
            day: The weekday.
            hour: The full hour at which it begins, 0 to 23.
        """
        self.events[title] = [day, hour]
        return f"{title} is on {day} at {hour}"

    @tm.tool
    def move_event(self, title: str, day: Day, hour: int) -> str:
        """Move an event to another day or hour.

        Args:
            title: The event.
            day: The new weekday.
            hour: The new full hour, 0 to 23.
        """
        self.delete_event(title)
        return self.add_event(title, day, hour)

    @tm.tool
    def delete_event(self, title: str) -> str:
        """Delete an event.

        Args:
            title: The event.
        """
        if title not in self.events:
            raise tm.ToolError(f"there is no event {title!r}, only: {', '.join(self.events)}")
        del self.events[title]
        return f"{title} is deleted"

    def final_state(self) -> object:
        """Return the day and hour of each event."""
        return self.events


@tm.suite
def calendar(path: str = "examples/calendar_rows.jsonl") -> tm.Suite:
    """Appointments by request."""
    return tm.Suite(
        tasks=tm.read_tasks(path), environment=Calendar, scorer=tm.state_equals("expected")
    )
