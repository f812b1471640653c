internal import Foundation
internal import Values

/// Reads the checked-out commit of a Git repository from its files, without running Git.
enum GitCommit {
    private static let digitCount = 12

    /// Returns the first digits of the commit that is checked out in the repository around a folder.
    ///
    /// - Parameter folder: The absolute path of the folder.
    /// - Returns: 12 hexadecimal digits; nil outside of a repository, or before its first commit.
    static func current(in folder: String) -> String? {
        var root = PathName(folder)
        while text(root.description + "/.git/HEAD") == nil, linkedFolder(root) == nil {
            let parent = root.folder
            guard parent != root.description, !parent.isEmpty else { return nil }
            root = PathName(parent)
        }
        let gitFolder = linkedFolder(root) ?? root.description + "/.git"
        guard let head = text(gitFolder + "/HEAD") else { return nil }
        guard head.hasPrefix("ref: ") else { return digits(head) }
        let name = String(head.dropFirst(5))
        // A linked worktree keeps its branches in the folder of the main repository.
        let shared = text(gitFolder + "/commondir").map { path in
            path.hasPrefix("/") ? path : gitFolder + "/" + path
        }
        let folders = [gitFolder] + (shared.map { [$0] } ?? [])
        let commit =
            folders.lazy.compactMap { text($0 + "/" + name) }.first
            ?? folders.lazy.compactMap { packedCommit(of: name, in: $0) }.first
        return commit.flatMap(digits)
    }

    /// Returns the Git folder that the file `.git` of a linked worktree names.
    private static func linkedFolder(_ root: PathName) -> String? {
        guard let line = text(root.description + "/.git"), line.hasPrefix("gitdir: ") else {
            return nil
        }
        let path = String(line.dropFirst(8))
        return path.hasPrefix("/") ? path : root.description + "/" + path
    }

    private static func packedCommit(of name: String, in folder: String) -> String? {
        let lines = text(folder + "/packed-refs")?.split(separator: "\n") ?? []
        return lines.first { $0.hasSuffix(" " + name) }.map { String($0.prefix { $0 != " " }) }
    }

    private static func digits(_ commit: String) -> String? {
        let isCommit = commit.count >= digitCount && commit.allSatisfy(\.isHexDigit)
        return isCommit ? String(commit.prefix(digitCount)) : nil
    }

    private static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map {
            String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }
}
