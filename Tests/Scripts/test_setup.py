"""Machines that lack something: each script ends with one sentence that says what to do, and not with success.

The scripts run in a folder of their own, with a machine that only pretends: every program that they call is a stand-in or is not there.
"""

import os
import pathlib
import pty
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Programs that no machine lacks.
ORDINARY = "sh bash env dirname sed grep sort head tail tr cat cp cmp cut rm mkdir mktemp awk printf".split()
SWIFT = 'case $1 in --version) echo "Swift version $SWIFT_VERSION (swift-$SWIFT_VERSION-RELEASE)" ;; *) echo "swift $*" >>"$DID" ;; esac'
NO_NAME = "Temporary failure resolving 'deb.debian.org'"
NO_GITHUB = """\
error: Failed to clone repository https://github.com/apple/swift-nio.git:
    Cloning into bare repository '/till/.build/repositories/swift-nio-1'...
    fatal: unable to access 'https://github.com/apple/swift-nio.git/': Could not resolve host: github.com
"""
NO_PYPI = """\
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection>:
Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')': /simple/pytest/
ERROR: Could not find a version that satisfies the requirement pytest==9.2.0 (from versions: none)
ERROR: No matching distribution found for pytest==9.2.0
"""


class Machine:
    """A Debian on which all is well: somebody who may use sudo, and a package that is missing."""

    def __init__(self, root):
        self.root, self.programs, self.did = root / "till", root / "bin", root / "did"
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        for file in ROOT.glob("Tests/*/requirements.txt"):
            (self.root / file.relative_to(ROOT)).parent.mkdir(parents=True)
            shutil.copy(file, self.root / file.relative_to(ROOT))
        (self.root / "Package.swift").write_text("// swift-tools-version: 6.2\n")
        self.programs.mkdir()
        self.temporary = root / "tmp"
        self.temporary.mkdir()
        for name in ORDINARY:
            (self.programs / name).symlink_to(shutil.which(name))
        self.has("swift", SWIFT)
        self.has("dpkg-query", 'case $4 in libqrencode-dev) [ -e "$DID" ] && grep -q install "$DID" ;; *) true ;; esac && echo "install ok installed"')
        self.has("id", "echo 1000")
        self.has("sudo", 'while [ "$1" = -n ]; do shift; done; exec "$@"')
        self.has("true", "")
        self.has("apt-get", 'echo "apt-get $*" >>"$DID"')
        self.disk(free=80)
        self.has("python3", 'case $* in "-m venv"*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;; --version) echo Python 3.11.2 ;; *) echo "pip $*" >>"$DID" ;; esac')
        self.environment = {"PATH": str(self.programs), "DID": str(self.did), "SWIFT_VERSION": "6.3.1", "TMPDIR": str(self.temporary)}

    def has(self, name, text):
        (self.programs / name).unlink(missing_ok=True)
        (self.programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.programs / name).chmod(0o755)

    def lacks(self, name):
        (self.programs / name).unlink()

    def says(self, name, text, status, when="*"):
        """It says this and ends so, where it is called like that; else it notes that it was called."""
        (self.temporary.parent / f"{name}.says").write_text(text)
        self.has(name, f'case $* in {when}) {self.programs}/cat "{self.temporary.parent}/{name}.says" >&2; exit {status} ;; esac\necho "{name} $*" >>"$DID"')

    def disk(self, free, taken=0):
        """In GB."""
        self.has("df", f'printf "%s\\n" "Filesystem 1024-blocks Used Available Capacity Mounted" "/dev/vda 250000000 1 {int(free * 1e6)} 50% /"')
        self.has("du", f'printf "{int(taken * 1e6)}\\ttotal\\n"')

    def run(self, script, *words, **more):
        options = {"stdin": subprocess.DEVNULL, "timeout": 60, "env": self.environment, "cwd": self.root} | more
        return subprocess.run([self.root / "scripts" / script, *words], capture_output=True, text=True, **options)

    def called(self):
        return self.did.read_text().splitlines() if self.did.exists() else []

    def stops(self, *said, script="setup", words=(), **more):
        done = self.run(script, *words, **more)
        assert done.returncode != 0
        [sentence] = done.stderr.splitlines()
        assert sentence.endswith(".") and ". " not in sentence, f"not one sentence: {sentence}"
        for word in said:
            assert word in sentence
        return sentence


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_where_all_is_well_what_is_missing_is_installed_and_nothing_else_said(machine):
    done = machine.run("setup")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["Installing Debian packages: libqrencode-dev", "Debian packages installed."]
    assert machine.called() == ["apt-get update -q", "apt-get install -q -y --no-install-recommends libqrencode-dev"]
    done = machine.run("setup")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert list(machine.temporary.iterdir()) == []


def test_without_swift(machine):
    machine.lacks("swift")
    machine.stops("Swift 6.3 is missing", "https://www.swift.org/install/linux/")


@pytest.mark.parametrize("version", ["5.10.1", "6.2", "6.2.3"])
def test_with_an_older_swift(machine, version):
    machine.environment["SWIFT_VERSION"] = version
    machine.stops("Swift 6.3 or later is needed", ".".join(version.split(".")[:2]), "https://www.swift.org/install/linux/")
    assert machine.called() == []


def test_with_a_swift_that_does_not_run(machine):
    machine.says("swift", "swift: error while loading shared libraries: libncurses.so.6: cannot open shared object file\n", 127)
    machine.stops("Swift 6.3 or later is needed", "none that runs", "https://www.swift.org/install/linux/")


@pytest.mark.parametrize("version", ["6.3", "6.3.1", "6.4", "6.10.2", "7.0"])
def test_a_newer_swift_will_do(machine, version):
    machine.environment["SWIFT_VERSION"] = version
    assert machine.run("setup").returncode == 0


def test_on_no_debian(machine):
    machine.lacks("dpkg-query")
    machine.stops("scripts/debian-packages", "scripts/run")
    machine.stops("scripts/debian-packages", "scripts/debian-packages-test", "scripts/test", words=["test"])


def test_without_sudo(machine):
    machine.lacks("sudo")
    machine.stops("no sudo", "as root", "apt-get install libqrencode-dev")
    assert machine.called() == []


def test_as_root_no_sudo_is_needed(machine):
    machine.lacks("sudo")
    machine.has("id", "echo 0")
    assert machine.run("setup").returncode == 0


def test_sudo_that_wants_a_password_which_nobody_can_type(machine):
    machine.says("sudo", "sudo: a password is required\n", 1)
    machine.stops("sudo", "password", "as root", "apt-get install libqrencode-dev")
    assert machine.called() == []


@pytest.mark.parametrize("allowed", [True, False])
def test_sudo_asks_for_the_password_where_somebody_can_type_it(machine, allowed):
    machine.has("sudo", f'case $1 in -n) exit 1 ;; -v) echo "asks" >>"$DID"; exit {0 if allowed else 1} ;; esac; exec "$@"')
    ours, theirs = pty.openpty()
    try:
        if allowed:
            assert machine.run("setup", stdin=theirs).returncode == 0
        else:
            machine.stops("sudo", "as root", "apt-get install libqrencode-dev", stdin=theirs)
        assert machine.called()[0] == "asks"
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(
    "update, install",
    [
        ("", f"E: Failed to fetch http://deb.debian.org/debian/pool/main/q/qrencode.deb  {NO_NAME}\nE: Unable to fetch some archives\n"),
        # Without lists from an earlier day apt knows no package at all.
        (f"W: Failed to fetch http://deb.debian.org/debian/dists/bookworm/InRelease  {NO_NAME}\n", "E: Unable to locate package libqrencode-dev\n"),
    ],
    ids=["lists of an earlier day", "no lists"],
)
def test_packages_that_cannot_be_fetched(machine, update, install):
    (machine.root / "update").write_text(update)
    (machine.root / "install").write_text(install)
    machine.has("apt-get", f'cat "{machine.root}/$1" >&2; [ "$1" = update ]')
    sentence = machine.stops("check the network", "run this again")
    log = pathlib.Path(sentence.rstrip(".").split()[-1])
    assert "Temporary failure" in log.read_text(), "apt's own words are where the sentence says"


@pytest.mark.parametrize("said", ["E: Unable to locate package libqrencode-dev\n", "E: Package 'libqrencode-dev' has no installation candidate\n"])
def test_packages_that_this_debian_does_not_have(machine, said):
    machine.says("apt-get", said, 100, when="install*")
    machine.stops("Debian 12", "libqrencode-dev", "scripts/run")


def test_apt_that_fails_otherwise(machine):
    machine.says("apt-get", "Reading package lists...\nE: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4 (apt)\n", 100, when="install*")
    done = machine.run("setup")
    assert done.returncode != 0
    assert len(done.stderr.splitlines()) == 1 and "Could not get lock" in done.stderr and "run this again" in done.stderr


def test_a_list_that_cannot_be_fetched_and_is_not_needed_is_no_obstacle(machine):
    machine.says("apt-get", "E: The repository 'https://example.com stable Release' is not signed.\n", 100, when="update*")
    assert machine.run("setup").returncode == 0


def test_swift_packages_that_cannot_be_fetched(machine):
    machine.says("swift", NO_GITHUB, 1, when='"package resolve"')
    machine.stops("ould not fetch the Swift packages", "check the network to github.com", "run this again", script="compile", words=["debug", "till"])
    assert machine.called() == [], "nothing is built"


def test_swift_packages_that_do_not_fit_together(machine):
    machine.says("swift", "error: Dependencies could not be resolved because root depends on 'swift-nio' 9.0.0\n", 1, when='"package resolve"')
    machine.stops("swift-nio", "run this again", script="compile", words=["debug", "till"])


def test_swift_packages_are_fetched_the_first_time_and_when_others_are_named(machine):
    resolve, build = "swift package resolve", "swift build -c debug --product till"
    assert machine.run("compile", "debug", "till").returncode == 0
    (machine.root / ".build/checkouts").mkdir()
    assert machine.run("compile", "debug", "till").returncode == 0
    (machine.root / "Package.swift").write_text("// Others.\n")
    assert machine.run("compile", "debug", "till").returncode == 0
    # What the compiler is asked about itself is no build.
    calls = [call for call in machine.called() if call != "swift -print-target-info"]
    called = [" ".join(word for word in call.split() if word in (resolve + build)) for call in calls]
    assert called == [resolve, build, build, resolve, build]
    assert list(machine.temporary.iterdir()) == []


def test_a_disk_without_room(machine):
    machine.disk(free=1.2)
    machine.stops("3.0 GB", "1.2 GB are free", "make room", str(machine.root), script="compile", words=["debug", "till"])
    assert machine.called() == []


def test_what_is_built_already_needs_no_room(machine):
    machine.disk(free=1.2, taken=1.9)
    assert machine.run("compile", "debug", "till").returncode == 0


def test_a_build_with_tests_needs_more_room(machine):
    machine.disk(free=3.5)
    assert machine.run("prepare-build", "debug").returncode == 0
    machine.stops("4.0 GB", "3.5 GB are free", script="prepare-build", words=["debug", "4"])


def test_a_shop_that_cannot_be_built_says_so_in_one_sentence(machine):
    for name in ("setsid", "seq", "kill", "sleep"):
        (machine.programs / name).symlink_to(shutil.which(name))
    machine.disk(free=1.2)
    machine.stops("make room", script="run")


def test_python_packages_are_installed_once(machine):
    assert machine.run("setup-python").returncode == 0
    done = machine.run("setup-python")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert len(machine.called()) == 1
    assert list(machine.temporary.iterdir()) == []


def test_without_python(machine):
    machine.lacks("python3")
    machine.stops("Python is missing", "scripts/setup test", script="setup-python")


def test_a_python_without_venv(machine):
    machine.has("python3", 'echo "The virtual environment was not created successfully because ensurepip is not available."; exit 1')
    machine.stops("python3-venv", "scripts/setup test", script="setup-python")


@pytest.mark.parametrize(
    "said, words",
    [
        (NO_PYPI, ["check the network to pypi.org", "run this again"]),
        ("ERROR: No matching distribution found for greenlet==3.5.6\n", ["Python 3.11.2", "Python 3.11 of Debian 12"]),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n", ["No space left on device", "run this again"]),
    ],
    ids=["no network", "other Python", "full disk"],
)
def test_python_packages_that_cannot_be_installed(machine, said, words):
    (machine.root / "said").write_text(said)
    machine.has("python3", f'case $* in "-m venv"*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;; --version) echo Python 3.11.2 ;; *) cat "{machine.root}/said" >&2; exit 1 ;; esac')
    machine.stops(*words, script="setup-python")
    # The next try begins anew.
    machine.stops(*words, script="setup-python")
