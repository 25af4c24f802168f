"""Drawing: letters, sheets, planes in perspective, emblems, light. No suite is known here."""
