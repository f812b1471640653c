/// The name of a file or folder, split at its slashes without a look at the disk.
///
/// Foundation's own splitting ends the process for a name of one letter, so every source uses this
/// type. An empty name, `/`, repeated slashes and a slash at the end have a result as well.
package struct PathName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ text: String) {
        description = text
    }

    /// The folder that contains the file: empty for a bare name, `/` for the root and its entries.
    package var folder: String {
        let bytes = description.utf8
        let named = Self.withoutSlashes(bytes[...])
        guard !named.isEmpty else { return bytes.isEmpty ? "" : "/" }
        guard let slash = named.lastIndex(of: Self.slash) else { return "" }
        let folder = Self.withoutSlashes(named[..<slash])
        return folder.isEmpty ? "/" : String(Substring(folder))
    }

    /// The last part of the path; empty for an empty path and for `/`.
    package var name: String {
        let named = Self.withoutSlashes(description.utf8[...])
        let start = named.lastIndex(of: Self.slash).map { named.index(after: $0) }
        return String(Substring(named[(start ?? named.startIndex)...]))
    }

    /// The letters after the last dot of the name; empty for `.env` and for a name without a dot.
    package var fileExtension: String {
        let name = name
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else {
            return ""
        }
        return String(name[name.utf8.index(after: dot)...])
    }

    /// A path below this folder; an absolute path stays itself.
    package func appending(_ other: String) -> String {
        if description.isEmpty || other.hasPrefix("/") { return other }
        return description.utf8.last == Self.slash
            ? description + other : description + "/" + other
    }

    private static let slash = UInt8(ascii: "/")

    private static func withoutSlashes(
        _ bytes: Substring.UTF8View.SubSequence
    ) -> Substring.UTF8View.SubSequence {
        var rest = bytes
        while rest.last == slash { rest.removeLast() }
        return rest
    }
}
