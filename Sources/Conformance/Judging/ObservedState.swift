/// A probe's answer, understood.
package enum ObservedState: Hashable, Sendable {
    case document(JSONValue)
    /// 404 or 410: there is no such thing.
    case missing
    case unreadable(String)

    package init(_ exchange: Exchange) {
        guard let response = exchange.response else {
            self = .unreadable("no answer to \(exchange.request.method) \(exchange.request.target)")
            return
        }
        switch response.status {
        case 404, 410: self = .missing
        case 200..<300:
            do throws(JSONError) {
                self = .document(try JSONValue(parsing: response.body))
            } catch {
                self = .unreadable("the probe's answer is not JSON: \(error)")
            }
        default: self = .unreadable("the probe answered \(response.status)")
        }
    }
}
