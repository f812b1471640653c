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
                self = .unreadable("the probe's answer is not JSON: \(error)")
            }
        default: self = .unreadable("the probe answered \(response.status)")
        }
    }
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
