"""The commands of docs/real-sea.md, in their order, with cells of five degrees and two steps."""

import re
import shlex

from click.testing import CliRunner
from conftest import ROOT

from swmodel.cli import main


def test_the_commands_of_the_page_make_a_grid_a_run_and_a_map(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "real-sea.md").read_text()
    lines = [line for block in re.findall(r"```bash\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 4
    for line in lines:
        line = line.replace("--resolution 1", "--resolution 5").replace("--days 2", "--steps 2 --executor reference")
        done = CliRunner().invoke(main, shlex.split(line)[1:])
        assert done.exit_code == 0, (line, done.output)
    assert (tmp_path / "outputs" / "atlantic" / "output-eta.png").exists()
    assert (tmp_path / "earth.png").exists()
