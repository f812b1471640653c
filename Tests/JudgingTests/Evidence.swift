import Contracts
import Judging
import Providers
import TestSupport
import Values

/// Swift Testing has an `Expectation` of its own.
typealias Expectation = Contracts.Expectation

/// Builds the evidence of one case by hand, so that a rule is tested without a backend.
struct EvidenceBuilder {
    var contract: Contract
    var profile: Profile
    var observability = RunRecord.Observability(
        arePushesObservable: true,
        areProbeChangesObservable: true,
        latency: .milliseconds(2)
    )
    var subject: [Exchange] = []
    var baselines: [[Exchange]] = []

    init(_ deliveries: [Delivery] = [SampleContract.purchase()], expectation: Expectation) {
        contract = SampleContract.contract(deliveries, expectation: expectation)
        profile = Profile()
        profile.probes = [
            Profile.Probe(
                name: "subscription",
                source: .get("/s/{{id}}"),
                readings: [
                    "access": Profile.FieldReading(
                        pointer: JSONPointer(tokens: ["access"]),
                        meaning: .value
                    ),
                    "expires": Profile.FieldReading(
                        pointer: JSONPointer(tokens: ["until"]),
                        meaning: .value
                    ),
                ],
                ignoredPointers: []
            )
        ]
    }

    static func delivery(
        _ name: String = "purchase",
        attempt: Int = 1,
        _ outcome: Exchange.Outcome = .answered(HTTPMessage.Response(200)),
        invoked: Int64 = 0,
        completed: Int64? = 1,
        body: JSONValue = ["event": ["id": "E1", "expiration_at_ms": 1_795_000_000_000]]
    ) -> Exchange {
        Exchange(
            from: .revenueCat,
            to: .backend,
            namespace: "n",
            purpose: .delivery(name: name, attempt: attempt),
            at: SampleContract.base,
            request: HTTPMessage.Request("POST", "/hook", body: body.bytes),
            sequence: attempt,
            invoked: invoked,
            completed: completed,
            outcome: outcome
        )
    }

    /// A push that a fake accepted; `text` may hold the user's id.
    static func push(
        to recipient: String,
        _ text: String = "Welcome",
        key: String? = "k"
    ) -> Exchange {
        var body: JSONObject = [:]
        if let key { body["idempotency_key"] = .string(key) }
        var exchange = Exchange(
            from: .backend,
            to: .oneSignal,
            namespace: "n",
            purpose: .call,
            at: SampleContract.base,
            request: HTTPMessage.Request(
                "POST",
                "/notifications",
                body: JSONValue.object(body).bytes
            ),
            outcome: .answered(HTTPMessage.Response(200)),
            effects: [
                Effect(
                    kind: "onesignal.notification",
                    recipients: [recipient],
                    content: ["contents": ["en": .string(text)]],
                    idempotencyKey: key
                )
            ]
        )
        exchange.call = ProviderCall(kind: "onesignal.notification", idempotencyKey: key)
        return exchange
    }

    static func probe(
        _ document: JSONValue?,
        status: Int = 200,
        name: String = "subscription",
        user: String = "ada"
    ) -> Exchange {
        Exchange(
            from: .assay,
            to: .backend,
            namespace: "n",
            purpose: .probe(name: name, user: user),
            at: SampleContract.base,
            request: HTTPMessage.Request("GET", "/s/x"),
            completed: 5,
            outcome: .answered(HTTPMessage.Response(status, body: document?.bytes ?? []))
        )
    }

    func id(of user: String, run: Int = 0) -> String {
        Namespace(name: "namespace-\(run)", idForm: .string).id(of: user)
    }

    private func record(_ plan: RunPlan, _ exchanges: [Exchange], run: Int) -> RunRecord {
        RunRecord(
            plan: plan,
            namespace: Namespace(name: "namespace-\(run)", idForm: .string),
            base: SampleContract.base,
            began: SampleContract.base + .seconds(3600),
            ended: SampleContract.base + .seconds(3610),
            exchanges: exchanges.map { $0.call == nil ? Services.recognizingCall($0) : $0 },
            settleEvidence: .sentinel(quietDuration: .milliseconds(10))
        )
    }

    var evidence: CaseEvidence {
        let plan = CasePlan(contract)
        return CaseEvidence(
            plan: plan,
            subject: record(plan.subject, subject, run: 0),
            baselines: baselines.enumerated().map {
                record(plan.baseline ?? plan.subject, $0.element, run: $0.offset + 1)
            },
            profile: profile,
            observability: observability
        )
    }

    /// Adds baseline runs that contain only the given exchanges, as `unlike`, `added` and
    /// `added-like` imply.
    mutating func addBaselineBeforeSteps(_ exchanges: [Exchange] = []) {
        contract.expectation.relation = .before
        contract.expectation.compared = []
        baselines = [exchanges]
    }

    func codes(_ rule: any Rule.Type) -> [FindingCode] {
        rule.findings(in: evidence).map(\.code)
    }
}
