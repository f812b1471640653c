internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// The requests of a discovery that were refused, found in the journal of its session.
struct RefusedRequests {
    let session: ReplaySession

    private var exchanges: [Exchange] { session.fakes.journal.read { $0.exchanges } }

    /// Returns the refusal of the last request that should have created a user in a namespace; nil
    /// if it was not refused.
    func registration(in namespace: String) -> HTTPMessage.Response? {
        let calls = session.fakes.journal.read { $0.exchanges(in: namespace) }
        let last = calls.last {
            if case .registration = $0.purpose { true } else { false }
        }
        return last?.response.flatMap { (400..<600).contains($0.status) ? $0 : nil }
    }

    /// The refusal of the last purchase of a sentinel; nil if it was not refused.
    var purchase: HTTPMessage.Response? {
        exchanges.last { $0.purpose == .sentinel }?.response.flatMap {
            $0.status >= 400 ? $0 : nil
        }
    }

    /// A description of the first push of the backend that a fake refused; nil if no push was
    /// refused.
    var push: String? {
        let pushServices = ProviderTable.all.pushServices
        for exchange in exchanges where exchange.from == .backend {
            guard let service = pushServices.first(where: { $0.party == exchange.to }),
                let response = exchange.response, response.status >= 400
            else { continue }
            return "a purchase led to no push: the fake \(service.title) refused "
                + "\(exchange.request.method) \(exchange.request.path) of the backend with "
                + "\(response.bodyExcerpt); correct the request in the backend"
        }
        return nil
    }
}
