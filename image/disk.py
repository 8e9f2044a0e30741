"""Puts a disk together: boot loader for EFI, and for BIOS where there is one, boot partition, two slots. The data partition is
made by the terminal.

The same input gives the same bytes: all names, numbers and times are fixed.
"""

import argparse
import os
import pathlib
import struct
import subprocess

MIB = 1 << 20
SECTOR = 512
BOOT_MIB = 32
SLOT_MIB = 384
# One GRUB for both kinds of firmware would need one file system for both; each gets its own core with the same modules.
MODULES = "part_gpt fat squash4 normal loadenv test echo regexp linux all_video sleep reboot configfile minicmd".split()
BIOS = ["biosdisk", "vbe", "vga"]
PARTITIONS = [
    # name, type, first MiB, size in MiB, identity
    ("till-loader", "21686148-6449-6E6F-744E-656564454649", 1, 1, "7111aaaa-0001-4000-8000-000000000001"),
    ("till-boot", "C12A7328-F81F-11D2-BA4B-00A0C93EC93B", 2, BOOT_MIB, "7111aaaa-0002-4000-8000-000000000002"),
    ("till-root-A", "0FC63DAF-8483-4772-8E79-3D69D8477DE4", 2 + BOOT_MIB, SLOT_MIB, "7111aaaa-0003-4000-8000-000000000003"),
    (
        "till-root-B",
        "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
        2 + BOOT_MIB + SLOT_MIB,
        SLOT_MIB,
        "7111aaaa-0004-4000-8000-000000000004",
    ),
]
TOTAL_MIB = 2 + BOOT_MIB + 2 * SLOT_MIB + 1


def run(*command, **options):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, **options)


def environment_block():
    text = b"# GRUB Environment Block\nORDER=A B\nA_OK=1\nA_TRY=0\nA_GOOD=0\nB_OK=0\nB_TRY=0\nB_GOOD=0\n"
    return text + b"#" * (1024 - len(text))


def make_core(kind, grub, prefix, core, modules):
    run("grub-mkimage", "-d", grub / kind, "-O", kind, "-p", prefix, "-o", core, *MODULES, *modules)


def write_loader(image, work, kind, grub):
    """GRUB for BIOS: its first sector before the partition table, its core in the partition made for it.

    Source: GRUB 2.06, grub-core/boot/i386/pc/boot.S and diskboot.S (kernel sector at 0x5c, drive check at 0x66, the list of
    blocks at the end of the core's first sector), util/setup.c.
    """
    core = work / "core.img"
    make_core(kind, grub, "(,gpt2)/grub", core, BIOS)
    first = bytearray((grub / kind / "boot.img").read_bytes())
    body = bytearray(core.read_bytes())
    body += b"\0" * (-len(body) % SECTOR)
    if len(body) > MIB:
        raise SystemExit("The boot loader does not fit into its partition.")
    start = PARTITIONS[0][2] * MIB // SECTOR
    struct.pack_into("<Q", first, 0x5C, start)
    first[0x66:0x68] = b"\x90\x90"
    struct.pack_into("<QH", body, 0x1F4, start + 1, len(body) // SECTOR - 1)
    image.seek(0)
    image.write(first[:440])
    image.seek(start * SECTOR)
    image.write(body)


def boot_partition(work, configuration, options):
    part = work / "boot.fat"
    with open(part, "wb") as file:
        file.truncate(BOOT_MIB * MIB)
    run("mkfs.vfat", "-F", "16", "-n", "TILL-BOOT", "-i", "71110001", "--invariant", part)
    folder = work / "boot"
    (folder / "grub").mkdir(parents=True)
    (folder / "EFI/BOOT").mkdir(parents=True)
    (folder / "grub/grub.cfg").write_text(configuration)
    (folder / "grub/grubenv").write_bytes(environment_block())
    make_core(options.efi, options.grub, "/grub", folder / "EFI/BOOT" / options.efi_program, options.efi_modules.split())
    epoch = int(os.environ["SOURCE_DATE_EPOCH"])
    for path in sorted(folder.rglob("*")):
        os.utime(path, (epoch, epoch))
    for path in sorted(folder.rglob("*")):
        name = "::" + str(path.relative_to(folder))
        if path.is_dir():
            run("mmd", "-i", part, name)
        else:
            run("mcopy", "-m", "-i", part, path, name)
    return part


def copy(source, image, at):
    with open(source, "rb") as file:
        image.seek(at)
        while block := file.read(MIB):
            # Holes stay holes.
            if block.strip(b"\0"):
                image.write(block)
            else:
                image.seek(len(block), 1)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--root", "--configuration", "--cmdline", "--efi", "--efi-program", "--efi-modules", "--work", "--output"):
        parser.add_argument(name, required=True)
    parser.add_argument("--grub", required=True, type=pathlib.Path, help="the folder of GRUB's parts")
    parser.add_argument("--bios", help="GRUB's name for the BIOS, where there is one")
    options = parser.parse_args()
    work = pathlib.Path(options.work)
    if os.path.getsize(options.root) > SLOT_MIB * MIB:
        raise SystemExit(f"The system does not fit into a slot of {SLOT_MIB} MiB.")
    configuration = pathlib.Path(options.configuration).read_text().replace("@CMDLINE@", options.cmdline)
    with open(options.output, "wb") as image:
        image.truncate(TOTAL_MIB * MIB)
    table = ["label: gpt", "label-id: 7111aaaa-0000-4000-8000-000000000000", "unit: sectors", "first-lba: 2048"]
    for name, kind, first, size, identity in PARTITIONS:
        sectors = MIB // SECTOR
        table.append(f"start={first * sectors}, size={size * sectors}, type={kind}, uuid={identity}, name={name}")
    run("sfdisk", "--quiet", options.output, input="\n".join(table).encode() + b"\n")
    with open(options.output, "r+b") as image:
        if options.bios:
            write_loader(image, work, options.bios, options.grub)
        copy(boot_partition(work, configuration, options), image, PARTITIONS[1][2] * MIB)
        copy(options.root, image, PARTITIONS[2][2] * MIB)


if __name__ == "__main__":
    main()
