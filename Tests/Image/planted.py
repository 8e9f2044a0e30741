"""What image/scan.py looks for, planted where it looks: a small system and a disk that have one of each, so that a scan which finds
nothing says something. Nothing here is a secret of anybody's."""

import pathlib
import subprocess
import sys

import disk

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
#: What lies where, and what the scan has to say of it. Put together here, for this file is no hiding place either.
KEY = "-----BEGIN " + "PRIVATE KEY-----\n" + "A" * 64 + "\n"
TOKEN, GATEWAY = "ghp_" + "a1" * 18, "wcp_" + "0f" * 12
IN_SYSTEM = {
    "usr/share/till/signer.pem": (KEY, "/usr/share/till/signer.pem holds a private key"),
    "usr/lib/till/note": (f"token {TOKEN}\n", "/usr/lib/till/note holds a token"),
    "etc/till/till.yaml": (f"gatewayKey: {GATEWAY}\n", "/etc/till/till.yaml holds a gateway's key"),
    "usr/lib/built": ("made in /a/folder/of/somebody\n", "/usr/lib/built names /a/folder/of/somebody"),
    "usr/bin/till-sandbox": ("", "/usr/bin/till-sandbox has no business on a terminal"),
    "usr/sbin/sshd": ("", "/usr/sbin/sshd has no business on a terminal"),
}
IN_FIRST_STEPS = {
    "init": (f"#!/bin/sh\n# {TOKEN}\n", "/boot/initrd/init holds a token"),
    "bin/gdb": ("", "/boot/initrd/bin/gdb has no business on a terminal"),
}

IN_PARTITION = "the partition till-boot holds a gateway's key"
#: Where it begins, see image/disk.py.
SECOND_SLOT = 418 << 20


def small_system(tree, packed):
    """What the scan needs of a system, and `packed` in its first steps."""
    (tree / "boot").mkdir(parents=True)
    (tree / "etc").mkdir()
    (tree / "etc/passwd").write_text("root:x:0:0:root:/root:/usr/sbin/nologin\n")
    (tree / "etc/shadow").write_text("root:!:1::::::\n")
    with open(tree / "boot/initrd", "wb") as file:
        content = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], check=True, cwd=packed, capture_output=True,
                                 input=b"\n".join(str(path.relative_to(packed)).encode() for path in sorted(packed.rglob("*"))))  # fmt: skip
        subprocess.run(["zstd", "-q"], check=True, input=content.stdout, stdout=file)


def plant(folder, things):
    for name, (text, _) in things.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def findings(*words):
    said = subprocess.run([sys.executable, str(ROOT / "image/scan.py"), *map(str, words)], capture_output=True, text=True)
    if not said.stdout:
        raise RuntimeError(f"image/scan.py fell over: {said.stderr[-300:]}")
    return said.stdout.splitlines()[:-1]


def missed(image, folder):
    """How many things are planted, and what the scan says wrongly of them. `image` is a disk that is in order."""
    folder = pathlib.Path(folder, "planted")
    first_steps, clean, bad = folder / "first-steps", folder / "clean", folder / "bad"
    first_steps.mkdir(parents=True)
    (first_steps / "init").write_text("#!/bin/sh\n")
    small_system(clean, first_steps)
    wrong = [f"nothing is planted, and it says: {line}" for line in findings(clean, "--disk", image)]

    plant(first_steps, IN_FIRST_STEPS)
    small_system(bad, first_steps)
    plant(bad, IN_SYSTEM)
    wanted = [said for things in (IN_SYSTEM, IN_FIRST_STEPS) for _, said in things.values()]
    with open(bad / "etc/shadow", "a") as file:
        file.write("admin:$6$salt$hash:1::::::\n")
    with open(bad / "etc/passwd", "a") as file:
        file.write("admin:x:1000:1000::/:/bin/sh\n")
    for name, mode in (("tool", 0o4755), ("open", 0o666)):
        (bad / "usr/lib" / name).write_text("")
        (bad / "usr/lib" / name).chmod(mode)
    # A till.yaml that somebody prepared, and the beginning of a system in the second slot.
    written = disk.with_configuration(image, folder, f"shop:\n  gatewayKey: {GATEWAY}\n")
    with open(written, "r+b") as file:
        file.seek(SECOND_SLOT)
        file.write(b"hsqs")
    wanted += [
        "/etc/shadow has a password for admin", "/etc/passwd gives admin the shell /bin/sh", "/usr/lib/tool runs with its owner's rights",
        "/usr/lib/open may be written by everybody", IN_PARTITION,
        "the partition till-boot has till.yaml, which is not the boot loader's", "the partition till-root-B is not empty",
    ]  # fmt: skip
    found = findings(bad, "/a/folder/of/somebody", "--disk", written)
    wrong += [f"not found: {said}" for said in wanted if said not in found]
    # Where the file is erased its bytes still lie.
    subprocess.run(["mdel", "-i", f"{written}@@{disk.BOOT}", "::till.yaml"], check=True)
    if IN_PARTITION not in findings(clean, "--disk", written):
        wrong.append("not found: the same where the file is erased")
    written.unlink()
    return len(wanted) + 1, wrong
