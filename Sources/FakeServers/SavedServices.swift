internal import Providers
internal import Redaction
internal import Values

/// The data of all namespaces in the form in which `assay serve` saves it.
struct SavedServices {
    let servicesByNamespace: [String: Services]
    /// The namespaces of all user IDs, by ID.
    let ids: [String: String]

    init(_ servicesByNamespace: [String: Services], ids: [String: String]) {
        self.servicesByNamespace = servicesByNamespace
        self.ids = ids
    }

    /// Reads saved data.
    ///
    /// - Parameters:
    ///   - json: The saved data.
    ///   - providers: The providers that the fakes simulate.
    ///   - keys: The API key that callers of each fake provider must send.
    /// - Throws: The reason why the data cannot be loaded.
    init(
        _ json: JSONValue,
        _ providers: ProviderTable,
        _ keys: [Exchange.Party: Secret]
    ) throws(FakeRegistry.StateLoadError) {
        guard json["kind"] == "services", let namespaces = json["namespaces"]?.object else {
            throw FakeRegistry.StateLoadError(
                description: "this was not written by assay serve --export-on-exit"
            )
        }
        guard json["assay"] == 2 else {
            throw FakeRegistry.StateLoadError(
                description: "the state was written by another version of assay (format "
                    + "\(json["assay"]?.text ?? "unknown"); this version reads format 2)"
            )
        }
        var servicesByNamespace: [String: Services] = [:]
        var ids: [String: String] = [:]
        do {
            for member in namespaces.members {
                var services = try ProviderTable.$all.withValue(providers) {
                    try member.value.decoded(as: Services.self)
                }
                services.providerTable = providers
                try Self.check(services, providers)
                services.take(keys: keys)
                services.queue.recoverUnderwayDeliveries()
                servicesByNamespace[member.key] = services
            }
            if let savedIDs = json["ids"] { ids = try savedIDs.decoded() }
        } catch let error as DecodingError {
            throw FakeRegistry.StateLoadError(description: Self.decodingErrorMessage(error))
        } catch {
            throw FakeRegistry.StateLoadError(description: "\(error)")
        }
        self.init(servicesByNamespace, ids: ids)
    }

    /// Returns the data without keys and secrets.
    func json() throws -> JSONValue {
        var savedState = JSONObject()
        for (name, services) in servicesByNamespace.sorted(by: { $0.key < $1.key }) {
            savedState[name] = try JSONValue(encoding: services)
        }
        return [
            "assay": 2, "kind": "services", "namespaces": .object(savedState),
            "ids": try JSONValue(encoding: ids),
        ]
    }

    /// Refuses a planned response or a delivery of a provider that the table does not have.
    private static func check(_ services: Services, _ providers: ProviderTable) throws {
        let parties = services.plans.keys + services.queue.all.map(\.provider)
        guard let unknown = parties.first(where: { providers[$0] == nil }) else { return }
        throw FakeRegistry.StateLoadError(
            description: "the state names the provider '\(unknown)', which does not exist"
        )
    }

    private static func decodingErrorMessage(_ error: DecodingError) -> String {
        let decodingContext: DecodingError.Context? =
            switch error {
            case .typeMismatch(_, let decodingContext), .valueNotFound(_, let decodingContext),
                .keyNotFound(_, let decodingContext), .dataCorrupted(let decodingContext):
                decodingContext
            @unknown default: nil
            }
        let path = (decodingContext?.codingPath ?? []).map { "/" + $0.stringValue }.joined()
        return "at \(path.isEmpty ? "/" : path): \(decodingContext?.debugDescription ?? "\(error)")"
    }
}
