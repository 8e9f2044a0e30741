"""Looks through an appliance's system for what must not be in it. Prints each finding; ends with 1 where there is one.

    scan.py ROOT.squashfs [WORD…]      WORDs are further texts that no file may hold, such as this machine's folders
"""

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


def findings(root, words):
    for path in sorted(root.rglob("*")):
        name = "/" + str(path.relative_to(root))
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
            yield f"{name} runs with its owner's rights"
        if not stat.S_ISLNK(mode) and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            yield f"{name} may be written by everybody"
        if FORBIDDEN.match(path.name) and path.parent.name in ("bin", "sbin", "libexec", ".ssh"):
            yield f"{name} has no business on a terminal"
        if not stat.S_ISREG(mode):
            continue
        data = path.read_bytes()
        for pattern, meaning in SECRETS.items():
            known = any(path.name.startswith(library) and meaning == what for library, what in KNOWN)
            if not known and re.search(pattern, data):
                yield f"{name} holds {meaning}"
        for word in words:
            if word.encode() in data:
                yield f"{name} names {word}"
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


def main():
    image, words = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, "root")
        subprocess.run(["unsquashfs", "-q", "-n", "-d", str(root), image], check=True, stdout=subprocess.DEVNULL)
        found = list(findings(root, words))
        count = sum(1 for path in root.rglob("*") if path.is_file())
    for finding in found:
        print(finding)
    print(f"{count} files looked through, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
