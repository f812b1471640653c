internal import Contracts
package import Values

/// The state of a user as a probe returned it: a document, nothing, or an unreadable response.
package enum ObservedState: Hashable, Sendable {
    case document(JSONValue)
    /// The user or row does not exist: the response is 404, 410 or empty, or the backend refuses the
    /// login of a user whom it knew before.
    case missing
    case unreadable(String)

    package init(_ exchange: Exchange) {
        guard let response = exchange.response else {
            if case .failed(.loginRefused, _) = exchange.outcome {
                self = .missing
                return
            }
            let failureDescription =
                "no response to \(exchange.request.method) \(exchange.request.target)"
            if case .failed(_, let reason) = exchange.outcome {
                self = .unreadable("\(failureDescription): \(reason)")
            } else {
                self = .unreadable(failureDescription)
            }
            return
        }
        switch response.status {
        case 404, 410: self = .missing
        case 200..<300:
            do throws(JSONError) {
                let document = try JSONValue(parsing: response.body)
                self = document.isEmpty ? .missing : .document(document)
            } catch {
                self = .unreadable(
                    "the probe's response is not JSON: \(error)" + Self.excerpt(of: response.body)
                )
            }
        default:
            self = .unreadable(
                "the probe returned \(response.status)" + Self.excerpt(of: response.body)
            )
        }
    }

    /// Returns a colon and the beginning of a response body on one line; empty for a body without
    /// text.
    private static func excerpt(of body: [UInt8]) -> String {
        let text = String(decoding: body.prefix(4 * excerptLengthMax), as: UTF8.self)
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard !text.isEmpty else { return "" }
        return ": " + text.prefix(excerptLengthMax) + (text.count > excerptLengthMax ? "…" : "")
    }

    /// The maximum number of characters of a response body that a finding shows.
    private static let excerptLengthMax = 120
}

extension Exchange {
    /// Whether the exchange is a failed probe whose repetition might succeed.
    ///
    /// A repetition might succeed when the backend or the connection failed, or when the body could
    /// not be parsed. After a timeout or a refusal, the probe is not repeated.
    package var isTransientProbeFailure: Bool {
        guard case .unreadable = ObservedState(self) else { return false }
        return switch outcome {
        case .answered(let response): response.status >= 500 || response.isSuccessful
        case .failed(.timedOut, _), .pending: false
        case .failed, .requestCut, .answerLost: true
        }
    }
}

extension RunRecord {
    /// Whether the last response of a probe shows that the backend has lost a user whom it knew.
    package var hasLostUser: Bool {
        let probes = Dictionary(
            exchanges.compactMap { exchange -> (Exchange.Purpose, Exchange)? in
                guard case .probe = exchange.purpose else { return nil }
                return (exchange.purpose, exchange)
            },
            uniquingKeysWith: { $1 }
        )
        return probes.values.contains {
            if case .failed(.loginRefused, _) = $0.outcome { true } else { false }
        }
    }
}

extension HTTPMessage.Response {
    fileprivate var isSuccessful: Bool { (200..<300).contains(status) }
}

extension RunRecord.Observability {
    /// The reason why a correct state proves nothing: a plain purchase before the first case
    /// changed no probe response and caused no push.
    ///
    /// Nil when that purchase had a visible result.
    var invisiblePurchaseReason: String? {
        guard showsNoPurchase else { return nil }
        let webhookStatusText = plainPurchaseStatus.map { "; the webhook returned \($0)" } ?? ""
        return "a plain purchase changed no probe response and caused no push" + webhookStatusText
    }
}

extension JSONValue {
    /// Whether the value is null, an empty array or an empty object.
    fileprivate var isEmpty: Bool {
        switch self {
        case .null: true
        case .array(let elements): elements.isEmpty
        case .object(let object): object.members.isEmpty
        case .bool, .number, .string: false
        }
    }

    /// Returns the value with a user's ID replaced by a token, so that responses about two users
    /// are comparable.
    package func leavingOut(id: String) -> JSONValue {
        mapLeaves { leaf in
            switch leaf {
            case .string(let text): .string(text.replacingExactly(id, with: "‹id›"))
            case .number(let number): number.description == id ? .string("‹id›") : leaf
            case .null, .bool, .array, .object: leaf
            }
        }
    }
}
