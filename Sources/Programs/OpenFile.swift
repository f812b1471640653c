#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// What the system says of a file that is open.
package enum OpenFile {
    /// Its number in its file system; nil when the descriptor is closed.
    package static func number(of descriptor: Int32) -> UInt64? {
        var state = stat()
        return fstat(descriptor, &state) == 0 ? UInt64(state.st_ino) : nil
    }
}
