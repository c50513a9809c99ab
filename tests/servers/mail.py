"""A real mail server that can be told to accept emails, reject them or hang up."""

import socketserver
import threading
from collections import deque
from io import BufferedIOBase
from typing import Self

GREETING, OK, GO_ON, BYE = b"220 test\r\n", b"250 ok\r\n", b"354 go on\r\n", b"221 bye\r\n"


class MailServer:
    """A server on a free port of 127.0.0.1. `mails` contains the emails that it has received."""

    def __init__(self) -> None:
        self.mails: list[str] = []
        # The responses to MAIL FROM, one for each email. If a response is b"", the server hangs up
        # instead. Once no responses are left, it accepts all emails.
        self.answers: deque[bytes] = deque()
        owner = self

        class Conversation(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                owner.converse(self.rfile, self.wfile)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Conversation)
        self.server.daemon_threads = True
        self.port: int = self.server.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def converse(self, heard: BufferedIOBase, say: BufferedIOBase) -> None:
        say.write(GREETING)
        while line := heard.readline():
            match line[:4].upper():
                case b"MAIL":
                    answer = self.answers.popleft() if self.answers else OK
                    if not answer:
                        return
                    say.write(answer)
                case b"DATA":
                    say.write(GO_ON)
                    lines = iter(heard.readline, b".\r\n")
                    self.mails.append(b"".join(lines).decode())
                    say.write(OK)
                case b"QUIT":
                    say.write(BYE)
                    return
                case _:
                    say.write(OK)
