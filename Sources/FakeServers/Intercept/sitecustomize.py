# Python loads this before a backend that `assay --intercept` started. Some HTTP clients ignore proxy
# settings. So connections to web ports of other machines are redirected to Assay, which responds
# for the services and refuses all other hosts.
import os
import re
import socket

_LOCAL = re.compile(
    r"^(|localhost|.*\.localhost|127\.[\d.]+|::1|::|0\.0\.0\.0|::ffff:127\.[\d.]+)$"
)


def _install(place, port, allowed):
    def leaves(host, service):
        if isinstance(host, (bytes, bytearray)):
            host = host.decode("ascii", "replace")
        if not isinstance(host, str) or str(service) not in ("80", "443", "http", "https"):
            return False
        host = host.lower()
        return not _LOCAL.match(host) and host not in allowed

    lookup = socket.getaddrinfo

    def getaddrinfo(host, port_, family=0, type=0, proto=0, flags=0):
        if leaves(host, port_):
            return lookup(place, port, socket.AF_INET, type, proto, 0)
        return lookup(host, port_, family, type, proto, flags)

    socket.getaddrinfo = getaddrinfo

    def directed(connect):
        def directed_connect(self, address):
            isolated = isinstance(address, tuple) and len(address) >= 2
            if isolated and self.family == socket.AF_INET and leaves(address[0], address[1]):
                address = (place, port)
            return connect(self, address)

        return directed_connect

    for name in ("connect", "connect_ex"):
        setattr(socket.socket, name, directed(getattr(socket.socket, name)))


def _load_next():
    # Loads the sitecustomize module of this machine too.
    import importlib.machinery
    import importlib.util
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    path = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_place, _, _port = os.environ.get("ASSAY_EGRESS", "").rpartition(":")
if _port.isdigit():
    _allowed = os.environ.get("ASSAY_EGRESS_ALLOW", "").lower().split(",")
    _install(_place, int(_port), {name for name in _allowed if name})
_load_next()
