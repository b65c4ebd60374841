"""How a run ends when it's asked to, in a process of its own: SIGTERM and Ctrl-C at any moment."""
