"""What operators make of jobs, for people and programs: as a table, as YAML with the place of each value, as a `v1` List."""
