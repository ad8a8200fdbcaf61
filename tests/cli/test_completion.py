"""What Tab offers in a shell, by the script that ``cobre completion`` writes."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess

import pytest

from cobre.cli import COMMANDS
from cobre.cli.completion import command_line, main
from commands import run_command

# Completes as readline would: the function that the script registered, with the words typed so far.
TAB = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
function=$(complete -p cobre | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
"$function" cobre "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """Write the script for a shell; its path."""

    def write(shell):
        path = tmp_path_factory.mktemp("completion") / shell
        with contextlib.redirect_stdout(io.StringIO()) as text:
            assert main([shell]) == 0
        path.write_text(text.getvalue())
        return path

    return write


@pytest.fixture(scope="module")
def tab(script, tmp_path_factory):
    """What bash offers for the words, the last of which is being typed."""
    path, folder = script("bash"), tmp_path_factory.mktemp("folder")
    (folder / "my_case").mkdir()
    (folder / "events.jsonl").touch()

    def press(*words):
        command = ["bash", "--norc", "-c", TAB, "bash", str(path), "cobre", *words]
        done = run_command(command, cwd=folder, check=True)
        assert not done.stderr
        return done.stdout.split()

    return press


def test_bash_completes_commands(tab):
    assert tab("sim") == ["simulate"]
    assert set(COMMANDS) <= set(tab(""))


def test_bash_completes_the_options_of_each_command(tab):
    for name, parser in command_line()._subparsers._group_actions[0].choices.items():
        options = {word for action in parser._actions for word in action.option_strings}
        assert set(tab(name, "-")) == options, name
    assert "--simulate-only" in tab("run", "--s")


def test_bash_completes_choices(tab):
    assert tab("init", "--template", "sm") == ["small"]
    assert tab("completion", "z") == ["zsh"]


def test_bash_completes_folders_where_a_folder_is_meant(tab):
    assert tab("run", "my") == ["my_case"]
    assert tab("run", "ev") == []
    assert tab("tui", "--replay", "ev") == ["events.jsonl"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_the_script(shell, script):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    subprocess.run([shell, "-n", script(shell)], timeout=60, check=True)


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_of_other_shells_know_every_command_and_option(shell, script):
    text = script(shell).read_text()
    for name in COMMANDS:
        assert name in text
    assert "simulate-only" in text
    assert "max-bytes" in text
