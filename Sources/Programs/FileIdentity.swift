#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Reads properties of open files.
package enum FileIdentity {
    /// Returns the inode number of the file to which a descriptor refers; nil when the descriptor
    /// is closed.
    package static func inode(of descriptor: Int32) -> UInt64? {
        var fileStatus = stat()
        return fstat(descriptor, &fileStatus) == 0 ? UInt64(fileStatus.st_ino) : nil
    }
}
