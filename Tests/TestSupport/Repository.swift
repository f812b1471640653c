package import Foundation

/// The files of this repository, by their path from its top.
package enum Repository {
    package static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The files below a folder whose names have that ending, in order.
    package static func files(
        below folder: String,
        ending: String = "swift"
    ) -> [(path: String, text: String)] {
        let base = root.appendingPathComponent(folder)
        let all = FileManager.default.enumerator(at: base, includingPropertiesForKeys: nil)
        var found: [(path: String, text: String)] = []
        while let url = all?.nextObject() as? URL {
            guard url.pathExtension == ending,
                let text = try? String(contentsOf: url, encoding: .utf8)
            else { continue }
            found.append((String(url.path.dropFirst(root.path.count + 1)), text))
        }
        return found.sorted { $0.path < $1.path }
    }

    /// The text of one file; empty when it is not there.
    package static func text(of path: String) -> String {
        (try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)) ?? ""
    }

    /// The lines of the Swift sources below folders, counted from 1.
    package static func lines(
        below folders: String...
    ) -> [(path: String, number: Int, text: String)] {
        folders.flatMap { files(below: $0) }.flatMap { file in
            file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                .map { (file.path, $0.offset + 1, String($0.element)) }
        }
    }
}
