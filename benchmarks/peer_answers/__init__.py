"""Right and wrong answers that several graders are given, each for the same task in their own words."""
