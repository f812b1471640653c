package import Values

/// A host of a real service, and the place of that host's paths at the fake.
package struct ServiceHost: Hashable, Sendable {
    /// The name of the host, in lower case.
    package let name: String
    /// The prefix that the fake puts before the paths of this host, for example the host's name.
    package let pathPrefix: String
    /// The prefixes of the paths on this host that belong to the service.
    ///
    /// If nil, all paths belong to it.
    package let pathPrefixes: [String]?
    /// Whether the host belongs to this service alone.
    ///
    /// If a file of a backend names such a host, the backend uses this service. False for a host
    /// that several services share.
    package let isExclusive: Bool

    /// - Parameters:
    ///   - name: The name of the host, in lower case.
    ///   - pathPrefix: The prefix that the fake puts before the paths of this host.
    ///   - pathPrefixes: The prefixes of the paths that belong to the service; nil: all paths.
    ///   - isExclusive: Whether the host belongs to this service alone.
    package init(
        _ name: String,
        pathPrefix: String = "",
        pathPrefixes: [String]? = nil,
        isExclusive: Bool = true
    ) {
        self.name = name
        self.pathPrefix = pathPrefix
        self.pathPrefixes = pathPrefixes
        self.isExclusive = isExclusive
    }

    /// Converts a path and query at the real host to the path and query at the fake.
    ///
    /// Returns nil when the path does not belong to the service.
    package func target(for target: String) -> String? {
        guard pathPrefixes?.contains(where: target.hasPrefix) ?? true else { return nil }
        return pathPrefix + target
    }
}

extension ProviderTable {
    /// Finds the provider whose real service has this host name, ignoring case.
    ///
    /// Returns nil when no fake imitates the host.
    package func host(_ name: String) -> (party: Exchange.Party, host: ServiceHost)? {
        let name = name.lowercased()
        for entry in sortedEntries {
            if let host = entry.hosts.first(where: { $0.name == name }) {
                return (entry.party, host)
            }
        }
        return nil
    }
}
