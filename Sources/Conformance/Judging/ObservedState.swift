/// A probe's answer, understood.
package enum ObservedState: Hashable, Sendable {
    case document(JSONValue)
    /// There is no such thing: 404 or 410, or nothing in the answer.
    case missing
    case unreadable(String)

    package init(_ exchange: Exchange) {
        guard let response = exchange.response else {
            let place = "no answer to \(exchange.request.method) \(exchange.request.target)"
            if case .failed(_, let reason) = exchange.outcome {
                self = .unreadable("\(place): \(reason)")
            } else {
                self = .unreadable(place)
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
                    "the probe's answer is not JSON: \(error)" + Self.excerpt(of: response.body)
                )
            }
        default:
            self = .unreadable(
                "the probe answered \(response.status)" + Self.excerpt(of: response.body)
            )
        }
    }

    /// The beginning of a body on one line, after a colon; empty where there is no text.
    private static func excerpt(of body: [UInt8]) -> String {
        let text = String(decoding: body.prefix(4 * excerptMax), as: UTF8.self)
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard !text.isEmpty else { return "" }
        return ": " + text.prefix(excerptMax) + (text.count > excerptMax ? "…" : "")
    }

    /// Characters of a response that a finding shows.
    private static let excerptMax = 120
}

extension Exchange {
    /// Whether a probe has failed in a way that may pass, so that it is read once more.
    ///
    /// The backend or the connection failed, or the body could not be read.
    /// A probe that was not answered in time has had its time, and a refusal is a decision.
    package var isPassingProbeFailure: Bool {
        guard case .unreadable = ObservedState(self) else { return false }
        return switch outcome {
        case .answered(let response): response.status >= 500 || response.isSuccessful
        case .failed(.timedOut, _), .pending: false
        case .failed, .requestCut, .answerLost: true
        }
    }
}

extension HTTPMessage.Response {
    fileprivate var isSuccessful: Bool { (200..<300).contains(status) }
}

extension RunRecord.Sight {
    /// Why what looks right proves nothing; nil where a plain purchase can be seen.
    var blindness: String? {
        guard isBlind else { return nil }
        let answer = plainAnswer.map { "; the webhook answered \($0)" } ?? ""
        return "a plain purchase shows nowhere, neither in a probe nor by a push" + answer
    }
}

extension JSONValue {
    /// Whether it is null, or holds nothing.
    fileprivate var isEmpty: Bool {
        switch self {
        case .null: true
        case .array(let elements): elements.isEmpty
        case .object(let object): object.members.isEmpty
        case .bool, .number, .string: false
        }
    }

    /// The value without that id, so that answers about two people can be compared.
    package func leavingOut(id: String) -> JSONValue {
        mapLeaves { leaf in
            switch leaf {
            case .string(let text): .string(text.replacing(id, with: "‹id›"))
            case .number(let number): number.description == id ? .string("‹id›") : leaf
            case .null, .bool, .array, .object: leaf
            }
        }
    }
}
