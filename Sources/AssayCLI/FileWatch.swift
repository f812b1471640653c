internal import Conformance
internal import Foundation
internal import Programs

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
    /// What a run writes itself: files, or folders with all that is in them; whole paths.
    private let outputs: Set<String>

    /// - Parameters:
    ///   - written: Files or folders that people write and a run does not.
    ///   - backend: The backend's folder, where it may write as well.
    ///   - outputs: What a run writes itself, however it is spelt.
    init(written: [String], backend: String?, outputs: [String]) {
        self.written = written
        self.backend = backend
        self.outputs = Set(outputs.map(Self.whole))
    }

    private static func whole(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.path
    }

    /// More files than these are not looked at.
    static let countMax = 20_000

    /// Folders that no person edits.
    private static let left: Set<String> = [
        "node_modules", "vendor", "target", "build", "dist", "out", "venv", "__pycache__",
        "assay-found", "coverage",
    ]

    /// Endings of what people write: a change while the backend ran is theirs, not its own.
    private static let sources: Set<String> = [
        "c", "cc", "cjs", "clj", "cpp", "cs", "css", "dart", "erl", "ex", "exs", "go", "graphql",
        "h", "hpp", "hs", "html", "java", "js", "jsx", "kt", "lua", "mjs", "php", "prisma", "py",
        "rb", "rs", "scala", "svelte", "swift", "toml", "ts", "tsx", "vue", "yaml", "yml",
    ]

    func snapshot() -> Snapshot {
        var found: Snapshot = [:]
        let own = Self.standardStreams
        for root in written + (backend.map { [$0] } ?? []) {
            // Whoever names a link means what it leads to; the links below it are left.
            let isLink = (try? FileManager.default.destinationOfSymbolicLink(atPath: root)) != nil
            let place = URL(fileURLWithPath: root).resolvingSymlinksInPath().path
            look(at: isLink ? place : root, own, &found)
        }
        return found
    }

    /// The files that our own lines go to, where they go to files.
    private static var standardStreams: Set<UInt64> {
        Set([1, 2].compactMap(OpenFile.number))
    }

    private func look(at root: String, _ own: Set<UInt64>, _ found: inout Snapshot) {
        guard !outputs.contains(Self.whole(root)), let state = Self.state(of: root) else { return }
        guard state.isFolder else {
            if !own.contains(state.number), !root.hasSuffix(".new") { found[root] = state.state }
            return
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        for name in names where !name.hasPrefix(".") && !Self.left.contains(name) {
            guard found.count < Self.countMax else { return }
            look(at: root == "." ? name : root + "/" + name, own, &found)
        }
    }

    /// A link is not followed: it may lead out of the folder, or round in it.
    private static func state(of path: String) -> (isFolder: Bool, number: UInt64, state: State)? {
        guard let found = try? FileManager.default.attributesOfItem(atPath: path),
            let type = found[.type] as? FileAttributeType,
            type == .typeDirectory || type == .typeRegular
        else { return nil }
        let state = State(
            modified: found[.modificationDate] as? Date ?? .distantPast,
            size: (found[.size] as? NSNumber)?.uint64Value ?? 0
        )
        let number = (found[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
        return (type == .typeDirectory, number, state)
    }

    /// What differs between two looks, by name.
    static func changes(_ old: Snapshot, _ new: Snapshot) -> [String] {
        Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted()
    }

    /// What people changed while a run went on: what a backend may have written itself is left out.
    func changesByPeople(_ old: Snapshot, _ new: Snapshot) -> [String] {
        Self.changes(old, new).filter { path in
            written.contains { path == $0 || path.hasPrefix($0 + "/") }
                || Self.sources.contains(PathName(path).fileExtension)
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
