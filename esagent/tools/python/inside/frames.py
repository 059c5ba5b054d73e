"""One JSON object a frame over a socket, behind its length in four bytes."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

LONGEST = 1 << 24
"""Longest frame, in bytes."""


def send(connection: socket.socket, message: dict[str, Any]) -> None:
    """Send one frame. Raises OSError."""
    data = json.dumps(message).encode()
    connection.sendall(len(data).to_bytes(4, "big") + data)


def receive(connection: socket.socket, deadline: float | None = None) -> dict[str, Any] | None:
    """The next frame, or None when the other end is gone.

    deadline: on the monotonic clock; TimeoutError is raised when the frame is not complete by then. Raises ValueError
    for bytes that are no frame.
    """
    head = _exactly(connection, 4, deadline)
    if head is None:
        return None
    length = int.from_bytes(head, "big")
    if length > LONGEST:
        raise ValueError(f"a frame of {length} bytes")
    data = _exactly(connection, length, deadline)
    if data is None:
        return None
    message = json.loads(data)
    if not isinstance(message, dict):
        raise ValueError("a frame that holds no object")
    return message


def _exactly(connection: socket.socket, count: int, deadline: float | None) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            connection.settimeout(left)
        try:
            piece = connection.recv(count - len(data))
        except ConnectionError:
            return None
        if not piece:
            return None
        data += piece
    return bytes(data)
