/// One request with its answer or its failure: who spoke to whom, when, and what it did.
package struct Exchange: Hashable, Codable, Sendable {
    /// Who takes part in a run.
    package enum Party: UInt8, Hashable, Codable, Sendable, CaseIterable, CustomStringConvertible {
        case backend, app, assay, revenueCat, oneSignal, firebase, purchasely, despia

        package var description: String {
            switch self {
            case .backend: "backend"
            case .app: "app"
            case .assay: "assay"
            case .revenueCat: "revenuecat"
            case .oneSignal: "onesignal"
            case .firebase: "firebase"
            case .purchasely: "purchasely"
            case .despia: "despia"
            }
        }

        /// The party of that name; nil when there is none.
        package init?(named name: String) {
            guard let found = Self.allCases.first(where: { $0.description == name }) else {
                return nil
            }
            self = found
        }

        /// Reads the number that is written, and the name that older runs wrote in some places.
        package init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let found =
                if let name = try? container.decode(String.self) {
                    Self(named: name)
                } else {
                    Self(rawValue: try container.decode(UInt8.self))
                }
            guard let found else {
                throw DecodingError.dataCorruptedError(
                    in: container,
                    debugDescription: "no party of that name or number"
                )
            }
            self = found
        }
    }

    /// Why the exchange took place.
    package enum Purpose: Hashable, Codable, Sendable {
        /// One attempt to hand the named event to the backend; attempts count from 1.
        case delivery(name: String, attempt: Int)
        case registration(user: String)
        /// The app's call of that name to a route of the backend's own.
        case appCall(String)
        /// A read-only look at the named user's state.
        case probe(name: String, user: String)
        /// A call that the backend made on its own account.
        case call
        /// A harmless delivery whose effect is known, to see that earlier work is done.
        case sentinel
        /// The backend was stopped and started again; the text says how.
        case restart(String)
        /// A person used the app, the system ended it, or its page told of an error.
        case gesture(String)
        /// A look at what the app shows.
        case screen
    }

    package enum Outcome: Hashable, Codable, Sendable {
        case pending
        case answered(HTTPMessage.Response)
        /// The answer arrived at the wire but, by plan, never reached the sender.
        case answerLost(HTTPMessage.Response?)
        /// The request was cut, by plan, before all of it had been sent.
        case requestCut
        /// No complete answer: refused, reset, timed out. The text is for people.
        case failed(Failure, String)
    }

    package enum Failure: UInt8, Hashable, Codable, Sendable {
        case refused, closed, timedOut, malformed
        /// Assay itself lacked a descriptor, memory or a port; the text names it.
        case shortage
    }

    /// Position in the journal's total order; invocations are numbered before the act.
    package var sequence: Int
    package var from: Party
    package var to: Party
    /// The run that this exchange belongs to; empty when nothing in it named one.
    package var namespace: String
    package var purpose: Purpose
    /// Virtual time of the invocation.
    package var at: Instant
    /// Real time, in microseconds since the journal began.
    package var invoked: Int64
    package var completed: Int64?
    package var request: HTTPMessage.Request
    /// The phone that it is about; nil when no phone takes part.
    package var phone: PhoneRef?
    package var outcome: Outcome
    /// What the called provider did because of it.
    package var effects: [Effect]
    /// What the called provider was asked for, in no provider's own words; nil when it was asked
    /// for nothing that a rule looks at.
    package var call: ProviderCall?
    /// What a recorded delivery carried to prove its sender; nil when nobody looked.
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

    /// Checks a real time that comes from a file.
    ///
    /// - Parameter microseconds: The time since the journal began.
    /// - Returns: The time; nil when it is more than 10,000 years away, as an imported file may span
    ///   the years 1970 to 9999. The difference of two times cannot overflow then.
    package static func time(_ microseconds: Int64) -> Int64? {
        let max: Int64 = 10_000 * 366 * 86_400 * 1_000_000
        return (-max...max).contains(microseconds) ? microseconds : nil
    }

    /// The complete answer, when one reached the sender.
    package var response: HTTPMessage.Response? {
        if case .answered(let response) = outcome { response } else { nil }
    }
}

extension Exchange {
    private enum CodingKeys: String, CodingKey {
        case sequence, from, to, namespace, purpose, at, invoked, completed, request, phone, outcome
        case effects
    }

    /// Reads runs of before too, in which a header of the request named the phone.
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
        let old = PhoneRef.taken(from: &request.fields)
        phone = try container.decodeIfPresent(PhoneRef.self, forKey: .phone) ?? old
        outcome = try container.decode(Outcome.self, forKey: .outcome)
        effects = try container.decode([Effect].self, forKey: .effects)
    }
}

extension Exchange {
    /// The exchange with bodies cut to what a person reads.
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

extension Exchange.Party: CodingKeyRepresentable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Tables by party are written with names.
    package var codingKey: any CodingKey { Key(stringValue: description) }

    package init?(codingKey: some CodingKey) { self.init(named: codingKey.stringValue) }
}
