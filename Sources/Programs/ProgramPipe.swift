internal import Foundation

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A pipe whose ends are not inherited by other programs.
package enum ProgramPipe {
    /// Creates a pipe; returns nil when no descriptor is left.
    package static func ends() -> (readEnd: Int32, writeEnd: Int32)? {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }
}
