#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif
internal import Values

/// Ports on the loopback addresses of this machine.
package enum LoopbackPort {
    /// A range of ports below the ports that systems assign automatically.
    ///
    /// The system could assign any other port to another program before the caller opens it.
    private static let candidatePorts: ClosedRange<UInt16> = 15_000...31_999

    /// The ports that were returned last, the oldest first.
    ///
    /// A backend opens its port some time after it gets the number, and closes it for each restart.
    /// Meanwhile no other backend may get the same number.
    private static let latestPorts = Locked<[UInt16]>([])
    /// The number of returned ports that are not returned again; more than one process has backends.
    private static let latestPortMax = 4_096

    /// Returns a random port that no program uses at the moment, and that was not returned lately.
    ///
    /// If 1,000 random ports are taken, the function returns the last of them, and the program that
    /// opens it gets the error of the system.
    package static func findFree() -> UInt16 {
        latestPorts.withLock { latestPorts in
            var port = UInt16.random(in: candidatePorts)
            for _ in 0..<1000 where latestPorts.contains(port) || isInUse(port) {
                port = .random(in: candidatePorts)
            }
            latestPorts.append(port)
            latestPorts.removeFirst(max(0, latestPorts.count - latestPortMax))
            return port
        }
    }

    /// Returns whether a socket listens on the port at 127.0.0.1, at ::1, or at every address.
    ///
    /// Closed connections do not count. A port that the current user may not open does not count as
    /// in use.
    package static func isInUse(_ port: UInt16) -> Bool {
        var ipv4Address = sockaddr_in()
        ipv4Address.sin_family = sa_family_t(AF_INET)
        ipv4Address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        ipv4Address.sin_port = port.bigEndian
        var ipv6Address = sockaddr_in6()
        ipv6Address.sin6_family = sa_family_t(AF_INET6)
        ipv6Address.sin6_addr = in6addr_loopback
        ipv6Address.sin6_port = port.bigEndian
        return isAddressInUse(&ipv4Address, AF_INET) || isAddressInUse(&ipv6Address, AF_INET6)
    }

    private static func isAddressInUse<Address>(_ address: inout Address, _ family: Int32) -> Bool {
        #if canImport(Glibc)
        let descriptor = socket(
            family,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        #else
        let descriptor = socket(family, SOCK_STREAM, 0)
        #endif
        // If the system lacks this address family, no program listens there.
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var optionValue: Int32 = 1
        let length = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &optionValue, length)
        if family == AF_INET6 {
            setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &optionValue, length)
        }
        let size = socklen_t(MemoryLayout<Address>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) != 0 && errno == EADDRINUSE
            }
        }
    }
}
