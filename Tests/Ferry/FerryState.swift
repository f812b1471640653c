internal import Contracts
package import Providers
package import Redaction
package import Values

/// A provider that exists only in tests: a ferry company that sells passes and sends events.
///
/// This folder and the line in `ProviderTable.withFerry` are all that a new provider needs.
package struct FerryState: BackendService {
    package struct Settings: Hashable, Codable, Sendable {
        package enum Mood: String, Hashable, Codable, Sendable { case friendly, grumpy }

        package var mood = Mood.friendly
        package var nickname: String?
    }

    package static let party = Exchange.Party("ferry")
    package static let title = "Ferry"
    package static let defaultPort = 9377
    package static let secrets = SecretFieldNames(
        headers: [FerrySignature.fieldName],
        members: ["whisper"]
    )
    package static let affectsOtherFakes = true
    package static let hosts = [ServiceHost("api.ferry.example")]
    package static let hints = ProviderHints(environmentVariableNameParts: ["FERRY"])
    package static let contractTerms = ContractTerms(
        secrets: [
            ProfileSecret(.ferrySigning, "The secret that signs the events of the ferry company.")
        ],
        features: [.ferry, .ferrySignature],
        effects: [EffectKind("announcement")],
        plannedCalls: PlannedCalls(includesReads: true)
    )

    package static let operations = [
        ServiceOperation(
            interface: "Passes",
            method: "GET",
            path: "/passes",
            supportStatus: .served,
            isInAPIDescription: false,
            isValidated: false
        ),
        ServiceOperation(
            interface: "Passes",
            method: "POST",
            path: "/announcements",
            supportStatus: .served,
            isInAPIDescription: false,
            isValidated: false
        ),
    ]

    package static let controls = [
        ProviderControl(
            "poke",
            "POST",
            "/ferry/{who}",
            "Sells passes to a passenger.",
            members: [ControlMember("times", .integer, "The number of passes.")],
            sendsEvents: true
        ) { services, call, now throws(ControlRefusal) in
            guard call.value != "nobody" else { throw ControlRefusal(409, "no such passenger") }
            let times = call.body["times"]?.int64 ?? 1
            services.ferry.waiting += (0..<times).map { "\(call.value)-\($0)" }
            services.ferry.alarm = now + .seconds(60)
            return ["poked": .string(call.value)]
        }
    ]

    package static let additionalSwitches = [
        SwitchGroup("ferry-extra") {
            $0.ferry.settings
        } write: {
            $0.ferry.settings = $1
        }
    ]

    package var settings = Settings()
    package var calls: Int64 = 0
    /// The types of the events that are sent next.
    package var waiting: [String] = []
    /// The time of the next event that no operation causes.
    package var alarm: Instant?
    package var address: String?
    package var hasSecret = false
    /// The users whose events changed the state of the fake.
    package var applied: [String] = []
    package var hasKey = false

    package init(seed _: UInt64, key: Secret?) { hasKey = key != nil }

    package mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        plannedResponse _: ProviderPlan.PlannedResponse
    ) -> Reply {
        calls += 1
        var effects: [Effect] = []
        if request.method == "POST" {
            waiting.append("called-\(calls)")
            if let recipient = JSONValue(ifValid: request.body)?["to"]?.string {
                effects.append(
                    Effect(kind: "ferry.announcement", recipients: [recipient], content: [:])
                )
            }
        }
        return Reply(
            HTTPMessage.Response(
                200,
                json: ["calls": .integer(calls), "mood": .string(settings.mood.rawValue)]
            ),
            .inferred,
            of: Self.party.name,
            effects: effects
        )
    }

    package func failureResponse(
        _ status: Int,
        of _: HTTPMessage.Request
    ) -> HTTPMessage.Response {
        HTTPMessage.Response(status, json: ["ferry": "failure"])
    }

    package func failureResponse(code: String) -> HTTPMessage.Response? {
        code == "GRUMPY" ? HTTPMessage.Response(418, json: ["ferry": "code"]) : nil
    }

    package static func call(in exchange: Exchange) -> ProviderCall? {
        ProviderCall(kind: "ferry.call", idempotencyKey: exchange.request.path)
    }

    package static func caller(of request: HTTPMessage.Request) -> Exchange.Party {
        request.path.hasPrefix("/app") ? .app : .backend
    }

    package static func isCalled(by _: BackendTraits) -> Bool { true }

    package static func environment(_ setup: BackendSetup) -> [String: String] {
        setup.addresses[party].map { ["FERRY_BASE": $0] } ?? [:]
    }

    package mutating func copyConfiguration(from old: FerryState) {
        settings = old.settings
        address = old.address
    }

    package mutating func take(key: Secret?) { hasKey = key != nil }

    package static func settle(
        _ services: inout Services,
        at now: Instant
    ) -> [Services.InternalCall] {
        if let alarm = services.ferry.alarm, alarm <= now {
            services.ferry.alarm = nil
            services.ferry.waiting.append("alarm")
        }
        let types = services.ferry.waiting
        guard !types.isEmpty else { return [] }
        services.ferry.waiting = []
        guard services.ferry.address != nil else { return [] }
        for type in types {
            let event: JSONValue = ["type": .string(type)]
            services.queue.add(party, to: party.name, event: event, id: type, type: type, due: now)
        }
        return []
    }

    package var nextChangeTime: Instant? { alarm }
}

extension FerryState: PushService {
    package static let messageKind = "ferry.announcement"
}

extension Feature {
    package static let ferry = Feature(
        "ferry",
        "Receives the events of the ferry company.",
        roles: .optionalService,
        requirements: [.endpoint(FerryState.webhookEndpoint)]
    )
    package static let ferrySignature = Feature(
        "ferry-signature",
        "Requires the signature of the ferry company on its events.",
        requirements: [.secret(.ferrySigning), .endpoint(FerryState.webhookEndpoint)]
    )
}

extension SecretName {
    package static let ferrySigning = SecretName(rawValue: "ferry-signing")
}

extension Services {
    package var ferry: FerryState {
        get { self[AdditionalState<FerryState>()] }
        set { self[AdditionalState<FerryState>()] = newValue }
    }
}

extension ProviderTable {
    /// The line that a new provider needs.
    package static let withFerry = ProviderTable(
        ProviderTable.all.entries + [ProviderEntry(additional: FerryState.self)]
    )
}

extension Exchange.Party {
    package static let ferry = FerryState.party
}
