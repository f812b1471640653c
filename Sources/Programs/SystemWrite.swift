#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Writes to a descriptor until everything is written or the system refuses.
package enum SystemWrite {
    /// Writes all bytes, and waits when a non-blocking descriptor accepts no more.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to write.
    ///   - descriptor: An open descriptor.
    /// - Returns: The error number of the system; 0 when all bytes were written.
    package static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var unwrittenBytes = bytes[...]
        while !unwrittenBytes.isEmpty {
            let count = unwrittenBytes.withUnsafeBytes {
                write(descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                unwrittenBytes = unwrittenBytes.dropFirst(count)
                continue
            }
            switch count == 0 ? EIO : errno {
            case EINTR: continue
            case EAGAIN:
                var pollDescriptor = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&pollDescriptor, 1, -1)
            case let code: return code
            }
        }
        return 0
    }
}
