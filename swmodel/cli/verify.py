"""`swmodel verify`: run the verification tests on this machine."""

from __future__ import annotations

import click

from .options import output_option


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--quick", is_flag=True, help="Run only the tests that take seconds, a minute in all.")
@click.option("--list", "list_only", is_flag=True, help="List the tests and run none.")
@output_option("DIR", "Write verify.png and verify.json into this folder.")
def verify(names, quick, list_only, output):
    """Run the verification tests: compare results on this machine with theory and stored results.

    \b
    swmodel verify --quick
    swmodel verify kelvin_wave munk_gyre -o outputs/verify

    Without names the command runs all tests, which takes some minutes. Exit code 6: a result is wrong.
    """
    from ..verification import VERIFICATION_TESTS
    from ..verification.verify import verify as compute
    from .rank_checks import check_devices

    if list_only:
        width = max(map(len, VERIFICATION_TESTS))
        for test in VERIFICATION_TESTS.values():
            click.echo(f"{test.name:<{width}}  {test.summary}{'' if test.quick else ' (not quick)'}")
        return
    check_devices()
    compute(names, quick, output)
