internal import Foundation
internal import Programs
internal import Values

/// Detects changes of the files that a run depends on by comparing two snapshots.
struct FileWatch {
    /// The state of a file at the time of a snapshot.
    struct State: Hashable {
        let modifiedAt: Date
        let size: UInt64
    }

    typealias Snapshot = [String: State]

    /// The files and folders that the user edits and that a run does not write.
    let editedPaths: [String]
    /// The backend's folder, in which the backend may write files too.
    let backend: String?
    /// The absolute paths of the files and folders that a run writes.
    private let outputPaths: Set<String>

    /// Creates a watch without taking a snapshot.
    ///
    /// - Parameters:
    ///   - editedPaths: The files and folders that the user edits and that a run does not write.
    ///   - backend: The backend's folder, in which the backend may write files too.
    ///   - outputPaths: The files and folders that a run writes, as relative or absolute paths.
    init(editedPaths: [String], backend: String?, outputPaths: [String]) {
        self.editedPaths = editedPaths
        self.backend = backend
        self.outputPaths = Set(outputPaths.map(Self.absolutePath))
    }

    private static func absolutePath(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.path
    }

    /// The largest number of files in a snapshot.
    static let fileCountMax = 20_000

    /// The names of folders that are not watched, because their files are not edited by hand.
    private static let unwatchedFolderNames: Set<String> = [
        "node_modules", "vendor", "target", "build", "dist", "out", "venv", "__pycache__",
        "coverage",
    ]

    /// The extensions of source files.
    ///
    /// A change of such a file during a run is an edit by the user, not output of the backend.
    private static let sourceExtensions: Set<String> = [
        "c", "cc", "cjs", "clj", "cpp", "cs", "css", "dart", "erl", "ex", "exs", "go", "graphql",
        "h", "hpp", "hs", "html", "java", "js", "jsx", "kt", "lua", "mjs", "php", "prisma", "py",
        "rb", "rs", "scala", "svelte", "swift", "toml", "ts", "tsx", "vue", "yaml", "yml",
    ]

    func snapshot() -> Snapshot {
        var found: Snapshot = [:]
        let excludedInodes = Self.standardStreamInodes
        for root in editedPaths + (backend.map { [$0] } ?? []) {
            // A symbolic link that is given as a watched path is followed; links inside a watched
            // folder are not.
            // The path is not a link when its target cannot be read.
            let isLink = (try? FileManager.default.destinationOfSymbolicLink(atPath: root)) != nil
            let resolvedPath = URL(fileURLWithPath: root).resolvingSymlinksInPath().path
            addFiles(at: isLink ? resolvedPath : root, excludedInodes, &found)
        }
        return found
    }

    /// The inode numbers of the files to which standard output and standard error are redirected.
    ///
    /// These files change during a run and are not watched.
    private static var standardStreamInodes: Set<UInt64> {
        Set([1, 2].compactMap(FileIdentity.inode))
    }

    private func addFiles(at root: String, _ excludedInodes: Set<UInt64>, _ found: inout Snapshot) {
        guard !outputPaths.contains(Self.absolutePath(root)), let state = Self.state(of: root)
        else {
            return
        }
        guard state.isFolder else {
            if !excludedInodes.contains(state.inode), !root.hasSuffix(".new") {
                found[root] = state.state
            }
            return
        }
        // A folder that cannot be read has no files to watch. The next snapshot tries again.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        for name in names where !name.hasPrefix(".") && !Self.unwatchedFolderNames.contains(name) {
            guard found.count < Self.fileCountMax else { return }
            addFiles(at: root == "." ? name : root + "/" + name, excludedInodes, &found)
        }
    }

    /// Returns the type, inode number and state of a file or folder; nil for a symbolic link.
    ///
    /// A symbolic link may lead out of the watched folder or form a cycle.
    private static func state(of path: String) -> (isFolder: Bool, inode: UInt64, state: State)? {
        // A file that was removed after the listing is not in the snapshot.
        guard let found = try? FileManager.default.attributesOfItem(atPath: path),
            let type = found[.type] as? FileAttributeType,
            type == .typeDirectory || type == .typeRegular
        else { return nil }
        let state = State(
            modifiedAt: found[.modificationDate] as? Date ?? .distantPast,
            size: (found[.size] as? NSNumber)?.uint64Value ?? 0
        )
        let inode = (found[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
        return (type == .typeDirectory, inode, state)
    }

    /// Returns the paths of files that differ between two snapshots, in alphabetical order.
    static func changes(_ old: Snapshot, _ new: Snapshot) -> [String] {
        Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
    }

    /// Returns the paths that the user changed during a run, without files that the backend may
    /// have written.
    func changesByUser(_ old: Snapshot, _ new: Snapshot) -> [String] {
        Self.changes(old, new).filter { path in
            editedPaths.contains { path == $0 || path.hasPrefix($0 + "/") }
                || Self.sourceExtensions.contains(PathName(path).fileExtension)
        }
    }

    /// The time between two snapshots while waiting for a change.
    private static let filePollInterval = Duration.milliseconds(300)

    /// Waits until the watched files differ from a snapshot and have stopped changing.
    ///
    /// - Returns: The changed paths; empty when the wait was canceled.
    func waitForChanges(from initialSnapshot: Snapshot) async -> [String] {
        var previousSnapshot = initialSnapshot
        let clock = ContinuousClock()
        while !Task.isCancelled {
            // Cancellation ends the wait and the loop.
            try? await clock.sleep(for: Self.filePollInterval)
            let currentSnapshot = snapshot()
            let isUnchanged = currentSnapshot == previousSnapshot
            previousSnapshot = currentSnapshot
            let changes = Self.changes(initialSnapshot, currentSnapshot)
            if isUnchanged, !changes.isEmpty { return changes }
        }
        return []
    }
}
