#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Writing to a descriptor until everything is written or the system refuses.
package enum SystemWrite {
    /// Writes all bytes, and waits where a non-blocking descriptor takes no more.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - descriptor: An open descriptor.
    /// - Returns: The system's error number; 0 when everything is written.
    package static func all(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
                continue
            }
            switch count == 0 ? EIO : errno {
            case EINTR: continue
            case EAGAIN:
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&waiting, 1, -1)
            case let code: return code
            }
        }
        return 0
    }
}
