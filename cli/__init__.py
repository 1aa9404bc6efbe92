"""The command line of `constrained`, installed as ``constrained_cli``. Heavy imports wait until arguments are checked."""
