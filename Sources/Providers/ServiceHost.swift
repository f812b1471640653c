package import Conformance

/// A host at which a service is reached under its own name, and where its paths stand at the fake.
package struct ServiceHost: Hashable, Sendable {
    /// In lower case.
    package let name: String
    /// What the fake's path has before the service's.
    package let prefix: String
    /// How paths begin that are the service's; nil: all of them are.
    package let paths: [String]?
    /// Whether a file that names the host means the service; others share it.
    package let isOwn: Bool

    /// - Parameters:
    ///   - name: The host, in lower case.
    ///   - prefix: What the fake's path has before the service's.
    ///   - paths: How paths begin that are the service's; nil: all of them are.
    ///   - isOwn: Whether a file that names it means the service.
    package init(
        _ name: String,
        prefix: String = "",
        paths: [String]? = nil,
        isOwn: Bool = true
    ) {
        self.name = name
        self.prefix = prefix
        self.paths = paths
        self.isOwn = isOwn
    }

    /// Where the fake answers what the service has at that path and query; nil: it has nothing there.
    package func target(for target: String) -> String? {
        guard paths?.contains(where: target.hasPrefix) ?? true else { return nil }
        return prefix + target
    }
}

extension ProviderTable {
    /// Whose host that is, whatever its case; nil: no service's that a fake stands in for.
    package func host(_ name: String) -> (party: Exchange.Party, host: ServiceHost)? {
        let name = name.lowercased()
        for entry in listed {
            if let host = entry.hosts.first(where: { $0.name == name }) {
                return (entry.party, host)
            }
        }
        return nil
    }
}
