package import Values

extension Provider {
    /// Describes a call by the customer that its path names, such as `subscriber ada`.
    package static func callText(_ exchange: Exchange) -> String? {
        guard let path = exchange.request.pathSegments else { return nil }
        for (collection, word) in [("subscribers", "subscriber"), ("customers", "customer")] {
            // `/v1/subscribers/identify` names its customers in the body.
            guard let index = path.firstIndex(of: collection), index + 1 < path.count,
                path[index + 1] != "identify"
            else { continue }
            let rest = path[(index + 2)...].joined(separator: "/")
            return "\(word) \(path[index + 1])" + (rest.isEmpty ? "" : ", \(rest)")
        }
        return nil
    }
}
