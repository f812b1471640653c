/// One request and its response or failure, with the two parties, the times, and the effects at the
/// called provider.
package struct Exchange: Hashable, Codable, Sendable {
    /// The reason why a request was sent or an event was recorded.
    package enum Purpose: Hashable, Codable, Sendable {
        /// One attempt to send a contract's delivery of that name to the backend; attempts count
        /// from 1.
        case delivery(name: String, attempt: Int)
        case registration(user: String)
        /// A call of the app to one of the backend's own routes, by the call's name in the
        /// contract.
        case appCall(String)
        /// A probe: a read-only request for the state of the user.
        case probe(name: String, user: String)
        /// A call that the backend made to a provider.
        case call
        /// A sentinel: a harmless event with a known effect, which shows that the backend has
        /// processed everything before it.
        case sentinel
        /// The backend was stopped and started again; the string describes the way, such as a kill.
        case restart(String)
        /// A user action in the app, or an event of the app: the system ended the app, or its page
        /// loaded or failed.
        case userAction(String)
        /// An observation of the content that the app shows.
        case screen
    }

    package enum Outcome: Hashable, Codable, Sendable {
        case pending
        case answered(HTTPMessage.Response)
        /// A planned fault: the response never reached the caller.
        ///
        /// The value is nil when the response is unknown, because the connection was closed before
        /// it arrived.
        case answerLost(HTTPMessage.Response?)
        /// A planned fault: the connection was closed before the whole request had been sent.
        case requestCut
        /// The request got no complete response; the string describes the failure for readers.
        case failed(Failure, String)
    }

    package enum Failure: UInt8, Hashable, Codable, Sendable {
        case refused, closed, timedOut, malformed
        /// Assay itself lacked a file descriptor, memory or a port; the description of the outcome
        /// names the missing resource.
        case shortage
        /// The request was not sent, because the backend refuses the login of a user whose session
        /// it accepted before.
        case loginRefused
    }

    /// The position of the exchange in the journal's total order; a request is numbered before it
    /// is sent.
    package var sequence: Int
    package var from: Party
    package var to: Party
    /// The namespace of the fakes, one for each run, that the exchange belongs to; empty when its
    /// content names no run.
    package var namespace: String
    package var purpose: Purpose
    /// The virtual time (on the fakes' clock) at which the request was sent.
    package var at: Instant
    /// The real time at which the request was sent, in microseconds since the journal began.
    package var invoked: Int64
    package var completed: Int64?
    package var request: HTTPMessage.Request
    /// The phone that the exchange concerns; nil when no phone takes part.
    package var phone: PhoneRef?
    package var outcome: Outcome
    /// The effects that the request caused at the called provider.
    package var effects: [Effect]
    /// The request in terms that all providers share, such as the kind of effect; nil when the
    /// provider defines none for this request.
    package var call: ProviderCall?
    /// The proof of the sender (an Authorization header or a signature) in a recorded delivery; nil
    /// when it was not checked.
    package var proof: SenderProof?

    package init(
        from: Party,
        to: Party,
        namespace: String,
        purpose: Purpose,
        at: Instant,
        request: HTTPMessage.Request,
        phone: PhoneRef? = nil,
        sequence: Int = 0,
        invoked: Int64 = 0,
        completed: Int64? = nil,
        outcome: Outcome = .pending,
        effects: [Effect] = []
    ) {
        self.sequence = sequence
        self.from = from
        self.to = to
        self.namespace = namespace
        self.purpose = purpose
        self.at = at
        self.invoked = invoked
        self.completed = completed
        self.request = request
        self.phone = phone
        self.outcome = outcome
        self.effects = effects
    }

    /// Checks that a real time from a file is in the accepted range.
    ///
    /// The range is large enough for an imported file with dates from 1970 to 9999. It is small
    /// enough that the difference of two times cannot overflow.
    ///
    /// - Parameter microseconds: The time since the journal began.
    /// - Returns: The same time; nil when it is more than 10,000 years before or after the start of
    ///   the journal.
    package static func time(_ microseconds: Int64) -> Int64? {
        let max: Int64 = 10_000 * 366 * 86_400 * 1_000_000
        return (-max...max).contains(microseconds) ? microseconds : nil
    }

    /// The complete response of the exchange; nil when none reached the caller.
    package var response: HTTPMessage.Response? {
        if case .answered(let response) = outcome { response } else { nil }
    }
}

extension Exchange {
    private enum CodingKeys: String, CodingKey {
        case sequence, from, to, namespace, purpose, at, invoked, completed, request, phone, outcome
        case effects
    }

    /// Decodes an exchange of a saved run.
    ///
    /// In older saved runs, a header of the request names the phone.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        sequence = try container.decode(Int.self, forKey: .sequence)
        from = try container.decode(Party.self, forKey: .from)
        to = try container.decode(Party.self, forKey: .to)
        namespace = try container.decode(String.self, forKey: .namespace)
        purpose = try container.decode(Purpose.self, forKey: .purpose)
        at = try container.decode(Instant.self, forKey: .at)
        func time(_ microseconds: Int64, _ key: CodingKeys) throws -> Int64 {
            if let time = Self.time(microseconds) { return time }
            throw DecodingError.dataCorruptedError(
                forKey: key,
                in: container,
                debugDescription: "\(microseconds) µs is more than 10,000 years away"
            )
        }
        invoked = try time(container.decode(Int64.self, forKey: .invoked), .invoked)
        completed = try container.decodeIfPresent(Int64.self, forKey: .completed)
            .map { try time($0, .completed) }
        request = try container.decode(HTTPMessage.Request.self, forKey: .request)
        let phoneFromHeaders = PhoneRef.extract(from: &request.fields)
        phone = try container.decodeIfPresent(PhoneRef.self, forKey: .phone) ?? phoneFromHeaders
        outcome = try container.decode(Outcome.self, forKey: .outcome)
        effects = try container.decode([Effect].self, forKey: .effects)
    }
}

extension Exchange {
    /// A copy of the exchange for display, with both bodies cut to 4,096 bytes.
    package var shortened: Exchange {
        let max = 4096
        var copy = self
        if request.body.count > max { copy.request.body = Array(request.body.prefix(max)) }
        copy.request.parsedBody = nil
        if case .answered(var response) = outcome, response.body.count > max {
            response.body = Array(response.body.prefix(max))
            copy.outcome = .answered(response)
        }
        return copy
    }
}
