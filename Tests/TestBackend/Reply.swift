package import Values

extension BackendDouble {
    /// The response of a double to one request.
    package enum Reply: Sendable {
        case response(HTTPMessage.Response)
        /// No response reaches the client; the string describes the failure for readers.
        case failure(Exchange.Failure, String)
        /// These bytes on the socket, whether or not they are HTTP.
        case bytes([UInt8], thenHangsUp: Bool)
        /// No response, while the connection stays open.
        case never

        package static func status(_ status: Int) -> Reply {
            .response(HTTPMessage.Response(status))
        }

        package static func json(_ body: JSONValue, status: Int = 200) -> Reply {
            .response(HTTPMessage.Response(status, json: body))
        }

        package static func text(_ text: String, thenHangsUp: Bool = false) -> Reply {
            .bytes(Array(text.utf8), thenHangsUp: thenHangsUp)
        }

        /// The connection closes before a response.
        package static let hangUp = Reply.failure(.closed, "the connection was reset")

        /// The outcome for a client without a socket; nil if no response ever comes.
        var outcome: Exchange.Outcome? {
            switch self {
            case .response(let response): .answered(response)
            case .failure(let failure, let text): .failed(failure, text)
            case .bytes: .failed(.malformed, "bytes need a socket")
            case .never: nil
            }
        }
    }
}

/// A model of a backend, which decides the responses that a test leaves to it.
package protocol BackendModel: Sendable {
    func reply(
        to arrival: BackendDouble.Arrival,
        of backend: BackendDouble
    ) async -> BackendDouble.Reply

    /// Reacts to a start of the process.
    func processDidStart(of backend: BackendDouble)

    /// Reacts to an end of the process.
    func processDidEnd()
}

extension BackendModel {
    package func processDidStart(of backend: BackendDouble) {}
    package func processDidEnd() {}
}

/// A model that responds in the same way to every request.
struct FixedResponse: BackendModel {
    let reply: BackendDouble.Reply

    func reply(
        to arrival: BackendDouble.Arrival,
        of backend: BackendDouble
    ) async -> BackendDouble.Reply { reply }
}
