"""Pages of `loadcell doctor`: findings of all subjects, and the details of each type of evidence."""
