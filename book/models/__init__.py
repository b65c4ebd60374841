"""What the pages train and measure, and the seeds of their experiments."""
