internal import Conformance
internal import ContractFiles
internal import Providers

extension Distiller {
    /// One group's part of the session.
    ///
    /// Calls are what the backend sent to providers because of it.
    struct CaseBuilder {
        /// Headers that say nothing about the backend.
        private static let noise: Set<String> = [
            "host", "user-agent", "accept", "accept-encoding", "accept-language", "content-length",
            "connection", "date", "server", "via", "x-request-id", "traceparent", "tracestate",
            "origin",
            "referer", "cache-control", "pragma", "dnt", "te", "transfer-encoding", "keep-alive",
            "expect", "upgrade-insecure-requests", "x-forwarded-for", "x-forwarded-proto",
            "x-forwarded-host", "x-real-ip", "forwarded", "priority",
        ]

        /// Headers of an answer that clients act on.
        private static let told: Set<String> = [
            "location", "set-cookie", "retry-after", "cache-control",
        ]
        /// The longest text that a golden holds, in bytes.
        private static let textMax = 16 << 10

        let users: SessionUsers
        let recording: Recording
        let options: Options
        private var names: [String: Int] = [:]
        private var namer: TemplateNamer
        /// The moment that relative times count from; nil: the session says it.
        var base: Instant?
        /// When all of it took place, by a real clock and with some slack.
        private let session: ClosedRange<Instant>
        /// Whether a message that nobody sent says anything: where no message was sent at all, the
        /// backend may send none by design, and nobody could see that one is missing.
        private let hearsSilence: Bool
        /// Why deliveries of the session were refused.
        private let refusals: Refusals
        /// What the refusals need of a backend, so that it refuses again.
        private var needs: Set<Feature> = []
        /// Tells the contracts of one session apart.
        var suffix = ""
        /// What the contract says nothing about.
        private(set) var notes: [String] = []

        init(
            users: SessionUsers,
            recording: Recording,
            refusals: Refusals,
            session: ClosedRange<Instant>,
            hearsSilence: Bool,
            options: Options
        ) {
            self.users = users
            self.recording = recording
            self.options = options
            self.hearsSilence = hearsSilence
            self.refusals = refusals
            let began = recording.header.began
            self.session = session
            namer = TemplateNamer(
                users: users,
                moments: SessionMoments(base: began),
                session: session,
                reused: []
            )
        }

        /// - Parameters:
        ///   - places: Where in the recording stands what was sent to the backend.
        ///   - calls: Where stands what the backend sent because of it.
        /// - Returns: The group's contract; nil when nothing was sent to the backend.
        mutating func contract(_ places: [Int], calls: [Int]) -> Contract? {
            guard !places.isEmpty else { return nil }
            namer = namer(places)
            let exchanges = places.lazy.map { [recording] in recording.exchanges[$0] }
            let calls = calls.map { recording.exchanges[$0] }
            var steps: [Step] = []
            steps.reserveCapacity(places.count)
            var deliveries: [String: (name: String, body: [UInt8])] = [:]
            let polls = polls(exchanges)
            let volatile = volatilePlaces(exchanges, polls)
            for (index, exchange) in exchanges.enumerated() where !polls.contains(index) {
                if exchange.from == .app {
                    steps.append(request(exchange, volatile[index] ?? []))
                } else {
                    steps.append(delivery(exchange, &deliveries))
                }
            }
            var expectation = Expectation(answers: .statuses([200]))
            expectation.effects = effects(calls)
            if expectation.effects.contains(where: { $0.countMin > 0 }) { needs.insert(.push) }
            let day = recording.header.began.description.prefix(10)
            let place = SourceLocation(path: options.source, line: 1, column: 1)
            var contract = Contract(
                id: options.id + suffix,
                variant: "",
                title: "",
                clause: "G-01",
                level: .must,
                source: options.source,
                needs: Feature.allCases.filter(needs.contains),
                given: trouble(calls).map { [.provider($0)] } ?? [],
                steps: steps,
                expectation: expectation,
                location: place
            )
            contract.provenance = Provenance(
                recorded: Instant(iso8601: day + "T00:00:00Z") ?? recording.header.began,
                ageMax: options.ageMax,
                location: place
            )
            contract.values = namer.values
            contract.title = contract.goldenTitle
            return contract
        }

        private func namer(_ places: [Int]) -> TemplateNamer {
            let texts = places.concurrentMap { [recording] in
                RequestTexts(recording.exchanges[$0])
            }
            let exchanges = places.lazy.map { recording.exchanges[$0] }
            return TemplateNamer(
                users: users,
                moments: base.map(SessionMoments.init(base:))
                    ?? SessionMoments(exchanges, texts, began: recording.header.began),
                session: session,
                // What came after the first answer.
                reused: Set(texts.dropFirst().lazy.flatMap(\.values))
            )
        }

        /// Reads that were asked again at once: how often, and what the first ones saw, was a matter of
        /// time.
        private func polls(_ exchanges: some Collection<Exchange>) -> Set<Int> {
            Set(
                zip(exchanges, exchanges.dropFirst()).enumerated().filter { _, pair in
                    isSameRead(pair.0, pair.1)
                }.map(\.offset)
            )
        }

        /// Whether the same caller asked the same thing twice.
        private func isSameRead(_ left: Exchange, _ right: Exchange) -> Bool {
            left.request.method == "GET" && right.request.method == "GET"
                && left.request.target == right.request.target
                && meaningful(left.request.fields) == meaningful(right.request.fields)
        }

        private func meaningful(_ fields: [HTTPMessage.Field]) -> [HTTPMessage.Field] {
            fields.filter { field in
                let key = field.name.lowercased()
                return !Self.noise.contains(key) && !key.hasPrefix("sec-")
                    && !key.hasPrefix("x-assay")
            }
        }

        /// Places that differ between two equal reads with nothing in between.
        private func volatilePlaces(
            _ exchanges: some RandomAccessCollection<Exchange>,
            _ polls: Set<Int>
        ) -> [Int: [JSONPointer]] {
            var places: [Int: [JSONPointer]] = [:]
            for index in polls.sorted() {
                let start = exchanges.index(exchanges.startIndex, offsetBy: index)
                let pair = (exchanges[start], exchanges[exchanges.index(after: start)])
                guard pair.0.response?.status == pair.1.response?.status,
                    pair.0.response?.body != pair.1.response?.body,
                    let left = (pair.0.response?.body).flatMap({ try? JSONValue(parsing: $0) }),
                    let right = (pair.1.response?.body).flatMap({ try? JSONValue(parsing: $0) })
                else { continue }
                let differing = left.differences(from: right).map(\.pointer)
                places[index, default: []] += differing
                places[index + 1, default: []] += differing
            }
            return places
        }

        // MARK: Steps

        private mutating func unique(_ name: String) -> String {
            names[name, default: 0] += 1
            let count = names[name] ?? 1
            return count == 1 ? name : "\(name)-\(count)"
        }

        private mutating func request(_ exchange: Exchange, _ volatile: [JSONPointer]) -> Step {
            let target = namer.target(exchange.request.target)
            // `get-subscriptions` for GET /api/subscriptions/{{user.ada}}.
            let words = exchange.request.path.split(separator: "/").map(String.init)
                .filter { word in
                    word.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "-" || $0 == "_") }
                        && users.userByID[word] == nil
                }
            let name = ([exchange.request.method.lowercased()] + words.suffix(1))
                .joined(separator: "-")
            var request = AppRequest(
                name: unique(name),
                method: exchange.request.method,
                target: target
            )
            let type = exchange.request[field: "content-type"] ?? ""
            for field in meaningful(exchange.request.fields) {
                let key = field.name.lowercased()
                if key == "content-type", type.hasPrefix("application/json") { continue }
                request.fields.append(HTTPMessage.Field(key, namer.text(field.value)))
            }
            if let value = try? JSONValue(parsing: exchange.request.body) {
                request.body = .json(namer.request(value))
            } else if let text = String(validating: exchange.request.body, as: UTF8.self),
                !text.isEmpty
            {
                request.body = .text(namer.text(text))
            }
            request.answer = pattern(exchange, volatile)
            return .request(request)
        }

        private mutating func delivery(
            _ exchange: Exchange,
            _ deliveries: inout [String: (name: String, body: [UInt8])]
        ) -> Step {
            let body = try? JSONValue(parsing: exchange.request.body)
            let event = body?["event"] ?? body
            let type = event?["type"]?.string ?? event?["event_name"]?.string ?? "event"
            let eventID = event?["id"]?.string ?? event?["event_id"]?.string
            let name = unique(type.lowercased().replacing("_", with: "-"))
            var delivery: Delivery
            if let eventID, let earlier = deliveries[eventID],
                earlier.body == exchange.request.body
            {
                delivery = Delivery(name: name, subject: .repeats(earlier.name))
            } else if let body {
                if let eventID {
                    deliveries[eventID] = (name, exchange.request.body)
                    namer.name(eventID: eventID, of: name)
                }
                delivery = Delivery(name: name, subject: .body(templated(body)))
            } else {
                let text = String(decoding: exchange.request.body, as: UTF8.self)
                delivery = Delivery(name: name, subject: .raw(.text(text)))
            }
            delivery.provider = exchange.from
            present(exchange, &delivery)
            let pattern = pattern(exchange, [])
            delivery.answerPattern = pattern
            delivery.answers = .statuses([pattern.status])
            return .deliver(delivery)
        }

        /// Sends it with the credentials that it came with.
        private mutating func present(_ exchange: Exchange, _ delivery: inout Delivery) {
            guard
                case .credentials(let authorization, let signature) = refusals.reading(of: exchange)
            else {
                if exchange.from == .revenueCat, exchange.request[field: "authorization"] == nil {
                    delivery.authorization = .missing
                }
                return
            }
            (delivery.authorization, delivery.signature) = (authorization, signature)
            needs.formUnion(delivery.credentialNeeds)
        }

        /// The body of an event; its own id belongs to the delivery.
        private mutating func templated(_ body: JSONValue) -> JSONValue {
            var named = namer.request(body)
            for place in ["/event/id", "/id", "/event_id"] {
                guard let pointer = JSONPointer(place), let id = body[pointer]?.string,
                    let template = namer.eventTemplate(id)
                else { continue }
                named.set(pointer, to: .string(template))
            }
            return named
        }

        private mutating func pattern(
            _ exchange: Exchange,
            _ volatile: [JSONPointer]
        ) -> AnswerPattern {
            let place = SourceLocation(path: options.source, line: 1, column: 1)
            guard let response = exchange.response else {
                return AnswerPattern(status: 0, location: place)
            }
            var pattern = AnswerPattern(status: response.status, location: place)
            let value = try? JSONValue(parsing: response.body)
            for field in response.fields {
                let key = field.name.lowercased()
                // That a body is JSON is said by the body; an empty one is of no kind.
                let isKind = key == "content-type" && value == nil && !response.body.isEmpty
                guard Self.told.contains(key) || isKind else { continue }
                pattern.fields.append(HTTPMessage.Field(key, namer.answerText(field.value)))
            }
            if let value {
                var named = namer.answer(value)
                for pointer in volatile where named[pointer] != nil {
                    named.set(pointer, to: "{{any}}")
                }
                pattern.body = .json(named)
            } else if let text = Self.text(of: response) {
                pattern.body = .text(namer.answerText(text))
            } else if !response.body.isEmpty {
                let kind = response[field: "content-type"] ?? "no content type"
                notes.append(
                    "\(exchange.request.method) \(exchange.request.path): the body of the answer is "
                        + "not compared (\(kind), \(response.body.count) bytes)"
                )
            }
            return pattern
        }

        /// A body that people can read, such as HTML, CSV or XML; nil when it is none, or so long
        /// that nobody would read it.
        private static func text(of response: HTTPMessage.Response) -> String? {
            guard (1...textMax).contains(response.body.count) else { return nil }
            let text = String(validating: response.body, as: UTF8.self)
            return text.flatMap { text in
                text.unicodeScalars.contains {
                    $0.value < 32 && !"\t\n\r".unicodeScalars.contains($0)
                }
                    ? nil : text
            }
        }

        // MARK: Effects

        /// How OneSignal failed in the session, call by call, so that it fails again; nil when it
        /// never did.
        private func trouble(_ calls: [Exchange]) -> ProviderPlan? {
            var answers = calls.filter { $0.to == .oneSignal && $0.request.method != "GET" }
                .map { call -> ProviderPlan.Answer in
                    switch call.outcome {
                    case .answered(let response) where response.status >= 400:
                        .status(response.status)
                    case .answered, .pending: .asUsual
                    case .answerLost: .loseAnswer
                    case .failed, .requestCut: .reset
                    }
                }
            while answers.last == .asUsual { answers.removeLast() }
            return answers.isEmpty || answers.count > 20
                ? nil : ProviderPlan(provider: .oneSignal, answers: answers)
        }

        /// What the providers were told, each message with its number, and how many there were.
        private mutating func effects(_ exchanges: [Exchange]) -> [EffectExpectation] {
            let place = SourceLocation(path: options.source, line: 1, column: 1)
            /// What is told of one message is the same wherever it is told.
            struct Message: Hashable {
                let kind: String
                let audience: Audience
                let says: JSONValue
            }
            var found: [EffectExpectation] = []
            var places: [Message: Int] = [:]
            var totals: [String: Int] = hearsSilence ? ["onesignal.notification": 0] : [:]
            for effect in exchanges.flatMap(\.effects) {
                totals[effect.kind, default: 0] += 1
                let says = namer.answer(effect.content)
                let audience = audience(effect)
                let message = Message(kind: effect.kind, audience: audience, says: says)
                if let index = places[message] {
                    found[index].countMin += 1
                    found[index].countMax = found[index].countMin
                    continue
                }
                var expectation = EffectExpectation(
                    kind: effect.kind,
                    user: nil,
                    countMin: 1,
                    countMax: 1,
                    hasSteadyKey: false,
                    location: place
                )
                expectation.audience = audience
                expectation.says = says
                places[message] = found.count
                found.append(expectation)
            }
            for (kind, count) in totals.sorted(by: { $0.key < $1.key }) {
                var total = EffectExpectation(
                    kind: kind,
                    user: nil,
                    countMin: count,
                    countMax: count,
                    hasSteadyKey: false,
                    location: place
                )
                total.keyCount = keyCount(exchanges, kind)
                found.append(total)
            }
            return found
        }

        /// Exactly whom a message reached.
        private func audience(_ effect: Effect) -> Audience {
            var audience = Audience()
            for recipient in Set(effect.recipients) {
                if recipient == Audience.everyone {
                    audience.isEveryone = true
                } else if let user = users.userByID[recipient], !users.anonymous.contains(recipient)
                {
                    if !audience.users.contains(user) { audience.users.append(user) }
                } else {
                    audience.others += 1
                }
            }
            audience.users.sort()
            return audience
        }

        /// How many idempotency keys the calls for such effects carried; nil where any had none.
        private func keyCount(_ exchanges: [Exchange], _ kind: String) -> Int? {
            let keys = exchanges.filter { $0.from == .backend }
                .compactMap { Services.understood($0).call }
                .filter { $0.kind == kind }.map(\.idempotencyKey)
            return keys.isEmpty || keys.contains(nil) ? nil : Set(keys).count
        }
    }
}

extension Recording {
    /// When all of it took place, by a real clock and with some slack.
    var session: ClosedRange<Instant> {
        let last = exchanges.lazy.map { $0.completed ?? $0.invoked }.max() ?? 0
        return (header.began - .seconds(3))...(header.began + .microseconds(last) + .seconds(3))
    }

    /// Whether the backend sent anybody a message in it.
    var hasMessages: Bool { exchanges.contains { $0.from == .backend && !$0.effects.isEmpty } }
}
