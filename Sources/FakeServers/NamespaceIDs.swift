/// The user IDs of all namespaces.
///
/// A user ID belongs to at most one namespace.
struct NamespaceIDs: Sendable {
    /// The name of the namespace for each user ID.
    private(set) var namespaces: [String: String] = [:]
    private var idsByNamespace: [String: Set<String>] = [:]
    /// The hashes of the user IDs of runs that have ended.
    ///
    /// The set uses 16 bytes for each user ID, so that a long campaign can keep all of them.
    private var retiredIDHashes: Set<Int> = []

    init() {}

    /// Creates the assignment of user IDs to namespaces from a saved assignment.
    ///
    /// - Parameter namespaces: The name of the namespace for each user ID.
    init(_ namespaces: [String: String]) {
        for (id, namespace) in namespaces { assign(id, to: namespace) }
    }

    /// Returns the namespace of the first string that is a user ID of a namespace.
    func owningNamespace(among idCandidates: [String]) -> String? {
        idCandidates.lazy.compactMap { namespaces[$0] }.first
    }

    /// Returns the user IDs of a namespace, sorted.
    func ids(of namespace: String) -> [String] { idsByNamespace[namespace]?.sorted() ?? [] }

    /// Assigns a user ID to a namespace, and removes it from any other namespace.
    mutating func assign(_ id: String, to namespace: String) {
        if let previousNamespace = namespaces.updateValue(namespace, forKey: id),
            previousNamespace != namespace
        {
            idsByNamespace[previousNamespace]?.remove(id)
        }
        idsByNamespace[namespace, default: []].insert(id)
    }

    mutating func removeIDs(_ namespace: String) {
        for id in idsByNamespace.removeValue(forKey: namespace) ?? [] { namespaces[id] = nil }
    }

    /// Removes a namespace, and remembers that its user IDs belonged to a run that has ended.
    mutating func retire(_ namespace: String) {
        for id in ids(of: namespace) { retiredIDHashes.insert(id.hashValue) }
        removeIDs(namespace)
    }

    /// Returns whether any of the strings is a user ID of a run that has ended.
    func containsRetiredID(_ idCandidates: [String]) -> Bool {
        !retiredIDHashes.isEmpty && idCandidates.contains { retiredIDHashes.contains($0.hashValue) }
    }
}
