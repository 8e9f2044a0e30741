"""A real PostgreSQL of the test's own, over TLS, as an operator runs one."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile

PROGRAMS = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
TABLE = """CREATE TABLE till_event (terminal text NOT NULL, sequence bigint NOT NULL, charge text NOT NULL, type text NOT NULL,
 at timestamptz NOT NULL, data jsonb NOT NULL, PRIMARY KEY (terminal, sequence))"""


class Database:
    def __init__(self, folder: pathlib.Path):
        self.folder, self.password, self.server = folder, "operator canary", None
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.run("initdb", "-D", str(folder / "data"), "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C")
        self.run(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-keyout", str(folder / "key"),
            "-out", str(folder / "pem"), "-subj", "/CN=database", "-addext", "subjectAltName=DNS:localhost",
        )
        (folder / "hba").write_text("local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n")

    @property
    def authority(self) -> str:
        return (self.folder / "pem").read_text()

    def command(self, name: str, *arguments: str) -> list[str]:
        own = PROGRAMS[-1] / name
        own = [str(own) if own.exists() else name, *arguments]
        # It does not run as root: there the packaged user stands in.
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *own] if os.getuid() == 0 else own

    def run(self, name: str, *arguments: str) -> str:
        return subprocess.run(self.command(name, *arguments), check=True, capture_output=True, text=True).stdout.strip()

    def ask(self, sql: str) -> str:
        return self.run("psql", "-h", str(self.folder), "-p", str(self.port), "-U", "postgres", "-X", "-v", "ON_ERROR_STOP=1", "-Atc", sql, "postgres")

    def start(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1", "unix_socket_directories": self.folder, "hba_file": self.folder / "hba", "ssl": "on",
            "ssl_cert_file": self.folder / "pem", "ssl_key_file": self.folder / "key", "fsync": "off", "shared_buffers": "16MB",
        }
        arguments = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.server = subprocess.Popen(
            self.command("postgres", "-D", str(self.folder / "data"), "-p", str(self.port), *arguments), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
            text=True,
        )
        for line in self.server.stderr:
            if "ready to accept connections" in line:
                return
        raise AssertionError("the database did not start")

    def stop(self) -> None:
        if self.server:
            self.server.terminate()
            # It waits for connections to end; a second word does not.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.server.communicate(timeout=0.5)
            if self.server.poll() is None:
                self.server.send_signal(3)
                self.server.communicate(timeout=20)
        self.server = None


@contextlib.contextmanager
def own_postgres():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="till-pg-"))
    database = None
    try:
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        database = Database(folder)
        yield database
    finally:
        if database:
            database.stop()
        shutil.rmtree(folder, ignore_errors=True)
