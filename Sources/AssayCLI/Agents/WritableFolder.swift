internal import Foundation
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// The folder in which the tools of `assay mcp` may write files.
struct WritableFolder: Sendable {
    /// The absolute path of the folder without symbolic links.
    let path: String

    /// Creates the writable folder from an existing folder; nil when it does not exist.
    init?(_ path: String) {
        guard let realPath = Self.realPath(path) else { return nil }
        self.path = realPath
    }

    /// Returns whether a path is inside the folder, after every symbolic link was followed.
    ///
    /// The path is absolute or relative to the folder, and its file need not exist.
    func contains(_ path: String) -> Bool {
        var resolved = path.hasPrefix("/") ? "/" : self.path
        for name in path.split(separator: "/") where name != "." {
            if name == ".." {
                resolved = PathName(resolved).folder
                if resolved.isEmpty { resolved = "/" }
                continue
            }
            resolved = PathName(resolved).appending(String(name))
            var status = stat()
            guard lstat(resolved, &status) == 0 else { continue }
            // A link whose target does not exist could be created anywhere.
            guard let realPath = Self.realPath(resolved) else { return false }
            resolved = realPath
        }
        return resolved == self.path || resolved.hasPrefix(self.path + "/")
    }

    private static func realPath(_ path: String) -> String? {
        guard let buffer = realpath(path, nil) else { return nil }
        defer { free(buffer) }
        return String(cString: buffer)
    }
}
