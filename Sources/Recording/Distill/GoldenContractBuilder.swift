internal import ContractFiles
internal import Contracts
internal import Providers
internal import Values

extension Distiller {
    /// Builds a golden contract, which expects the recorded responses, from the exchanges of one
    /// group of related users.
    ///
    /// The exchanges of a group include the requests that the backend sent to providers because of
    /// these users.
    struct GoldenContractBuilder {
        /// Names of headers that do not affect the backend and are left out of golden contracts.
        private static let ignoredHeaders: Set<String> = [
            "host", "user-agent", "accept", "accept-encoding", "accept-language", "content-length",
            "connection", "date", "server", "via", "x-request-id", "traceparent", "tracestate",
            "origin",
            "referer", "cache-control", "pragma", "dnt", "te", "transfer-encoding", "keep-alive",
            "expect", "upgrade-insecure-requests", "x-forwarded-for", "x-forwarded-proto",
            "x-forwarded-host", "x-real-ip", "forwarded", "priority",
        ]

        /// Names of the response headers that golden contracts compare, because clients act on
        /// them.
        private static let comparedResponseHeaders: Set<String> = [
            "location", "set-cookie", "retry-after", "cache-control",
        ]
        /// The maximum length in bytes of a text body in a golden contract.
        private static let textBytesMax = 16 << 10

        let users: SessionUsers
        let recording: Recording
        let options: Options
        private var useCountByName: [String: Int] = [:]
        private var namer: TemplateNamer
        /// The time from which the relative times in the contract are counted; nil derives the time
        /// from the recorded session.
        var base: Instant?
        /// The period of the recorded session in real time, widened by a few seconds at both ends.
        private let session: ClosedRange<Instant>
        /// Whether the contract checks that the backend sends no push messages except the recorded
        /// ones.
        ///
        /// This is false when the whole session has no message, because the recorded backend may
        /// not send messages at all.
        private let expectsNoOtherMessages: Bool
        /// The reasons why the backend refused webhook deliveries in the recorded session.
        private let refusals: WebhookRefusals
        /// The features that a backend must have so that the contract applies, such as push
        /// messages.
        private var needs: Set<Feature> = []
        /// The suffix of the contract's ID when one session produces several contracts.
        var suffix = ""
        /// Notes about parts of the recorded session that the contract does not check.
        private(set) var notes: [String] = []

        init(
            users: SessionUsers,
            recording: Recording,
            refusals: WebhookRefusals,
            session: ClosedRange<Instant>,
            expectsNoOtherMessages: Bool,
            options: Options
        ) {
            self.users = users
            self.recording = recording
            self.options = options
            self.expectsNoOtherMessages = expectsNoOtherMessages
            self.refusals = refusals
            let began = recording.header.began
            self.session = session
            namer = TemplateNamer(
                users: users,
                sessionTimes: SessionTimeline(base: began),
                session: session,
                valuesReusedLater: []
            )
        }

        /// Builds the golden contract of one group of related users.
        ///
        /// - Parameters:
        ///   - positions: The indices of the group's exchanges that were sent to the backend.
        ///   - calls: The indices of the exchanges that the backend sent to providers because of
        ///     the group.
        /// - Returns: The contract of the group; nil when nothing was sent to the backend.
        mutating func contract(_ positions: [Int], calls: [Int]) -> Contract? {
            guard !positions.isEmpty else { return nil }
            namer = namer(positions)
            let exchanges = positions.lazy.map { [recording] in recording.exchanges[$0] }
            let calls = calls.map { recording.exchanges[$0] }
            var steps: [Step] = []
            steps.reserveCapacity(positions.count)
            var deliveries: [String: (name: String, body: [UInt8])] = [:]
            let repeatedReads = repeatedReads(exchanges)
            let volatileMembers = volatilePointers(exchanges, repeatedReads)
            for (index, exchange) in exchanges.enumerated() where !repeatedReads.contains(index) {
                if exchange.from == .app {
                    steps.append(request(exchange, volatileMembers[index] ?? []))
                } else {
                    steps.append(delivery(exchange, &deliveries))
                }
            }
            var expectation = Expectation(responses: .statuses([200]))
            expectation.effects = effects(calls)
            if expectation.effects.contains(where: { $0.countMin > 0 }) { needs.insert(.push) }
            let recordingDay = recording.header.began.description.prefix(10)
            let location = SourceLocation(path: options.source, line: 1, column: 1)
            var contract = Contract(
                id: options.id + suffix,
                variant: "",
                title: "",
                clause: "G-01",
                level: .must,
                source: options.source,
                needs: Feature.allCases.filter(needs.contains),
                given: ProviderTable.all.pushServices.compactMap { service in
                    faultPlan(of: service.party, calls).map { .provider($0) }
                },
                steps: steps,
                expectation: expectation,
                location: location
            )
            contract.provenance = Provenance(
                recorded: Instant(iso8601: recordingDay + "T00:00:00Z") ?? recording.header.began,
                ageMax: options.ageMax,
                location: location
            )
            contract.values = namer.values
            contract.title = contract.goldenTitle
            return contract
        }

        private func namer(_ positions: [Int]) -> TemplateNamer {
            let texts = positions.concurrentMap { [recording] in
                RequestTexts(recording.exchanges[$0])
            }
            let exchanges = positions.lazy.map { recording.exchanges[$0] }
            return TemplateNamer(
                users: users,
                sessionTimes: base.map(SessionTimeline.init(base:))
                    ?? SessionTimeline(exchanges, texts, began: recording.header.began),
                session: session,
                // The values in all requests except the first one: only these requests can repeat a
                // value of a response.
                valuesReusedLater: Set(texts.dropFirst().lazy.flatMap(\.values))
            )
        }

        /// Returns the indices of GET requests that the next exchange repeats, as a polling client
        /// does.
        ///
        /// The contract omits these requests, because their number and their responses depend on
        /// timing.
        private func repeatedReads(_ exchanges: some Collection<Exchange>) -> Set<Int> {
            Set(
                zip(exchanges, exchanges.dropFirst()).enumerated().filter { _, exchangePair in
                    isSameRead(exchangePair.0, exchangePair.1)
                }.map(\.offset)
            )
        }

        /// Returns whether two requests are the same GET request of the same caller.
        private func isSameRead(_ left: Exchange, _ right: Exchange) -> Bool {
            left.request.method == "GET" && right.request.method == "GET"
                && left.request.target == right.request.target
                && relevantHeaders(left.request.fields) == relevantHeaders(right.request.fields)
        }

        private func relevantHeaders(_ fields: [HTTPMessage.Field]) -> [HTTPMessage.Field] {
            fields.filter { field in
                let key = field.name.lowercased()
                return !Self.ignoredHeaders.contains(key) && !key.hasPrefix("sec-")
                    && !key.hasPrefix("x-assay")
            }
        }

        /// Returns the JSON paths in responses whose values differ between two equal consecutive
        /// GET requests, by the index of the exchange.
        private func volatilePointers(
            _ exchanges: some RandomAccessCollection<Exchange>,
            _ repeatedReads: Set<Int>
        ) -> [Int: [JSONPointer]] {
            var positions: [Int: [JSONPointer]] = [:]
            for index in repeatedReads.sorted() {
                let pairStart = exchanges.index(exchanges.startIndex, offsetBy: index)
                let exchangePair = (
                    exchanges[pairStart], exchanges[exchanges.index(after: pairStart)]
                )
                guard exchangePair.0.response?.status == exchangePair.1.response?.status,
                    exchangePair.0.response?.body != exchangePair.1.response?.body,
                    let left = (exchangePair.0.response?.body).flatMap({
                        JSONValue(ifValid: $0)
                    }),
                    let right = (exchangePair.1.response?.body).flatMap({
                        JSONValue(ifValid: $0)
                    })
                else { continue }
                let differingPointers = left.differences(from: right).map(\.pointer)
                positions[index, default: []] += differingPointers
                positions[index + 1, default: []] += differingPointers
            }
            return positions
        }

        // MARK: Steps

        private mutating func uniqueName(_ name: String) -> String {
            useCountByName[name, default: 0] += 1
            let count = useCountByName[name] ?? 1
            return count == 1 ? name : "\(name)-\(count)"
        }

        private mutating func request(_ exchange: Exchange, _ volatileMembers: [JSONPointer])
            -> Step
        {
            let target = namer.target(exchange.request.target)
            // The step is named after its method and path: `get-subscriptions` for GET
            // /api/subscriptions/{{user.ada}}.
            let pathWords = exchange.request.path.split(separator: "/").map(String.init)
                .filter { word in
                    word.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "-" || $0 == "_") }
                        && users.userByID[word] == nil
                }
            let name = ([exchange.request.method.lowercased()] + pathWords.suffix(1))
                .joined(separator: "-")
            var request = AppRequest(
                name: uniqueName(name),
                method: exchange.request.method,
                target: target
            )
            let type = exchange.request[field: "content-type"] ?? ""
            for field in relevantHeaders(exchange.request.fields) {
                let key = field.name.lowercased()
                if key == "content-type", type.hasPrefix("application/json") { continue }
                request.fields.append(HTTPMessage.Field(key, namer.text(field.value)))
            }
            if let value = exchange.request.bodyJSON {
                request.body = .json(namer.request(value))
            } else if let text = String(validating: exchange.request.body, as: UTF8.self),
                !text.isEmpty
            {
                request.body = .text(namer.text(text))
            }
            request.answer = pattern(exchange, volatileMembers)
            return .request(request)
        }

        private mutating func delivery(
            _ exchange: Exchange,
            _ deliveries: inout [String: (name: String, body: [UInt8])]
        ) -> Step {
            let body = exchange.request.bodyJSON
            let event = body?["event"] ?? body
            let type = event?["type"]?.string ?? event?["event_name"]?.string ?? "event"
            let eventID = event?["id"]?.string ?? event?["event_id"]?.string
            let name = uniqueName(type.lowercased().replacing("_", with: "-"))
            var delivery: Delivery
            if let eventID, let earlierDelivery = deliveries[eventID],
                earlierDelivery.body == exchange.request.body
            {
                delivery = Delivery(name: name, subject: .repeats(earlierDelivery.name))
            } else if let body {
                if let eventID {
                    deliveries[eventID] = (name, exchange.request.body)
                    namer.name(eventID: eventID, of: name)
                }
                delivery = Delivery(name: name, subject: .body(bodyWithTemplates(body)))
            } else {
                let text = String(decoding: exchange.request.body, as: UTF8.self)
                delivery = Delivery(name: name, subject: .raw(.text(text)))
            }
            delivery.provider = exchange.from
            applyCredentials(exchange, &delivery)
            let pattern = pattern(exchange, [])
            delivery.responsePattern = pattern
            delivery.responses = .statuses([pattern.status])
            return .deliver(delivery)
        }

        /// Gives a delivery of the contract the same kind of credentials as the recorded delivery
        /// had, for example a wrong signature.
        private mutating func applyCredentials(_ exchange: Exchange, _ delivery: inout Delivery) {
            guard
                case .credentials(let authorization, let signature) = refusals.interpretation(
                    of: exchange
                )
            else {
                let sender = Services.provider(exchange.from)?.sender
                if sender?.format.sendsAuthorization == true,
                    exchange.request[field: "authorization"] == nil
                {
                    delivery.authorization = .missing
                }
                return
            }
            (delivery.authorization, delivery.signature) = (authorization, signature)
            needs.formUnion(delivery.requiredCredentialFeatures)
        }

        /// Returns the body of a webhook event with templates such as `{{user.ada}}` in place of
        /// recorded values.
        ///
        /// The ID of the event becomes the template `{{event-id.NAME}}`, where `NAME` is the name
        /// of the delivery.
        private mutating func bodyWithTemplates(_ body: JSONValue) -> JSONValue {
            var templatedValue = namer.request(body)
            for location in ["/event/id", "/id", "/event_id"] {
                guard let pointer = JSONPointer(location), let id = body[pointer]?.string,
                    let template = namer.eventTemplate(id)
                else { continue }
                templatedValue.set(pointer, to: .string(template))
            }
            return templatedValue
        }

        private mutating func pattern(
            _ exchange: Exchange,
            _ volatileMembers: [JSONPointer]
        ) -> ResponsePattern {
            let location = SourceLocation(path: options.source, line: 1, column: 1)
            guard let response = exchange.response else {
                return ResponsePattern(status: 0, location: location)
            }
            var pattern = ResponsePattern(status: response.status, location: location)
            let value = response.bodyJSON
            for field in response.fields {
                let key = field.name.lowercased()
                // The contract needs no content type for a JSON body, which implies it, or for an
                // empty body, which has none.
                let isContentTypeOfText =
                    key == "content-type" && value == nil && !response.body.isEmpty
                guard Self.comparedResponseHeaders.contains(key) || isContentTypeOfText else {
                    continue
                }
                pattern.fields.append(HTTPMessage.Field(key, namer.responseText(field.value)))
            }
            if let value {
                var templatedValue = namer.answer(value)
                for pointer in volatileMembers where templatedValue[pointer] != nil {
                    templatedValue.set(pointer, to: "{{any}}")
                }
                pattern.body = .json(templatedValue)
            } else if let text = Self.text(of: response) {
                pattern.body = .text(namer.responseText(text))
            } else if !response.body.isEmpty {
                let kind = response[field: "content-type"] ?? "no content type"
                notes.append(
                    "\(exchange.request.method) \(exchange.request.path): the response body is "
                        + "not compared (\(kind), \(response.body.count) bytes)"
                )
            }
            return pattern
        }

        /// Returns a response body as text, such as HTML, CSV or XML; nil for binary data and for a
        /// body of more than 16 KiB.
        private static func text(of response: HTTPMessage.Response) -> String? {
            guard (1...textBytesMax).contains(response.body.count) else { return nil }
            let text = String(validating: response.body, as: UTF8.self)
            return text.flatMap { text in
                text.unicodeScalars.contains {
                    $0.value < 32 && !"\t\n\r".unicodeScalars.contains($0)
                }
                    ? nil : text
            }
        }

        // MARK: Effects

        /// Returns a plan with which the fake of a push service fails the same calls as the service
        /// did in the recorded session.
        ///
        /// It is nil when no call failed, or when the plan would have more than 20 responses.
        private func faultPlan(of provider: Exchange.Party, _ calls: [Exchange]) -> ProviderPlan? {
            var responses = calls.filter { $0.to == provider && $0.request.method != "GET" }
                .map { call -> ProviderPlan.PlannedResponse in
                    switch call.outcome {
                    case .answered(let response) where response.status >= 400:
                        .status(response.status)
                    case .answered, .pending: .asUsual
                    case .answerLost: .lostResponse
                    case .failed, .requestCut: .reset
                    }
                }
            while responses.last == .asUsual { responses.removeLast() }
            return responses.isEmpty || responses.count > 20
                ? nil : ProviderPlan(provider: provider, responses: responses)
        }

        /// Returns the messages that the contract expects: each recorded message with its count,
        /// and the total number of messages of each kind.
        private mutating func effects(_ exchanges: [Exchange]) -> [EffectExpectation] {
            let location = SourceLocation(path: options.source, line: 1, column: 1)
            /// A recorded message; equal messages become one expectation with a count.
            struct RecordedMessage: Hashable {
                let kind: String
                let audience: Audience
                let expectedContent: JSONValue
            }
            var expectations: [EffectExpectation] = []
            var positions: [RecordedMessage: Int] = [:]
            let messageKinds = expectsNoOtherMessages ? ProviderTable.all.pushServices : []
            var messageCountByKind = Dictionary(
                uniqueKeysWithValues: messageKinds.map { ($0.messageKind, 0) }
            )
            for effect in exchanges.flatMap(\.effects) {
                messageCountByKind[effect.kind, default: 0] += 1
                let expectedContent = namer.answer(effect.content)
                let audience = audience(effect)
                let message = RecordedMessage(
                    kind: effect.kind,
                    audience: audience,
                    expectedContent: expectedContent
                )
                if let index = positions[message] {
                    expectations[index].countMin += 1
                    expectations[index].countMax = expectations[index].countMin
                    continue
                }
                var expectation = EffectExpectation(
                    kind: effect.kind,
                    user: nil,
                    countMin: 1,
                    countMax: 1,
                    requiresSameIdempotencyKey: false,
                    location: location
                )
                expectation.audience = audience
                expectation.expectedContent = expectedContent
                positions[message] = expectations.count
                expectations.append(expectation)
            }
            for (kind, count) in messageCountByKind.sorted(by: { $0.key < $1.key }) {
                var totalExpectation = EffectExpectation(
                    kind: kind,
                    user: nil,
                    countMin: count,
                    countMax: count,
                    requiresSameIdempotencyKey: false,
                    location: location
                )
                totalExpectation.idempotencyKeyCount = idempotencyKeyCount(exchanges, kind)
                expectations.append(totalExpectation)
            }
            return expectations
        }

        /// Returns the recipients of a message: the users by name, and the number of other
        /// recipients.
        private func audience(_ effect: Effect) -> Audience {
            var audience = Audience()
            for recipient in Set(effect.recipients) {
                if recipient == Effect.everyoneRecipientID {
                    audience.isEveryone = true
                } else if let user = users.userByID[recipient],
                    !users.anonymousIDs.contains(recipient)
                {
                    if !audience.users.contains(user) { audience.users.append(user) }
                } else {
                    audience.otherRecipientCount += 1
                }
            }
            audience.users.sort()
            return audience
        }

        /// Returns the number of different idempotency keys in the backend's calls that cause one
        /// kind of effect, such as push messages.
        ///
        /// It is nil when any of these calls has no idempotency key.
        private func idempotencyKeyCount(_ exchanges: [Exchange], _ kind: String) -> Int? {
            let idempotencyKeys = exchanges.filter { $0.from == .backend }
                .compactMap { Services.recognizingCall($0).call }
                .filter { $0.kind == kind }.map(\.idempotencyKey)
            return idempotencyKeys.isEmpty || idempotencyKeys.contains(nil)
                ? nil : Set(idempotencyKeys).count
        }
    }
}

extension Recording {
    /// The period of the recorded session in real time, widened by three seconds at both ends.
    var session: ClosedRange<Instant> {
        let lastMicroseconds = exchanges.lazy.map { $0.completed ?? $0.invoked }.max() ?? 0
        return
            (header.began - .seconds(3))...(header.began + .microseconds(lastMicroseconds)
            + .seconds(3))
    }

    /// Whether the backend sent a message to any user in the recorded session.
    var hasMessages: Bool { exchanges.contains { $0.from == .backend && !$0.effects.isEmpty } }
}
