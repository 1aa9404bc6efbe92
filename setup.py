"""Names the packages, since the folder ``cli`` is installed as ``constrained_cli`` with all that is in it."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["constrained", "constrained.*", "grammars", "grammars.*"]),
        "constrained_cli",
        *(f"constrained_cli.{name}" for name in find_packages("cli")),
    ],
    package_dir={"constrained_cli": "cli"},
)
