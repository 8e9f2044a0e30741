"""What lies on a disk of the appliance, read on the host while the machine is off: the boot loader's settings, the record of
payments, the system's journal."""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile

# Where the boot partition begins, and how long it is, see image/disk.py.
BOOT, BOOT_SIZE = 2 << 20, 32 << 20


def raw(disk, folder):
    """The whole disk as plain bytes; holes stay holes."""
    path = pathlib.Path(folder, "disk.raw")
    subprocess.run(["qemu-img", "convert", "-O", "raw", str(disk), str(path)], check=True)
    return path


def with_configuration(image, folder, text):
    """A copy of an image that has this till.yaml on its boot partition."""
    path, written = pathlib.Path(folder, "prepared.img"), pathlib.Path(folder, "till.yaml")
    subprocess.run(["cp", "--sparse=always", str(image), str(path)], check=True)
    written.write_text(text)
    subprocess.run(["mcopy", "-i", f"{path}@@{BOOT}", str(written), "::till.yaml"], check=True)
    return path


def boot_partition(path):
    """All bytes of it, those of files that were erased too."""
    with open(path, "rb") as file:
        file.seek(BOOT)
        return file.read(BOOT_SIZE)


def boot_settings(path):
    block = subprocess.run(["mtype", "-i", f"{path}@@{BOOT}", "::grub/grubenv"], check=True, capture_output=True).stdout
    lines = block.decode(errors="replace").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def settings_now(disk, folder):
    """The boot loader's settings on the disk of a machine that runs. Only looks."""
    part = pathlib.Path(folder, "boot.fat")
    try:
        subprocess.run(
            ["qemu-img", "dd", "-U", "-f", "qcow2", "-O", "raw", "bs=1M", f"skip={BOOT >> 20}", f"count={BOOT_SIZE >> 20}", f"if={disk}", f"of={part}"],
            check=True, capture_output=True,
        )  # fmt: skip
        block = subprocess.run(["mtype", "-i", str(part), "::grub/grubenv"], check=True, capture_output=True).stdout
        return dict(line.split("=", 1) for line in block.decode(errors="replace").splitlines() if "=" in line)
    except subprocess.CalledProcessError:
        return {}
    finally:
        part.unlink(missing_ok=True)


def data_partition(path):
    """Where the data partition begins, in bytes; None where it was never made."""
    table = json.loads(subprocess.run(["sfdisk", "-J", str(path)], check=True, capture_output=True).stdout)
    for part in table["partitiontable"]["partitions"]:
        if part.get("name") == "till-data":
            return part["start"] * 512
    return None


def copy_data(path, folder):
    """The data partition as a file of its own; None where there is none."""
    start = data_partition(path)
    if start is None:
        return None
    part = pathlib.Path(folder, "data.raw")
    with open(path, "rb") as source, open(part, "wb") as target:
        target.truncate(os.path.getsize(path) - start)
        source.seek(start)
        position = 0
        while block := source.read(1 << 20):
            if block.strip(b"\0"):
                target.seek(position)
                target.write(block)
            position += len(block)
    return part


def put_data(part, path):
    """Puts a data partition back into its disk."""
    with open(part, "rb") as source, open(path, "r+b") as target:
        target.seek(data_partition(path))
        shutil.copyfileobj(source, target, 1 << 20)
    part.unlink()


def ext4_facts(part):
    said = subprocess.run(["dumpe2fs", "-h", str(part)], check=True, capture_output=True, text=True).stdout
    return dict(line.split(":", 1) for line in said.splitlines() if ":" in line)


def fill_data(path, folder):
    """Leaves no block free on the data partition."""
    part, filler = copy_data(path, folder), pathlib.Path(folder, "filler")
    facts = ext4_facts(part)
    with open(filler, "wb") as file:
        file.truncate(int(facts["Free blocks"]) * int(facts["Block size"]))
    # `write` copies holes as holes; `fallocate` takes the blocks. What it needs itself is why it ends with an error.
    name, last = "/lib/filler", int(facts["Free blocks"]) - 1
    commands = f"write {filler} {name}\nfallocate {name} 0 {last}\nquit\n"
    subprocess.run(["debugfs", "-w", "-f", "-", str(part)], input=commands, check=True, capture_output=True, text=True)
    filler.unlink()
    put_data(part, path)


def empty_data(path, folder):
    """Takes away what filled the data partition."""
    part = copy_data(path, folder)
    subprocess.run(["e2fsck", "-fy", str(part)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run(["debugfs", "-w", "-R", "rm /lib/filler", str(part)], check=True, capture_output=True)
    subprocess.run(["e2fsck", "-fy", str(part)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    put_data(part, path)


def record_of_payments(path, folder):
    """The sectors of the disk that the record of payments lies in, and the one that says where it lies."""
    part, record = copy_data(path, folder), "/lib/till/journal.sqlite"
    size, start = int(ext4_facts(part)["Block size"]), data_partition(path)

    def said(request):
        return subprocess.run(["debugfs", "-R", f"{request} {record}", str(part)], check=True, capture_output=True, text=True).stdout

    blocks = [int(number) for number in said("blocks").split()]
    place = int(said("imap").split("located at block ")[1].split(",")[0])
    part.unlink()
    return [(start + block * size) // 512 for block in blocks], (start + place * size) // 512


def unpack_data(path, folder):
    """Copies what is on the data partition into `folder`, after its own journal was replayed. False where there is none."""
    part = copy_data(path, folder)
    if part is None:
        return False
    subprocess.run(["e2fsck", "-fy", str(part)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out = pathlib.Path(folder, "var")
    out.mkdir()
    for place in ("/lib", "/log"):
        subprocess.run(["debugfs", "-R", f"rdump {place} {out}", str(part)], check=True, capture_output=True)
    part.unlink()
    return True


def charges(folder):
    """All charges in the record of payments, with how each stands there."""
    with contextlib.closing(sqlite3.connect(folder / "var/lib/till/journal.sqlite")) as file:
        return dict(file.execute("SELECT id, state FROM charge"))


def journal(folder):
    """The entries of the system's journal, oldest first."""
    said = subprocess.run(
        ["journalctl", "--directory", str(next(pathlib.Path(folder, "var/log/journal").iterdir())), "-o", "json", "--no-pager"],
        capture_output=True, text=True,
    )  # fmt: skip
    return [json.loads(line) for line in said.stdout.splitlines()]


def half_backups(till, passphrase, stick):
    """The files on a stick that have a backup's name and that the program cannot read as one."""
    listed = subprocess.run(["mdir", "-b", "-i", str(stick), "::"], check=True, capture_output=True, text=True).stdout
    names = [line.rpartition("/")[2] for line in listed.split()]
    return [name for name in names if name.endswith(".age") and not is_whole_backup(till, passphrase, stick, name)]


def is_whole_backup(till, passphrase, stick, name):
    content = subprocess.run(["mtype", "-i", str(stick), f"::{name}"], check=True, capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        file, secret = pathlib.Path(folder, "read.age"), pathlib.Path(folder, "secret")
        file.write_bytes(content)
        secret.write_text(passphrase + "\n")
        said = subprocess.run(
            [str(till), "restore", "--state", folder + "/state", "--passphrase-file", str(secret), str(file)],
            capture_output=True,
        )
    return said.returncode == 0
