"""Looks through an appliance's image for what must not be in it. Prints each finding; ends with 1 where there is one.

    scan.py ROOT.squashfs [WORD…] [--disk IMAGE]

WORDs are further texts that no file may hold, such as this machine's folders. The first steps of the start, which are packed in the
system, are looked through too; with --disk all of the disk but its first slot, which is ROOT.squashfs. A folder may stand in its
place.
"""

import argparse
import json
import pathlib
import re
import stat
import subprocess
import sys
import tempfile

# Texts, with what they would mean. Certificates are no secrets.
SECRETS = {
    rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+[A-Za-z0-9+/]{20}": "a private key",
    rb"-----BEGIN OPENSSH PRIVATE KEY-----": "a private key",
    rb"\bgh[pousr]_[A-Za-z0-9]{30,}": "a token",
    rb"\bAKIA[0-9A-Z]{16}\b": "a token",
    rb"\bwcp_[0-9a-f]{16,}": "a gateway's key",
}
FORBIDDEN = re.compile(
    r"^(till-sandbox.*|till-bench.*|till-example.*|sshd?|dropbear|telnetd|login|su|sudo|agetty|getty|gcc.*|cc|clang.*|ld|swiftc?|"
    r"swift-.*|perl|python[0-9.]*|gdb|strace|apt.*|dpkg.*|passwd|bash|dash|curl|wget|nc|authorized_keys|id_rsa|id_ed25519)$"
)

# Debian's own files, the same on every machine of the world: GnuTLS carries the keys of its self-test.
KNOWN = {("libgnutls.so.30", "a private key"), ("libssh2.so.1", "a private key")}

#: All that the boot partition of a new image holds, beside folders.
LOADER = re.compile(r"^(EFI/BOOT/BOOT[A-Z0-9]+\.EFI|grub/grub\.cfg|grub/grubenv)$")


def held(name, data, words):
    library = name.rpartition("/")[2]
    for pattern, meaning in SECRETS.items():
        known = any(library.startswith(start) and meaning == what for start, what in KNOWN)
        if not known and re.search(pattern, data):
            yield f"{name} holds {meaning}"
    for word in words:
        if word.encode() in data:
            yield f"{name} names {word}"


def in_files(root, words, place=""):
    for path in sorted(root.rglob("*")):
        name = f"{place}/{path.relative_to(root)}"
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
            yield f"{name} runs with its owner's rights"
        if not stat.S_ISLNK(mode) and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            yield f"{name} may be written by everybody"
        if FORBIDDEN.match(path.name) and path.parent.name in ("bin", "sbin", "libexec", ".ssh"):
            yield f"{name} has no business on a terminal"
        if stat.S_ISREG(mode):
            yield from held(name, path.read_bytes(), words)


def in_users(root):
    for line in (root / "etc/shadow").read_text().splitlines():
        user, password = line.split(":")[:2]
        if password not in ("!", "*", "!*"):
            yield f"/etc/shadow has a password for {user}"
    for line in (root / "etc/passwd").read_text().splitlines():
        user, shell = line.split(":")[0], line.split(":")[6]
        if shell not in ("/usr/sbin/nologin", "/bin/false", "/bin/sync"):
            yield f"/etc/passwd gives {user} the shell {shell}"
    for unit in (root / "etc/systemd/system").rglob("*getty*"):
        if not (unit.is_symlink() and str(unit.readlink()) == "/dev/null"):
            yield f"/{unit.relative_to(root)} would ask somebody to log in"


def in_disk(image, words):
    """The boot loader's partitions byte by byte, and that the second slot is empty. Where a file was erased its bytes still lie."""
    table = json.loads(subprocess.run(["sfdisk", "-J", image], check=True, capture_output=True).stdout)["partitiontable"]
    for part in table["partitions"]:
        name, start, length = part["name"], part["start"] * 512, part["size"] * 512
        if name == "till-root-A":
            continue
        with open(image, "rb") as file:
            file.seek(start)
            if name in ("till-loader", "till-boot"):
                yield from held(f"the partition {name}", file.read(length), words)
            elif any(file.read(min(1 << 20, length - place)).strip(b"\0") for place in range(0, length, 1 << 20)):
                yield f"the partition {name} is not empty"
        if name == "till-boot":
            listed = subprocess.run(
                ["mdir", "-b", "-/", "-i", f"{image}@@{start}", "::"], check=True, capture_output=True, text=True
            ).stdout.split("\n")
            for file in sorted(line.removeprefix("::/") for line in listed if line and not line.endswith("/")):
                if not LOADER.match(file):
                    yield f"the partition {name} has {file}, which is not the boot loader's"


def unpacked(packed, tree):
    """The first steps of the start."""
    tree.mkdir()
    content = subprocess.run(["zstd", "-dc", packed], check=True, capture_output=True).stdout
    subprocess.run(["cpio", "-idm", "--quiet"], check=True, cwd=tree, input=content)
    return tree


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--disk")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = options.root
        if not root.is_dir():
            root = pathlib.Path(folder, "root")
            subprocess.run(["unsquashfs", "-q", "-n", "-d", root, options.root], check=True, stdout=subprocess.DEVNULL)
        tree = unpacked((root / "boot/initrd").resolve(), pathlib.Path(folder, "first-steps"))
        found = [*in_files(root, options.words), *in_files(tree, options.words, "/boot/initrd"), *in_users(root)]
        if options.disk:
            found += in_disk(options.disk, options.words)
        count = sum(1 for place in (root, tree) for path in place.rglob("*") if path.is_file())
    for finding in found:
        print(finding)
    print(f"{count} files looked through, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
