"""The parts of the overview, one module each: functions from a report and a width to a drawing."""
