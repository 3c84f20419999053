"""fill_tables.py BIN_FOLDER FILE.md: puts the output of the command named in each
`<!-- table: command -->` marker between it and the next `<!-- end -->`. Run from the root."""
import pathlib
import re
import shlex
import subprocess
import sys


def filled(match):
    words = shlex.split(match[1])
    program = pathlib.Path(sys.argv[1]) / words[0]
    table = subprocess.run([program, *words[1:]], check=True, capture_output=True, text=True).stdout
    return f"<!-- table: {match[1]} -->\n\n{table.strip()}\n\n<!-- end -->"


page = pathlib.Path(sys.argv[2])
page.write_text(re.sub(r"<!-- table: (.*?) -->.*?<!-- end -->", filled, page.read_text(), flags=re.S))
