"""Names the packages: the folder ``cli`` is installed as ``constrained_cli``, which pyproject.toml cannot say for subfolders."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["constrained", "constrained.*", "grammars", "grammars.*"]),
        "constrained_cli",
        *(f"constrained_cli.{name}" for name in find_packages("cli")),
    ],
    package_dir={"constrained_cli": "cli"},
)
