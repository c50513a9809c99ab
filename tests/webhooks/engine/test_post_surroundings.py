"""Neither the process's environment nor other attempts affect an attempt."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from config.outbound.failures import Reason
from tests.servers import certificates
from tests.servers import receiver as servers
from tests.servers.processes import wait_until
from tests.servers.receiver import Receiver
from tests.webhooks.engine.sending import send

pytestmark = pytest.mark.usefixtures("trusting")


def test_proxies_and_credentials_of_the_environment_are_ignored(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    with Receiver() as proxy:
        for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url())
        monkeypatch.setenv("NETRC", str(netrc))
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", os.devnull)
        monkeypatch.setenv("CURL_CA_BUNDLE", os.devnull)
        assert send(receiver.url()).success
        assert proxy.connections == 0
    assert receiver.arrivals[0].header("Authorization") is None


def test_many_receivers_that_never_answer_delay_no_other_receiver(receiver: Receiver) -> None:
    with (
        Receiver(certificates.good(), greeting=servers.say_nothing) as silent,
        ThreadPoolExecutor(60) as threads,
    ):
        late = [threads.submit(send, silent.url(), timeout=600.0) for _ in range(50)]
        wait_until(lambda: silent.connections == 50)
        assert all(send(receiver.url()).success for _ in range(50))
        assert not [outcome for outcome in late if outcome.done()]
        silent.stopping.set()
        assert {outcome.result().reason for outcome in late} == {Reason.CONNECTION_CLOSED}
