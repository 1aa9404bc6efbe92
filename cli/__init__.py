"""The command line, installed as ``constrained_cli``. Heavy imports wait until the arguments are checked."""
