"""Programs that measure; what pages show of it is in `book/measured/`."""
