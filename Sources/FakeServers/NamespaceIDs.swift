/// Which ids belong to which namespace: an id to one of them.
struct NamespaceIDs: Sendable {
    /// By id.
    private(set) var namespaces: [String: String] = [:]
    private var idsByNamespace: [String: Set<String>] = [:]

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
}
