internal import ArgumentParser
internal import Contracts
internal import Foundation
internal import Grammar
internal import Providers
internal import Redaction
internal import Replay
internal import Values

struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Sends events to a URL, as RevenueCat would.",
        discussion: """
            Example:  assay send INITIAL_PURCHASE --to http://127.0.0.1:8080/api/webhooks/revenuecat
                      assay send TRANSFER --from ada --user bob --print
                      assay send RENEWAL --user ada    (through a running 'assay serve')
                      assay send RENEWAL --set event.price=4.99 --at -2h --to URL
                      assay send RENEWAL --times 20 --together --to URL
                      assay send --events yesterday.ndjson --to URL    (events of a log)
            """
    )

    @Argument(help: "The event type, for example RENEWAL; any other word is an unknown type.")
    var type: String?

    @Option(
        name: .long,
        help: "Send the bytes of this file unchanged, instead of a generated event."
    )
    var body: String?

    @Option(
        name: .long,
        help: "Send the events of this file: webhook bodies, one per line or in a JSON list."
    )
    var events: String?

    @Option(
        name: .long,
        help: """
            Set a field: event.price=4.99 or /event/aliases/0=ada. A value that is not valid JSON \
            is sent as a string.
            """
    )
    var set: [String] = []

    @Option(
        name: .long,
        // A value such as -2h starts with a dash, and is not a flag.
        parsing: .unconditional,
        help: "The time of the event, for example -2h or 2026-05-01T10:00:00Z."
    )
    var at: String?

    @Flag(
        name: .long,
        help: "Send all copies at the same time, each over a separate connection."
    )
    var together = false

    @Option(name: .long, help: "The URL of the webhook (default: the webhooks of 'assay serve').")
    var to: String?

    @Option(name: .long, help: "The URL of the control API of 'assay serve'.")
    var control = ControlClient.defaultURL

    @Option(name: .long, help: "The app_user_id of the customer.")
    var user: String = "assay-user"

    @Option(name: .long, help: "For TRANSFER: the app_user_id that loses the purchases.")
    var from: String?

    @Option(name: .long, help: "The product ID.")
    var product = "premium_monthly"

    @Option(name: .long, help: "The store, for example PLAY_STORE.")
    var store = "APP_STORE"

    @Option(name: .long, help: "The environment: PRODUCTION or SANDBOX.")
    var environment = "PRODUCTION"

    @Option(name: .long, help: "The cancel_reason or expiration_reason.")
    var reason: String?

    @Option(
        name: .long,
        parsing: .unconditional,
        help: "End of the paid period, for example +30d, -1h or 'never'."
    )
    var expires: String?

    @Option(
        name: .long,
        help: "The complete Authorization value (default: REVENUECAT_WEBHOOK_AUTH)."
    )
    var authorization: String?

    @Option(name: .long, help: "The signing secret (default: REVENUECAT_WEBHOOK_SECRET).")
    var signingSecret: String?

    @Option(name: .long, help: "The number of times to send the same bytes.")
    var times = 1

    @Option(name: .long, help: "A host other than loopback that may be called.")
    var allowHost: [String] = []

    @Option(name: .long, help: Setting.authority.help)
    var ca: String?

    @Flag(name: .long, help: "Print the body and send nothing.")
    var print = false

    mutating func run() async throws {
        let outgoingEvents = try outgoingEvents()
        if print { return printBodies(outgoingEvents) }
        guard let to else { return try await sendThroughServe(outgoingEvents) }
        guard (1...1000).contains(times) else {
            throw CommandFailure(.usage, "--times takes a number from 1 to 1000")
        }
        let url = try TargetURL(to, flag: "--to", allowed: allowHost)
        let environmentVariables = ProcessInfo.processInfo.environment
        let sender = RevenueCatSender(
            path: url.target,
            authorization: (authorization ?? environmentVariables["REVENUECAT_WEBHOOK_AUTH"]).map(
                Secret.init
            ),
            signingKey: (signingSecret ?? environmentVariables["REVENUECAT_WEBHOOK_SECRET"]).map(
                Secret.init
            )
        )
        let client = BackendClient(
            base: url.base,
            laneCount: together ? times : 1,
            authority: try TargetOptions.authority(ca)
        )
        var areAllDeliveriesAccepted = true
        for outgoingEvent in outgoingEvents {
            let outcomes = await outcomes(of: outgoingEvent, sender, client)
            for (number, outcome) in outcomes.enumerated() {
                Terminal.output(
                    "--> \(outgoingEvent.name) to \(to)"
                        + (times > 1 ? "  (\(number + 1) of \(times))" : "") + "\n"
                )
                switch outcome {
                case .answered(let response):
                    let isAccepted = RetrySchedule.revenueCat.isSuccess(response.status)
                    areAllDeliveriesAccepted = areAllDeliveriesAccepted && isAccepted
                    Terminal.output(
                        "<-- \(response.status)"
                            + (isAccepted
                                ? "\n" : "  RevenueCat accepts only 200 and would retry\n")
                    )
                case .failed(.refused, let text):
                    await client.close()
                    throw CommandFailure(.unreachable, "\(to): \(text)")
                case .failed(_, let text):
                    areAllDeliveriesAccepted = false
                    Terminal.output("<-- \(text)\n")
                case .pending, .answerLost, .requestCut:
                    areAllDeliveriesAccepted = false
                }
            }
        }
        await client.close()
        if !areAllDeliveriesAccepted { throw ExitCode(ExitStatus.failures.rawValue) }
    }

    private func printBodies(_ outgoingEvents: [OutgoingEvent]) {
        for outgoingEvent in outgoingEvents {
            Terminal.output(
                outgoingEvent.json?.prettyText
                    ?? String(decoding: outgoingEvent.bytes, as: UTF8.self)
            )
            Terminal.output("\n")
        }
    }

    /// Sends all copies of a webhook body, and returns the outcome of each request.
    private func outcomes(
        of outgoingEvent: OutgoingEvent,
        _ sender: RevenueCatSender,
        _ client: BackendClient
    ) async -> [Exchange.Outcome] {
        let responseTimeLimit = RetrySchedule.revenueCat.responseTimeout
        guard together else {
            var outcomes: [Exchange.Outcome] = []
            for _ in 0..<times {
                let request = sender.request(body: outgoingEvent.bytes, at: SuiteRun.now())
                outcomes.append(await client.send(request, within: responseTimeLimit))
            }
            return outcomes
        }
        let request = sender.request(body: outgoingEvent.bytes, at: SuiteRun.now())
        await client.openConnections(lanes: times, path: "/")
        return await withTaskGroup(of: (Int, Exchange.Outcome).self) { group in
            for lane in 0..<times {
                group.addTask {
                    (lane, await client.send(request, lane: lane, within: responseTimeLimit))
                }
            }
            var outcomes: [(Int, Exchange.Outcome)] = []
            for await outcome in group { outcomes.append(outcome) }
            return outcomes.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func sendThroughServe(_ outgoingEvents: [OutgoingEvent]) async throws {
        guard times == 1, !together else {
            throw CommandFailure(
                .usage,
                "--times and --together need --to URL: 'assay serve' sends once"
            )
        }
        let client = try ControlClient(control, allowed: allowHost)
        for outgoingEvent in outgoingEvents {
            guard let event = outgoingEvent.json?["event"] else {
                throw CommandFailure(
                    .usage,
                    "a body that is not an event can only be sent with --to URL"
                )
            }
            let reply = try await client.post("/events", ["event": event, "settle": true])
            guard ControlClient.printDeliveriesAndCheckSuccess(reply) else {
                throw ExitCode(ExitStatus.failures.rawValue)
            }
        }
    }

    // MARK: Events to send

    /// A webhook body to send.
    private struct OutgoingEvent {
        /// The type and ID of the event in the body, for the output.
        let name: String
        let bytes: [UInt8]
        /// The body as JSON; nil when it is not valid JSON.
        let json: JSONValue?

        init(_ json: JSONValue) {
            let event = json["event"]
            name =
                [event?["type"]?.string, event?["id"]?.string].compactMap(\.self)
                .joined(separator: " ")
            bytes = json.bytes
            self.json = json
        }

        init(name: String, bytes: [UInt8]) {
            (self.name, self.bytes) = (name, bytes)
            json = JSONValue(ifValid: bytes)
        }
    }

    private func outgoingEvents() throws -> [OutgoingEvent] {
        let givenSources = [type, body, events].compactMap(\.self)
        guard givenSources.count == 1 else {
            throw CommandFailure(
                .usage,
                givenSources.isEmpty
                    ? "nothing to send: give a type such as RENEWAL, --body FILE or --events FILE"
                    : "a type, --body and --events exclude each other"
            )
        }
        let edits = try set.map(Self.bodyEdit)
        if let body {
            let bytes = try Self.bytes(of: body)
            if edits.isEmpty { return [OutgoingEvent(name: body, bytes: bytes)] }
            guard let json = JSONValue(ifValid: bytes) else {
                throw CommandFailure(.usage, "'\(body)' is not JSON, so --set cannot change it")
            }
            return [OutgoingEvent(try Self.editedBody(json, edits))]
        }
        if let events {
            return try Self.events(in: events).map { OutgoingEvent(try Self.editedBody($0, edits)) }
        }
        return [OutgoingEvent(try Self.editedBody(try generatedBody(type ?? ""), edits))]
    }

    private static func bytes(of path: String) throws -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandFailure(.usage, "the file '\(path)' does not exist")
        }
        return Array(data)
    }

    /// Returns the webhook bodies of a file, which contains one JSON value, a JSON list, or one
    /// JSON value per line.
    private static func events(in path: String) throws -> [JSONValue] {
        let bytes = try bytes(of: path)
        let parsedEvents: [JSONValue]
        if let wholeFileJSON = JSONValue(ifValid: bytes) {
            parsedEvents = wholeFileJSON.array ?? [wholeFileJSON]
        } else {
            let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
            parsedEvents = try lines.enumerated().map { number, line in
                do {
                    return try JSONValue(parsing: Array(line.utf8))
                } catch {
                    throw CommandFailure(
                        .unparsable,
                        "\(path):\(number + 1): this line is not JSON: \(error)"
                    )
                }
            }
        }
        guard !parsedEvents.isEmpty else {
            throw CommandFailure(.nothingSelected, "'\(path)' contains no event")
        }
        return try parsedEvents.enumerated().map { number, value in
            // An export contains only events; a log contains complete webhook bodies, which contain
            // the events.
            if value["event"]?["type"] != nil { return value }
            if value["type"]?.string != nil, value["app_user_id"] != nil {
                return ["api_version": "1.0", "event": value]
            }
            throw CommandFailure(
                .unparsable,
                "\(path): value \(number + 1) is neither a webhook body nor an event: no 'type'"
            )
        }
    }

    private struct BodyEdit {
        let pointer: JSONPointer
        let value: JSONValue
    }

    private static func bodyEdit(_ text: String) throws -> BodyEdit {
        guard let equalsIndex = text.firstIndex(of: "="), equalsIndex > text.startIndex else {
            throw CommandFailure(
                .usage,
                "--set '\(text)' is not a field and a value, such as event.price=4.99"
            )
        }
        let pointerText = String(text[..<equalsIndex])
        let value = String(text[text.index(after: equalsIndex)...])
        let dottedPointer = JSONPointer(
            tokens: pointerText.split(separator: ".", omittingEmptySubsequences: false).map(
                String.init
            )
        )
        guard let pointer = pointerText.hasPrefix("/") ? JSONPointer(pointerText) : dottedPointer
        else {
            throw CommandFailure(
                .usage,
                "--set '\(pointerText)' is not a JSON pointer such as /event/price"
            )
        }
        return BodyEdit(
            pointer: pointer,
            value: JSONValue(ifValid: Array(value.utf8)) ?? .string(value)
        )
    }

    private static func editedBody(_ body: JSONValue, _ edits: [BodyEdit]) throws -> JSONValue {
        var body = body
        for bodyEdit in edits {
            body.set(bodyEdit.pointer, to: bodyEdit.value)
            guard body[bodyEdit.pointer] == bodyEdit.value else {
                throw CommandFailure(
                    .usage,
                    "--set: this body cannot have a value at \(bodyEdit.pointer)"
                )
            }
        }
        return body
    }

    /// Returns a webhook body with an event of a type, which the flags describe.
    private func generatedBody(_ type: String) throws -> JSONValue {
        guard !type.isEmpty else { throw CommandFailure(.usage, "the event type is empty") }
        let eventType = RevenueCatEventType(rawValue: type)
        if eventType.documented == nil,
            let nearestName = Suggestion.nearest(
                to: type,
                among: EventSpec.types
            )
        {
            Terminal.error(
                "assay: '\(type)' is sent as an unknown type; did you mean \(nearestName)?\n"
            )
        }
        guard EventSpec.stores.contains(store) else {
            throw CommandFailure(
                .usage,
                "--store '\(store)' is not one of \(EventSpec.stores.joined(separator: ", "))"
            )
        }
        var namespace = Namespace(name: SuiteRun.nonce(), idForm: .string)
        namespace.assign(user, to: "user")
        if let from { namespace.assign(from, to: "loser") }
        var eventSpec = EventSpec(type: eventType, user: "user", product: product)
        eventSpec.store = store
        eventSpec.environment = environment
        eventSpec.reason = reason
        if eventType.documented == .transfer {
            guard from != nil else { throw CommandFailure(.usage, "TRANSFER needs --from ID") }
            eventSpec.from = ["loser"]
            eventSpec.to = ["user"]
            eventSpec.user = nil
        }
        if let expires {
            if expires == "never" {
                eventSpec.isLifetime = true
            } else if let offset = Duration(contractText: expires) {
                eventSpec.expires = offset
            } else {
                throw CommandFailure(
                    .usage,
                    "--expires '\(expires)' is not a duration such as +30d"
                )
            }
        }
        var base = SuiteRun.now()
        if let at {
            if let offset = Duration(contractText: at) {
                base = base + offset
            } else if let moment = Instant(iso8601: at) {
                base = moment
            } else {
                throw CommandFailure(
                    .usage,
                    "--at '\(at)' is neither a duration such as -2h nor a time"
                )
            }
        }
        let context = EventContext(namespace: namespace, base: base)
        return EventFactory(context).body(eventSpec, name: "sent")
    }
}
