"""What the trainer asks of a device, as far as it can be told without one."""
