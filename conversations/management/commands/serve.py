"""Run the web server, a worker, or both in the foreground."""

import logging
import os
import signal
import subprocess
import time
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from accounts.models import Account, ApiKey, User
from accounts.services import api_key
from chatbots.services.llm_model import keep_environment_model
from config.database import upgrades
from config.runtime.stopping import grace
from conversations import demo, processes
from conversations.processes import CannotStart

KEY_LABEL = "make run"
PARTS = {"web": processes.web_command, "worker": processes.worker_command}
LOOK = 0.1  # seconds between checks that the processes are running
RESTART_AFTER = 1.0  # seconds from the end of the worker to its next start
READY_WITHIN = 30.0  # seconds until the welcome text is printed even if web does not respond yet

logger = logging.getLogger(__name__)


class Command(BaseCommand):
    """Runs `serve`, `serve web` and `serve worker`."""

    help = "Migrate the database and run the web server and a worker, or run only one of the two."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the optional argument: web, worker or all."""
        parser.add_argument("part", nargs="?", choices=[*PARTS, "all"], default="all")

    def handle(self, *_: str, part: str, **options: Any) -> None:
        """Run the web server, a worker, or both. Raises CommandError if one cannot start."""
        processes.raise_file_limit()
        try:
            if part == "all":
                self.run_all()
            else:
                self.become(part)
        except CannotStart as error:
            raise CommandError(str(error)) from None

    def become(self, part: str) -> None:
        """Replace this process with the web server or a worker.

        A machine-bound installation, which lacks PostgreSQL or Redis, must not run more than one
        web process, so that process holds a lock.
        """
        if settings.MACHINE_BOUND and part == "web":  # the worker takes its own lock
            self.lock = processes.hold(part)
        self.check_version()
        upgrades.check_nothing_missing()
        if part == "web":
            processes.check_port()
            processes.share_metrics()
            keep_environment_model()
        self.announce(part)
        connection.close()
        command = PARTS[part]()
        os.execv(command[0], command)  # noqa: S606 - our own command line

    def run_all(self) -> None:
        """Migrate the database, then run the web server and a worker until told to stop."""
        lock = processes.hold("web")
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        stops = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # ignored under nohup
            stops.append(signal.SIGHUP)
        # Handle SIGINT explicitly: processes that a script starts in the background ignore it.
        for number in stops:
            signal.signal(number, signal.default_int_handler)
        try:
            key, password = self.prepare()
            for part in PARTS:
                self.start(part)
            self.wait_for_web()
            self.welcome(key, password)
            self.watch()
        except KeyboardInterrupt:
            self.stdout.write("Stopping.")
        finally:
            for number in stops:  # prevent signals from interrupting `stop`
                signal.signal(number, signal.SIG_IGN)
            self.stop()
            lock.close()

    def start(self, part: str) -> None:
        """Start a process in its own session, so that Ctrl-C reaches only `serve`."""
        self.running[part] = subprocess.Popen(  # noqa: S603 - our own command line
            PARTS[part](), cwd=settings.BASE_DIR, start_new_session=True
        )

    def stop(self) -> None:
        """Ask all processes to stop, and kill those that have not stopped in time."""
        for process in self.running.values():
            process.terminate()
        deadline = time.monotonic() + grace() + 2
        for process in self.running.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            with suppress(ProcessLookupError):  # ends the children of a killed web server too
                os.killpg(process.pid, signal.SIGKILL)

    def prepare(self) -> tuple[str | None, str | None]:
        """Migrate the database and collect the static files.

        The first start in embedded mode also creates the demo data. Returns the new API key and the
        new admin password. Each is None if it was not created.
        """
        if settings.METRICS_PORT == settings.PORT:
            raise CannotStart("PORT and METRICS_PORT are the same: change METRICS_PORT")
        processes.check_port()
        processes.share_metrics()
        self.check_version()
        call_command("migrate", verbosity=0, interactive=False)
        processes.collect_static_files()
        self.announce("all")
        first = not User.objects.exists()
        keep_environment_model()
        password = demo.seed()["adminPassword"] if first and settings.EMBEDDED else None
        key = self.fresh_key()
        connection.close()
        return key, password

    def check_version(self) -> None:
        """Refuse a database that a newer version has migrated. Raises CommandError."""
        if unknown := upgrades.unknown():
            raise CommandError(
                "the database belongs to a newer version of this service "
                f"(it has {', '.join(unknown)}): install that version, "
                "or set another STATE_DIR or DATABASE_URL"
            )

    def announce(self, part: str) -> None:
        """Log the version, the part (web, worker or all), the address and the mode at startup."""
        address = "" if part == "worker" else f"{settings.HOST}:{settings.PORT}"
        mode = "embedded" if settings.EMBEDDED else "PostgreSQL"
        mode += ", Redis" if settings.REDIS_URL else ", no Redis"
        mode += ", DEBUG" if settings.DEBUG else ""
        known = {"version": settings.VERSION, "part": part, "mode": mode}
        at = f" on {address}" if address else ""
        logger.info(
            "version %s starts %s%s (%s)",
            *(settings.VERSION, part, at, mode),
            extra=known | ({"address": address} if address else {}),
        )
        if not settings.SENDING:
            logger.warning("SENDING=off: webhook deliveries and emails are held")

    def fresh_key(self) -> str | None:
        """Revoke the key issued at the previous start and, in embedded mode, issue a new one.

        A production service gets no key, because its output goes into logs. Returns None if no key
        was issued.
        """
        ApiKey.objects.filter(label=KEY_LABEL).revoke()
        owners = User.objects.filter(owned_accounts__isnull=False, is_active=True)
        first = owners.order_by("created_at").first()
        if first is None or not settings.EMBEDDED:
            return None
        return api_key.issue(first, label=KEY_LABEL)[1]

    def wait_for_web(self) -> None:
        """Wait until the web server responds. Raises CannotStart if a process has exited."""
        deadline = time.monotonic() + READY_WITHIN
        while not processes.answers(f"http://{settings.REACHED_AT}:{settings.PORT}"):
            for part, process in self.running.items():
                if process.poll() is not None:
                    raise CannotStart(f"{part} exited during startup; its last output is above")
            if time.monotonic() > deadline:
                self.stderr.write("The web server is not ready. These will be its URLs and key:")
                return
            time.sleep(LOOK)

    def watch(self) -> None:
        """Restart the worker whenever it exits. Raises CannotStart when the web server exits."""
        while self.running["web"].poll() is None:
            if self.running["worker"].poll() is not None:
                self.stderr.write("The worker exited; restarting it.")
                time.sleep(RESTART_AFTER)
                self.start("worker")
            time.sleep(LOOK)
        raise CannotStart("web exited; its last output is above")

    def way_in(self) -> str:
        """Return the command that creates an admin login or sets a new password."""
        admin = (
            User.objects.filter(is_superuser=True, is_active=True).order_by("created_at").first()
        )
        if admin is None:
            return "create a login: .venv/bin/python manage.py createsuperuser"
        return f"set a new password: .venv/bin/python manage.py changepassword {admin.email}"

    def welcome(self, key: str | None, password: str | None) -> None:
        """Print the URLs, the login and the API key, with warnings."""
        api, admin = f"{settings.PUBLIC_URL}/api", f"{settings.PUBLIC_URL}/admin/"
        lines = ["", "The service is running.", "", f"  API       {api}", f"  Admin     {admin}"]
        if password:
            lines += [
                f"  Email     {demo.ADMIN_EMAIL}",
                f"  Password  {password}",
                "            (for the admin; shown only once)",
            ]
        else:
            lines.append(f"            {self.way_in()}")
        lines.append(f"  Docs      {settings.PUBLIC_URL}/docs")
        if key:
            lines += [
                f"  Key       {key}",
                f'            (labeled "{KEY_LABEL}"; the next start replaces it)',
                "",
                "  Try:",
                f'  curl -H "Authorization: Bearer {key}" {api}/v1/chatbots/my-chatbots',
            ]
        elif Account.objects.exists():
            lines += ["", "  To issue a key: manage.py issue_api_key EMAIL"]
        else:
            lines += [
                "",
                "  No account yet: manage.py create_account NAME --owner EMAIL --plan PLAN",
            ]
        if not settings.SENDING:
            lines += ["", "  SENDING=off: webhook deliveries and emails are held."]
        if settings.EXPOSED:
            lines += [
                "",
                "  WARNING: a demo installation can be reached from other machines "
                f"({settings.HOST}).",
            ]
        self.stdout.write("\n".join([*lines, "", "Press Ctrl-C to stop.", ""]))
        self.stdout.flush()
