"""The appliance's scripts that decide which version is started, with a boot loader, a terminal and an installer that only pretend.

What they call by its place in the system is looked for in a folder instead; the scripts are otherwise as they are in the image.
"""

import pathlib
import re
import subprocess

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "image/root/usr/lib/till"
STAND_INS = {
    "grub-editenv": """
        case $2 in
            list) cat "$1" ;;
            set) shift 2; for word; do sed -i "/^${word%%=*}=/d" "$ENV"; echo "$word" >>"$ENV"; done ;;
        esac""",
    "systemctl": """
        case $1 in
            show)
                case $4 in
                    --value) cat "$ROOT/said/$3" ;;
                    *) for name in $(echo "$3" | tr , ' '); do echo "$name=$(cat "$ROOT/said/$name")"; done ;;
                esac ;;
            *) echo "$*" >>"$ROOT/did" ;;
        esac""",
    "setpriv": """echo self-test >>"$ROOT/did"; exit "$(cat "$ROOT/said/self-test")" """,
    "sleep": """echo "$1" >>"$ROOT/slept" """,
    "sync": "",
    "journalctl": """echo "journalctl $*" >>"$ROOT/did" """,
    "mount": """echo "mount $*" >>"$ROOT/did" """,
    "blkid": """cat "$ROOT/said/label" """,
    "umount": """echo "umount $*" >>"$ROOT/did" """,
    "udevadm": """echo USEC_INITIALIZED="$(cat "$ROOT/said/seen")" """,
    "rauc": """
        case $1 in
            info) echo "RAUC_MF_VERSION='$(cat "$3")'" ;;
            install) echo "install $(cat "$2")" >>"$ROOT/did"; exit "$(cat "$ROOT/said/install")" ;;
        esac""",
}


class Box:
    def __init__(self, root):
        self.root = root
        self.settings_file = root / "boot/start/grub/grubenv"
        folders = "boot/start/grub run/till var/lib/till-update var/lib/till var/lib/iwd usr/lib/till/box usr/bin said etc/till"
        for folder in folders.split():
            (root / folder).mkdir(parents=True)
        for name, text in STAND_INS.items():
            program = root / "usr/lib/till/box" / name
            program.write_text(f"#!/bin/sh\n{text}\n")
            program.chmod(0o755)
        (root / "usr/bin/setpriv").symlink_to(root / "usr/lib/till/box/setpriv")
        self.write("run/till/slot", "B")
        self.write("usr/lib/till/version", "2.0")
        self.write("etc/passwd", "till:x:988:988::/:/usr/sbin/nologin")
        self.terminal("active")
        self.says(**{"label": "TILL-UPDATE", "self-test": 0, "install": 0, "seen": 90_000_000, "ActiveEnterTimestampMonotonic": 20_000_000})
        self.settings(A_OK=1, A_TRY=0, A_GOOD=1, B_OK=1, B_TRY=1, B_GOOD=0)

    def write(self, name, text):
        (self.root / name).write_text(f"{text}\n")

    def says(self, **words):
        for name, word in words.items():
            self.write(f"said/{name}", word)

    def terminal(self, state, restarts=0, status="ready to charge"):
        self.says(ActiveState=state, NRestarts=restarts, StatusText=status)

    def settings(self, **settings):
        self.settings_file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))

    def setting(self, name):
        return dict(line.split("=") for line in self.settings_file.read_text().split())[name]

    def run(self, script, *words, **environment):
        self.write("usr/lib/till/slots", self.moved("slots"))
        text = self.moved(script)
        # Its own system first, and this one's for what is no stand-in.
        text = re.sub(r"^export PATH=.*", f"export PATH={self.root}/usr/lib/till/box:/usr/bin:/bin", text, flags=re.M)
        place = self.root / "script"
        place.write_text(text)
        known = {"ROOT": str(self.root), "ENV": str(self.settings_file), "PATH": "/usr/bin:/bin"}
        return subprocess.run(["sh", str(place), *words], env=known | environment, capture_output=True, text=True, timeout=60)

    def moved(self, script):
        places = "run/till|var/lib|boot/start|usr/lib/till|usr/bin/setpriv|etc"
        return re.sub(rf"(?<!\w)/({places})\b", rf"{self.root}/\1", (SCRIPTS / script).read_text())

    @property
    def did(self):
        path = self.root / "did"
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def slept(self):
        path = self.root / "slept"
        return sum(int(line) for line in path.read_text().split()) if path.exists() else 0


@pytest.fixture
def box(tmp_path):
    return Box(tmp_path)


def test_a_version_whose_self_test_passes_is_good_and_nothing_older_follows_it(box):
    done = box.run("good")
    assert done.returncode == 0, done.stderr
    assert (box.setting("B_GOOD"), box.setting("B_TRY")) == ("1", "0")
    assert (box.root / "var/lib/till-update/newest").read_text() == "2.0\n"
    assert "reboot" not in box.did


def test_a_new_version_that_fails_is_left_for_one_that_was_good(box):
    box.says(**{"self-test": 74})
    assert box.run("good").returncode == 1
    assert box.did == ["self-test"] * 3 + ["reboot"]
    assert box.setting("B_GOOD") == "0"


@pytest.mark.parametrize("other", [{"A_GOOD": 0, "A_OK": 1}, {"A_GOOD": 1, "A_OK": 0}])
def test_without_one_that_was_good_the_machine_does_not_start_anew_for_ever(box, other):
    box.settings(**({"B_OK": 1, "B_TRY": 1, "B_GOOD": 0} | other))
    box.says(**{"self-test": 74})
    assert box.run("good").returncode == 1
    assert "reboot" not in box.did
    # Nor does the boot loader leave it after so many mornings; and nobody takes it for good, as RAUC does with no start.
    assert box.setting("B_TRY") == "1"


def test_a_good_version_stays_however_often_it_is_switched_on_beside_something_broken(box):
    box.settings(A_OK=1, A_TRY=0, A_GOOD=1, B_OK=1, B_TRY=8, B_GOOD=1)
    box.says(**{"self-test": 74})
    assert box.run("good").returncode == 1
    assert box.setting("B_TRY") == "0" and "reboot" not in box.did


@pytest.mark.parametrize(
    ("state", "restarts", "status", "patience"),
    [
        ("activating", 5, "", 0),  # It ends again and again.
        ("activating", 0, "storage: The record of payments comes from a newer version.", 120),
        ("activating", 0, "", 900),  # It hangs.
    ],
)
def test_a_terminal_that_does_not_come_to_serve_is_not_waited_for_for_ever(box, state, restarts, status, patience):
    box.terminal(state, restarts, status)
    assert box.run("good").returncode == 1
    assert box.did == ["reboot"] and box.slept() == pytest.approx(patience, abs=5)


@pytest.mark.parametrize("other", [1, 0])
def test_a_new_version_that_cannot_use_the_disk_is_left_for_one_that_could(box, other):
    box.settings(A_OK=1, A_TRY=0, A_GOOD=other, B_OK=1, B_TRY=1, B_GOOD=0)
    box.write("run/till/trouble", "the data partition cannot be used")
    assert box.run("good").returncode == 1
    assert box.did == (["reboot"] if other else [])


def test_a_good_version_that_does_not_come_to_serve_counts_its_starts(box):
    box.settings(A_OK=1, A_TRY=0, A_GOOD=1, B_OK=1, B_TRY=4, B_GOOD=1)
    box.terminal("activating", 5)
    assert box.run("good").returncode == 1
    assert box.setting("B_TRY") == "4" and "reboot" not in box.did


def offered(box, version, newest=None):
    box.settings(A_OK=1, A_TRY=0, A_GOOD=1, B_OK=1, B_TRY=0, B_GOOD=1)
    return offered_to(box, version, newest)


def offered_to(box, version, newest=None):
    bundle = box.root / "bundle"
    bundle.mkdir()
    (bundle / "version").write_text(version + "\n")
    if newest:
        box.write("var/lib/till-update/newest", newest)
    return box.run("before-update", RAUC_UPDATE_SOURCE=str(bundle)).returncode


@pytest.mark.parametrize(
    ("version", "newest", "answer"),
    [
        ("2.1", None, 0),
        ("2.1", "2.0", 0),
        ("2.0", "2.0", 1),
        ("1.9", "2.0", 1),
        ("2.1", "2.2", 1),
        # An older version runs again: the newest that was good may come back.
        ("2.1", "2.1", 0),
        ("2.10", "2.9", 0),
        ("2.1; reboot", None, 2),
        ("", None, 2),
    ],
)
def test_nothing_older_than_what_was_good_is_installed(box, version, newest, answer):
    assert offered(box, version, newest) == answer
    # What is written now was never good.
    assert box.setting("A_GOOD") == ("0" if answer == 0 else "1")


def test_the_only_way_back_is_not_written_over_before_the_new_version_has_shown_that_it_works(box):
    assert offered_to(box, "2.1") == 2
    assert box.setting("A_GOOD") == "1"


@pytest.mark.parametrize("other", [{"A_GOOD": 0, "A_OK": 1}, {"A_GOOD": 1, "A_OK": 0}])
def test_a_version_without_a_way_back_can_be_followed_by_a_better_one(box, other):
    box.settings(**({"B_OK": 1, "B_TRY": 1, "B_GOOD": 0} | other))
    assert offered_to(box, "2.1") == 0


def plugged_in(box, version):
    stick = box.root / "run/till/sticks/sda1"
    stick.mkdir(parents=True, exist_ok=True)
    (stick / "till.raucb").write_text(version)
    return box.run("stick", "sda1", "add").stdout


def test_a_stick_that_is_plugged_in_brings_its_version(box):
    plugged_in(box, "2.1")
    assert box.did[-2:] == ["install 2.1", "reboot"]


def test_a_stick_that_stays_in_does_not_bring_what_did_not_stay_at_every_start(box):
    plugged_in(box, "2.1")
    (box.root / "did").unlink()
    box.says(seen=20_000_000)
    assert "did not stay" in plugged_in(box, "2.1")
    assert not any("install" in line for line in box.did)
    # Plugged in again: somebody wants it.
    box.says(seen=90_000_000)
    plugged_in(box, "2.1")
    assert "install 2.1" in box.did


def test_a_stick_that_stays_in_after_its_version_runs_is_no_news(box):
    box.says(seen=20_000_000)
    assert "runs already" in plugged_in(box, "2.0")
    assert not any("install" in line for line in box.did)


def test_what_could_not_be_installed_is_tried_again(box):
    box.says(install=1)
    assert "the running version stays" in plugged_in(box, "2.1")
    box.says(seen=20_000_000)
    plugged_in(box, "2.1")
    assert box.did.count("install 2.1") == 2 and "reboot" not in box.did


def networks_of_an_owner(box):
    networks = box.root / "var/lib/iwd"
    for name in ("Shop.psk", ".known_network.freq"):
        (networks / name).write_text("[Security]\nPassphrase=secret\n")
    return networks


FORGOTTEN = "journalctl --quiet --rotate --vacuum-time=1s"


def lies(box):
    return sorted(str(place.parent.relative_to(box.root / "run/till")) for place in (box.root / "run/till").glob("*/sda1"))


def test_a_stick_for_the_owner_stands_for_an_act_where_it_came_while_the_machine_ran(box):
    box.says(label="TILL-OWNER")
    box.run("stick", "sda1", "add")
    assert lies(box) == ["owner"]
    assert any("ro,umask=022,nosuid,nodev,noexec" in line for line in box.did), "nothing is written to it"
    box.run("stick", "sda1", "remove")
    assert lies(box) == [], "pulled out, it stands for nothing"


def test_a_stick_for_the_owner_that_was_in_at_the_start_stands_for_nothing(box):
    box.says(label="TILL-OWNER", seen=19_000_000)
    assert "plug it in again" in box.run("stick", "sda1", "add").stdout
    assert lies(box) == ["sticks"]


@pytest.mark.parametrize("label", ["", "till-owner", "TILL-OWNER2", "NO NAME", "TILL-UPDATE"])
def test_no_other_stick_stands_for_an_act(box, label):
    box.says(label=label)
    box.run("stick", "sda1", "add")
    assert lies(box) == ["sticks"]


@pytest.mark.parametrize(("files", "is_erased"), [("device.key", False), ("", True), ("device.key wipe.begun", True)])
def test_an_erased_terminal_knows_nothing_of_another_owner(box, files, is_erased):
    box.run("before-till")
    assert box.did == [], "what the system said of the first start of all stays"
    networks = networks_of_an_owner(box)
    for name in files.split():
        box.write(f"var/lib/till/{name}", "")
    assert box.run("before-till").returncode == 0
    assert len(list(networks.iterdir())) == (0 if is_erased else 2)
    assert box.did == ([FORGOTTEN] if is_erased else [])


@pytest.mark.parametrize("starts", [0, 1])
def test_a_terminal_of_an_earlier_image_forgets_amounts_too_when_it_is_erased(box, starts):
    box.write("var/lib/till/device.key", "")
    for _ in range(starts):
        box.run("before-till")
    box.write("var/lib/till/wipe.begun", "")
    box.run("before-till")
    assert box.did == [FORGOTTEN]


def test_a_disk_that_cannot_be_read_neither_forgets_anything_nor_keeps_the_terminal_from_saying_so(box):
    networks = networks_of_an_owner(box)
    (box.root / "var/lib/till").rmdir()
    assert box.run("before-till").returncode == 0
    assert len(list(networks.iterdir())) == 2


@pytest.mark.parametrize(("status", "is_left"), [("78", True), ("75", False), ("", False)])
def test_a_prepared_file_that_does_not_work_is_left_for_the_images_own(box, status, is_left):
    box.write("run/till/till.yaml", "prepared")
    box.write("etc/till/till.yaml", "its own")
    box.run("after-till", EXIT_STATUS=status)
    assert (box.root / "run/till/till.yaml").read_text().strip() == ("its own" if is_left else "prepared")
