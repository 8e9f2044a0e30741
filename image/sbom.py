"""What the appliance consists of, as CycloneDX 1.5: Debian's packages as they were unpacked, and Swift's as they were resolved.

Source: https://cyclonedx.org/docs/1.5/json/, package-url purl-spec (deb, swift).
"""

import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import urllib.parse


def control(package):
    fields = {}
    text = subprocess.run(["dpkg-deb", "-f", package], check=True, capture_output=True, text=True).stdout
    for line in text.splitlines():
        if line[:1] not in (" ", "\t") and ":" in line:
            name, _, value = line.partition(":")
            fields[name] = value.strip()
    return fields


def debian(folders):
    for package in sorted(package for folder in folders for package in pathlib.Path(folder).glob("*.deb")):
        fields = control(package)
        name, version, machine = fields["Package"], fields["Version"], fields["Architecture"]
        source = fields.get("Source", name).split(" ")[0]
        purl = f"pkg:deb/debian/{name}@{urllib.parse.quote(version, safe='.+~-')}?arch={machine}"
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "supplier": {"name": "Debian"},
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(package.read_bytes()).hexdigest()}],
            "properties": [{"name": "debian:source", "value": source}],
        }


def swift(file):
    for pin in sorted(json.loads(pathlib.Path(file).read_text())["pins"], key=lambda pin: pin["identity"]):
        place = pin["location"].removesuffix(".git").removeprefix("https://")
        version = pin["state"].get("version") or pin["state"]["revision"]
        purl = f"pkg:swift/{place}@{version}"
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": pin["identity"],
            "version": version,
            "purl": purl,
            "externalReferences": [{"type": "vcs", "url": pin["location"]}],
            "properties": [{"name": "git:revision", "value": pin["state"]["revision"]}],
        }


def toolchain(root, program):
    """Swift's libraries, where the program came with them. The program's own notes for debuggers say which Swift made it."""
    library = pathlib.Path(root, "usr/lib/till/swift/libswiftCore.so")
    if not library.exists():
        return
    found = re.search(rb"Swift version ([0-9.]+)", pathlib.Path(program).read_bytes())
    if not found:
        raise SystemExit(f"{program} does not say which Swift made it. Take it as the compiler left it.")
    version = found[1].decode()
    yield {
        "type": "framework",
        "bom-ref": f"pkg:generic/swift@{version}",
        "name": "swift",
        "version": version,
        "purl": f"pkg:generic/swift@{version}",
        "description": "Swift's runtime libraries",
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(library.read_bytes()).hexdigest()}],
    }


def main():
    parser = argparse.ArgumentParser()
    for name in ("--swift", "--version", "--root", "--program"):
        parser.add_argument(name, required=True)
    parser.add_argument("--debs", required=True, nargs="+")
    options = parser.parse_args()
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    ref = f"pkg:generic/till@{options.version}"
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "operating-system",
                "bom-ref": ref,
                "name": "till",
                "version": options.version,
                "purl": ref,
            },
        },
        "components": [*debian(options.debs), *swift(options.swift), *toolchain(options.root, options.program)],
    }
    print(json.dumps(bill, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
