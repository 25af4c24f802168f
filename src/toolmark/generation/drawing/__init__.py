"""Drawing: fonts, canvases, planes in perspective, emblems, light; it knows no suite."""
