package import Contracts

extension Profile {
    /// Returns the endpoint for one of the routes in `AppBackendPlan.routes`; nil if the profile
    /// does not define it.
    package func appEndpoint(_ route: String) -> Endpoint? {
        guard route == "access" else { return endpoints[route] }
        return app.access.map { Endpoint(method: $0.method, path: $0.path) }
    }
}
