internal import Providers
package import Values

/// A call of the backend to a route that the fake of a provider does not have, usually because of a
/// wrong base URL.
package struct UnservedCall: Hashable, Sendable {
    private let call: CallShape
    private let title: String
    private let status: Int
    /// The beginning of a route's path that the call lacks, such as `/v1`; nil if no such route
    /// exists.
    private let missingPrefix: String?

    /// Creates the call of an exchange; nil if the fake has the route, or if another party called.
    package init?(_ exchange: Exchange) {
        guard exchange.from == .backend, let provider = ProviderTable.all[exchange.to],
            let status = exchange.response?.status, [404, 405, 501].contains(status),
            !provider.hasRoute(of: exchange.request)
        else { return nil }
        call = CallShape(exchange)
        title = provider.title
        self.status = status
        missingPrefix = provider.missingPathPrefix(of: exchange.request)
    }

    /// The problem as a sentence without a period.
    package var problem: String {
        "The backend calls \(call.line), a route that the fake \(call.receiver) does not have "
            + "(\(status))"
    }

    /// The change of the backend that corrects the call.
    package var remedy: String {
        guard let missingPrefix else {
            return
                "Compare the path with the API of \(title), and the base URL in the backend with "
                + "the URL that its code expects. 'assay coverage' lists the routes of the fake."
        }
        return "The base URL of \(title) in the backend lacks '\(missingPrefix)': the fake has the "
            + "route \(call.method) \(missingPrefix)\(call.path). Add '\(missingPrefix)' to the value "
            + "that the backend gets, for example under 'start: env' in assay.yaml."
    }
}

/// The receiver, the method and the path of a request, in which IDs are replaced.
struct CallShape: Hashable {
    let receiver: Exchange.Party
    let method: String
    let path: String

    var line: String { "\(method) \(path)" }

    init(_ exchange: Exchange) {
        receiver = exchange.to
        method = exchange.request.method
        path = exchange.request.path.split(separator: "/", omittingEmptySubsequences: false)
            .map { Self.isID($0) ? "{…}" : String($0) }.joined(separator: "/")
    }

    /// The longest segment of a path that counts as a word, in characters.
    private static let wordLengthMax = 24

    private static func isID(_ segment: Substring) -> Bool {
        if segment.count > wordLengthMax { return true }
        // A version such as v1 is part of the route.
        let isVersion = segment.first == "v" && segment.dropFirst().allSatisfy(\.isNumber)
        return !isVersion && segment.contains { $0.isNumber || $0 == "%" || $0 == "$" }
    }
}
