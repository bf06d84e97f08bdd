"""Call the program in the process of a test."""

from click.testing import CliRunner

from swmodel.cli import main


def option_words(options):
    """The words of a command line, -s KEY=VALUE, for options {key: value}."""
    return [word for key, value in options.items() for word in ("-s", f"{key}={value}")]


def invoke_swmodel(*arguments):
    """The result of `swmodel` with these arguments, which may be paths and numbers."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments])
