/// A file or folder path, split at its slashes without accessing the disk.
///
/// Foundation's functions for paths crash for a name of one letter, so all code uses this type. An
/// empty path, `/`, repeated slashes and a trailing slash are valid.
package struct PathName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ text: String) {
        description = text
    }

    /// The path of the folder that contains the file: empty for a name without a slash, `/` for the
    /// root and the files in it.
    package var folder: String {
        let bytes = description.utf8
        let pathWithoutTrailingSlashes = Self.withoutSlashes(bytes[...])
        guard !pathWithoutTrailingSlashes.isEmpty else { return bytes.isEmpty ? "" : "/" }
        guard let slash = pathWithoutTrailingSlashes.lastIndex(of: Self.slash) else { return "" }
        let folder = Self.withoutSlashes(pathWithoutTrailingSlashes[..<slash])
        return folder.isEmpty ? "/" : String(Substring(folder))
    }

    /// The name of the file, which is the last part of the path; empty for an empty path and for
    /// `/`.
    package var name: String {
        let pathWithoutTrailingSlashes = Self.withoutSlashes(description.utf8[...])
        let start = pathWithoutTrailingSlashes.lastIndex(of: Self.slash).map {
            pathWithoutTrailingSlashes.index(after: $0)
        }
        return String(
            Substring(
                pathWithoutTrailingSlashes[(start ?? pathWithoutTrailingSlashes.startIndex)...]
            )
        )
    }

    /// The file name extension without its dot; empty for `.env` and for a name without a dot.
    package var fileExtension: String {
        let name = name
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else {
            return ""
        }
        return String(name[name.utf8.index(after: dot)...])
    }

    /// Returns the other path below this folder; an absolute path is returned unchanged.
    package func appending(_ other: String) -> String {
        if description.isEmpty || other.hasPrefix("/") { return other }
        return description.utf8.last == Self.slash
            ? description + other : description + "/" + other
    }

    private static let slash = UInt8(ascii: "/")

    private static func withoutSlashes(
        _ bytes: Substring.UTF8View.SubSequence
    ) -> Substring.UTF8View.SubSequence {
        var remainingBytes = bytes
        while remainingBytes.last == slash { remainingBytes.removeLast() }
        return remainingBytes
    }
}
