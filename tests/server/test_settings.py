"""Wrong settings are reported before the server starts."""

import pickle
from dataclasses import fields
from pathlib import Path

import pytest

from softset.server import ServerLimits, Settings
from softset.server.problems import RequestError
from softset.server.settings import LimitError, is_loopback
from softset.server.worker_pool import ClientDisconnectedError

KEY = "correct-horse-battery"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_public_addresses_need_a_key(host: str, command, tmp_path: Path, monkeypatch) -> None:
    assert not is_loopback(host) and Settings(host=host, key=KEY).key == KEY
    monkeypatch.delenv("SOFTSET_API_KEY", raising=False)
    code, _, output = command("serve", "--host", host, "--port", "0")
    assert code == 2 and output.count("\n") == 1 and "set an API key" in output


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.0.0.2", "::1"])
def test_addresses_of_this_machine_need_no_key(host: str) -> None:
    assert is_loopback(host) and Settings(host=host).key is None


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--port", "70000"), "the port is 70000"),
        (("--concurrency", "0"), "the limit concurrency is 0"),
        (("--timeout", "nan"), "the limit timeout is nan"),
        (("--max-body", "x"), "'x' is not a valid integer"),
        (("--collection", "nowhere"), "nowhere is not a collection"),
        (("--collection", "=x"), "NAME=FOLDER"),
        (("--vectors", "a=1", "--vectors", "a=2"), "the name 'a' is used twice"),
        (("--key-file", "missing.txt"), "missing.txt: No such file or directory"),
        (("--key-file", "short.txt"), "at least 16 ASCII characters"),
        (("--key-file", "binary.txt"), "the API key must have at least 16 ASCII characters"),
        (("--key-file", "lines.txt"), "the API key must have at least 16 ASCII characters"),
        (("--threads", "0"), "0 is not in the range"),
        (("--host", "192.0.2.1", "--key-file", "good.txt"), "cannot listen on"),
        (("--vectors", "nothing"), "there are no word vectors and no folder named 'nothing'"),
        (("--model", "nothing=nowhere/at/all"), "nowhere/at/all"),
    ],
)
def test_wrong_flags_get_a_one_line_error(
    flags: tuple[str, ...], message: str, command, tmp_path: Path, monkeypatch, home
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in (
        ("short", b"abc"),
        ("binary", b"\xff" * 20),
        ("lines", b"a b c d e f g h i j k\nx"),
        ("good", KEY.encode()),
    ):
        (tmp_path / f"{name}.txt").write_bytes(content)
    port = () if "--port" in flags else ("--port", "0")
    code, _, output = command("serve", *port, *flags)
    assert code == 2 and message in output and output.count("\n") == 1, output


def test_the_key_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch) -> None:
    from softset.cli.serve import _key

    (tmp_path / "key.txt").write_text(f"{KEY}\n")
    monkeypatch.setenv("SOFTSET_API_KEY", "another-key-of-mine")
    assert _key(None) == "another-key-of-mine" and _key(str(tmp_path / "key.txt")) == KEY
    monkeypatch.setenv("SOFTSET_API_KEY", "")
    assert _key(None) is None


def test_a_missing_extra_names_the_command_that_installs_it(command, monkeypatch) -> None:
    import sys

    for name in [module for module in sys.modules if module.startswith("softset.server.uvicorn_runner")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, output = command("serve", "--port", "0")
    assert code == 2 and output == "the server needs FastAPI and uvicorn: pip install 'softset[serve]'\n"


def test_every_limit_has_a_flag_that_is_documented() -> None:
    from softset.cli.serve import serve

    flags = {option.name: option.opts for option in serve.params}
    table = (Path(__file__).parents[2] / "docs/server.md").read_text().split("| flag | default | limit |")[1]
    documented = {line.split("`")[1] for line in table.split("\n\n")[0].splitlines() if "`--" in line}
    assert {flag for limit in fields(ServerLimits) for flag in flags[limit.name]} == documented
    for limit in fields(ServerLimits):
        assert flags[limit.name] == [limit.metadata["flag"]]


def test_errors_and_settings_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(RequestError(503, "busy", {"Retry-After": "3"})))
    assert (error.status, str(error), error.headers) == (503, "busy", {"Retry-After": "3"})
    for error in (LimitError("too much"), ClientDisconnectedError("gone")):
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
    settings = Settings(collections={"a": Path("b")}, limits=ServerLimits(texts=3))
    assert pickle.loads(pickle.dumps(settings)) == settings
