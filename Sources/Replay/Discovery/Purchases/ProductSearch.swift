internal import Contracts
internal import Providers

/// Searches for the products that a backend knows, after it has ignored a purchase of another one.
struct ProductSearch {
    let discovery: BackendDiscovery
    let session: ReplaySession

    /// The largest number of products that are tried, each of which may take seconds.
    private static let productCountMax = 6

    /// Returns the products in the backend's files whose purchase changes the response of a probe.
    ///
    /// - Parameter candidates: The probes that are tried.
    /// - Returns: The IDs by the names of products in contracts, and the probes that show the
    ///   purchase; nil if no product of the files has an effect.
    func products(
        shownBy candidates: [Profile.Probe]
    ) async -> (products: [String: String], probes: ProbeSearch.FoundProbes)? {
        guard discovery.acceptsEvents, discovery.profile.products.isEmpty,
            let defaultProduct = CatalogProduct.all.first
        else { return nil }
        var knownIDs: [String] = []
        var probes: ProbeSearch.FoundProbes?
        let (named, others) = discovery.survey.productUses.ids
        for (index, id) in (named + others).prefix(Self.productCountMax).enumerated() {
            // Another text is no product if the backend knows those that are named so.
            if index == named.count, !knownIDs.isEmpty { break }
            var trial = discovery
            trial.profile.products = [defaultProduct.name: id]
            discovery.onProgress(
                "a purchase changes no route; trying the product '\(id)' of the backend's files"
            )
            let found = await ProbeSearch(discovery: trial, session: session).probes(
                among: probes.map { [$0.subscription] } ?? candidates,
                in: "\(discovery.name)-g\(index)"
            )
            guard let found else { continue }
            probes = probes ?? found
            knownIDs.append(id)
        }
        return probes.map { (ProductUses.assignment(of: knownIDs), $0) }
    }

    /// Returns the products as text for the user.
    func text(_ products: [String: String]) -> String {
        let ids = products.sorted { $0.key < $1.key }.map { "'\($0.value)'" }
        return "the backend ignores other products than those in its files, such as "
            + ids.joined(separator: " and ")
    }
}
