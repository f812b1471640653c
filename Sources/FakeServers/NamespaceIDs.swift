/// Which ids belong to which namespace: an id to one of them.
struct NamespaceIDs: Sendable {
    /// By id.
    private(set) var namespaces: [String: String] = [:]
    private var idsByNamespace: [String: Set<String>] = [:]
    /// Hashes of the IDs whose run is over: 16 bytes for each ID, so that a long campaign can keep
    /// all of them.
    private var retired: Set<Int> = []

    init() {}

    /// - Parameter namespaces: By id.
    init(_ namespaces: [String: String]) {
        for (id, namespace) in namespaces { give(id, to: namespace) }
    }

    /// The namespace of the first of them that belongs to one.
    func owner(among candidates: [String]) -> String? {
        candidates.lazy.compactMap { namespaces[$0] }.first
    }

    /// In order.
    func ids(of namespace: String) -> [String] { idsByNamespace[namespace]?.sorted() ?? [] }

    /// Makes it the namespace's, and nobody else's.
    mutating func give(_ id: String, to namespace: String) {
        if let old = namespaces.updateValue(namespace, forKey: id), old != namespace {
            idsByNamespace[old]?.remove(id)
        }
        idsByNamespace[namespace, default: []].insert(id)
    }

    mutating func forget(_ namespace: String) {
        for id in idsByNamespace.removeValue(forKey: namespace) ?? [] { namespaces[id] = nil }
    }

    /// Forgets a namespace, and remembers that its IDs have belonged to a run.
    mutating func retire(_ namespace: String) {
        for id in ids(of: namespace) { retired.insert(id.hashValue) }
        forget(namespace)
    }

    /// Whether one of them belonged to a run that is over.
    func isRetired(_ candidates: [String]) -> Bool {
        !retired.isEmpty && candidates.contains { retired.contains($0.hashValue) }
    }
}
