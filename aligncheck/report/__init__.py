"""Reports: one module a format, each a pure function from outcomes to text."""
