package import Conformance

extension Profile {
    /// Where the app's calls of a route go, by one of `AppBackendPlan.routes`; nil: nowhere.
    package func appEndpoint(_ route: String) -> Endpoint? {
        guard route == "access" else { return endpoints[route] }
        return app.access.map { Endpoint(method: $0.method, path: $0.path) }
    }
}
