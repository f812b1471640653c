internal import Foundation

/// The files that a run depends on, looked at now and then.
struct FileWatch {
    /// A file as it was seen.
    struct State: Hashable {
        let modified: Date
        let size: UInt64
    }

    typealias Snapshot = [String: State]

    /// Files or folders that people write and a run does not.
    let written: [String]
    /// The backend's folder, where it may write as well.
    let backend: String?

    /// More files than these are not looked at.
    static let countMax = 20_000

    /// Folders that no person edits.
    private static let left: Set<String> = [
        "node_modules", "vendor", "target", "build", "dist", "out", "venv", "__pycache__",
        "assay-found", "coverage",
    ]

    /// Endings of what people write: a change while the backend ran is theirs, not its own.
    private static let sources: Set<String> = [
        "c", "cjs", "cs", "ex", "exs", "go", "java", "js", "jsx", "kt", "mjs", "php", "py", "rb",
        "rs", "scala", "swift", "ts", "tsx", "yaml", "yml",
    ]

    func snapshot() -> Snapshot {
        var found: Snapshot = [:]
        for root in written + (backend.map { [$0] } ?? []) { look(at: root, &found) }
        return found
    }

    private func look(at root: String, _ found: inout Snapshot) {
        guard let state = Self.state(of: root) else { return }
        guard state.isFolder else {
            found[root] = state.state
            return
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        for name in names where !name.hasPrefix(".") && !Self.left.contains(name) {
            guard found.count < Self.countMax else { return }
            look(at: root == "." ? name : root + "/" + name, &found)
        }
    }

    /// A link is not followed: it may lead out of the folder, or round in it.
    private static func state(of path: String) -> (isFolder: Bool, state: State)? {
        guard let found = try? FileManager.default.attributesOfItem(atPath: path),
            let type = found[.type] as? FileAttributeType,
            type == .typeDirectory || type == .typeRegular
        else { return nil }
        let state = State(
            modified: found[.modificationDate] as? Date ?? .distantPast,
            size: (found[.size] as? NSNumber)?.uint64Value ?? 0
        )
        return (type == .typeDirectory, state)
    }

    /// What differs between two looks, by name.
    static func changes(_ old: Snapshot, _ new: Snapshot) -> [String] {
        Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
    }

    /// What people changed while a run went on: what a backend may have written itself is left out.
    func changesByPeople(_ old: Snapshot, _ new: Snapshot) -> [String] {
        Self.changes(old, new).filter { path in
            written.contains { path == $0 || path.hasPrefix($0 + "/") }
                || Self.sources.contains((path as NSString).pathExtension)
        }
    }

    /// How often the files are looked at.
    private static let period = Duration.milliseconds(300)

    /// Waits until something differs from what was seen, and no longer changes.
    ///
    /// - Returns: What differs; empty when the wait was cancelled.
    func wait(from seen: Snapshot) async -> [String] {
        var last = seen
        let clock = ContinuousClock()
        while !Task.isCancelled {
            try? await clock.sleep(for: Self.period)
            let now = snapshot()
            let isStill = now == last
            last = now
            let changes = Self.changes(seen, now)
            if isStill, !changes.isEmpty { return changes }
        }
        return []
    }
}
