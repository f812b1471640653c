package import Conformance

/// Writes a contract as the file that `ContractParser` reads back: intent first, one fact a line.
package enum ContractWriter {
    /// The text of the file, under that id.
    package static func text(_ contract: Contract, id: String) -> String {
        var lines = [
            "contract: \(scalar(id))", "title: \(scalar(contract.title))",
            "clause: \(contract.clause)",
        ]
        if contract.level != .must { lines.append("level: \(contract.level.rawValue)") }
        lines.append("source: \(scalar(contract.source))")
        if !contract.needs.isEmpty {
            lines.append("needs: [\(contract.needs.map(\.rawValue).joined(separator: ", "))]")
        }
        if let provenance = contract.provenance {
            lines.append("recorded: \(moment(provenance.recorded))")
            if let age = provenance.ageMax { lines.append("max-age: \(age.unsignedText)") }
        }
        contract.strangers.map { lines.append("strangers: [\($0.joined(separator: ", "))]") }
        if !contract.values.isEmpty {
            lines += ["", "values:"]
            for (name, value) in contract.values.sorted(by: { $0.key < $1.key }) {
                lines.append("  \(scalar(name)): \(flow(value))")
            }
        }
        if let search = contract.search { lines += ["", self.search(search)] }
        if !contract.given.isEmpty {
            lines += ["", "given:"] + contract.given.flatMap(step)
        }
        let steps = contract.steps.flatMap(step)
        lines += steps.isEmpty ? ["", "steps: []"] : ["", "steps:"] + steps
        lines += ["", "expect:"] + expectation(contract.expectation)
        return lines.joined(separator: "\n") + "\n"
    }

    /// A date alone means its midnight.
    static func moment(_ instant: Instant) -> String {
        let day = String(instant.description.prefix(10))
        return Instant(iso8601: day + "T00:00:00Z") == instant ? day : quoted(instant.preciseText)
    }

    static func search(_ search: Search) -> String {
        switch search {
        case .crashPoints(let faults):
            "crash-points: [\(faults.map { quoted($0.rawValue) }.joined(separator: ", "))]"
        case .orders(sampleSize: 40): "orders: every"
        case .orders(let size): "orders: \(size)"
        case .generated(let variation, let count):
            "vary: {what: \(variation.rawValue), times: \(count)}"
        }
    }

    // MARK: Steps

    static func step(_ step: Step) -> [String] {
        switch step {
        case .register(let user): ["  - register: \(user)"]
        case .name(let user, let id): ["  - name: {\(scalar(user)): \(scalar(id))}"]
        case .createAccount(let account): ["  - account: \(account)"]
        case .account(let user, let change): ["  - \(change.rawValue): \(user)"]
        case .rotateKeys: ["  - firebase: rotate-keys"]
        case .killAtCall(let party, let position):
            ["  - restart: {at-call: \(position), to: \(party)}"]
        case .phone(let step): phone(step)
        case .restart(let restart):
            restart.timeZone.map {
                ["  - restart: {signal: \(restart.signal.rawValue), time-zone: \(scalar($0))}"]
            } ?? ["  - restart: \(restart.signal.rawValue)"]
        case .provider(let plan): [provider(plan)]
        case .deliver(let delivery): self.delivery(delivery)
        case .request(let request): self.request(request)
        case .call(let calls):
            calls.count == 1
                ? call(calls[0], indent: "  ")
                : ["  - together:" + (calls.isEmpty ? " []" : "")]
                    + calls.flatMap { call($0, indent: "      ") }
        }
    }

    static func provider(_ plan: ProviderPlan) -> String {
        let answers = plan.answers.map { answer -> String in
            if case .status(let status) = answer { "\(status)" } else { scalar(answer.spelling) }
        }
        // Of the other providers a backend only reads, and every call counts.
        let reads = plan.provider == .oneSignal && plan.includesReads ? ", reads: true" : ""
        let tail = plan.isPermanent ? ", forever: true" : ""
        return
            "  - \(plan.provider): {answers: [\(answers.joined(separator: ", "))]\(tail)\(reads)}"
    }

    static func delivery(_ delivery: Delivery) -> [String] {
        var lines = ["  - deliver: \(scalar(delivery.name))"]
        func add(_ key: String, _ value: String) { lines.append("    \(key): \(value)") }
        switch delivery.subject {
        case .event, .body, .raw, .told:
            if delivery.provider != .revenueCat { add("to", delivery.provider.description) }
        // The event's own provider, or that of the delivery it repeats.
        case .purchasely, .repeats: break
        }
        switch delivery.subject {
        case .event(let spec): add("event", flow(event(spec)))
        case .purchasely(let spec): add("purchasely", flow(event(spec)))
        case .body(let value):
            lines += json("body", value, indent: 4)
        case .raw(.text(let text)): add("raw", quoted(text))
        case .raw(.truncated(let spec, let percent)):
            add("event", flow(event(spec)))
            add("cut-body-at", "\(percent)")
        case .repeats(let name): add("repeats", scalar(name))
        case .told(let type): add("told", type)
        }
        let kept = delivery.edits.filter { $0.value != nil }
        if !kept.isEmpty {
            lines.append("    set:")
            for edit in kept {
                lines.append(
                    "      \(scalar(edit.pointer.description)): \(edit.value.map(flow) ?? "null")"
                )
            }
        }
        let removed = delivery.edits.filter { $0.value == nil }
        if !removed.isEmpty {
            let places = removed.map { scalar($0.pointer.description) }.joined(separator: ", ")
            add("remove", "[\(places)]")
        }
        if delivery.paddingKilobytes > 0 { add("padding", "\(delivery.paddingKilobytes)") }
        if delivery.nesting > 0 { add("nesting", "\(delivery.nesting)") }
        if delivery.times > 1 { add("times", "\(delivery.times)") }
        if delivery.isTogether { add("together", "true") }
        if delivery.delay != .zero { add("at", delivery.delay.contractText) }
        if delivery.isAlongLadder { add("along", "ladder") }
        if delivery.answersLost > 0 { add("lose-answers", "\(delivery.answersLost)") }
        if delivery.requestsCut > 0 { add("cut-requests", "\(delivery.requestsCut)") }
        if delivery.hangUps > 0 { add("hang-ups", "\(delivery.hangUps)") }
        if delivery.authorization != .configured {
            add("authorization", delivery.authorization.rawValue)
        }
        if delivery.signature != .configured { add("signature", delivery.signature.rawValue) }
        if delivery.shufflesKeys { add("keys", "shuffled") }
        if delivery.isDropped { add("dropped", "true") }
        if let pattern = delivery.answerPattern {
            lines += answer(pattern)
        } else if let answers = delivery.answers {
            add("answers", self.answers(answers))
        }
        if let crash = delivery.crash {
            lines.append(
                "  - restart: {signal: \(crash.signal.rawValue), during: \(scalar(delivery.name)), "
                    + "moment: \(crash.moment.rawValue)}"
            )
        }
        return lines
    }

    // MARK: Requests and answers

    static func request(_ request: AppRequest) -> [String] {
        var lines = [
            "  - request: \(scalar(request.name))",
            "    send: \(scalar(request.method + " " + request.target))",
        ]
        if !request.fields.isEmpty {
            lines.append(
                "    headers: " + flow(request.fields.map { (scalar($0.name), quoted($0.value)) })
            )
        }
        lines += body(request.body, indent: 4)
        if let pattern = request.answer { lines += answer(pattern) }
        return lines
    }

    static func answer(_ pattern: AnswerPattern) -> [String] {
        guard !pattern.fields.isEmpty || pattern.body != nil else {
            return ["    answer: \(pattern.status)"]
        }
        var lines = ["    answer:", "      status: \(pattern.status)"]
        if !pattern.fields.isEmpty {
            lines.append(
                "      headers: " + flow(pattern.fields.map { (scalar($0.name), quoted($0.value)) })
            )
        }
        return lines + body(pattern.body, indent: 6)
    }

    static func body(_ body: AppRequest.Body?, indent: Int) -> [String] {
        switch body {
        case .json(let value): json("body", value, indent: indent)
        case .text(let text):
            [String(repeating: " ", count: indent) + "text: \(quoted(text))"]
        case nil: []
        }
    }

    /// JSON is YAML: on one line where it fits, else a member a line.
    static func json(_ key: String, _ value: JSONValue, indent: Int) -> [String] {
        let space = String(repeating: " ", count: indent)
        let short = "\(space)\(key): \(flow(value))"
        if short.count <= lineWidth { return [short] }
        let lines = escaped(value.prettyText).split(separator: "\n").map(String.init)
        return ["\(space)\(key):"] + lines.map { "\(space)  \($0)" }
    }

    static let lineWidth = 100

    static func event(_ spec: EventSpec) -> [(String, String)] {
        let plain = EventSpec(type: spec.type, user: spec.user)
        var fields = [("type", scalar(spec.type))]
        if let user = spec.user { fields.append(("user", user)) }
        if spec.knownBy != plain.knownBy { fields.append(("known-by", spec.knownBy.rawValue)) }
        if !spec.from.isEmpty { fields.append(("from", "[\(spec.from.joined(separator: ", "))]")) }
        if !spec.to.isEmpty { fields.append(("to", "[\(spec.to.joined(separator: ", "))]")) }
        if spec.product != plain.product { fields.append(("product", scalar(spec.product))) }
        if let product = spec.newProduct { fields.append(("new-product", scalar(product))) }
        if spec.store != plain.store { fields.append(("store", spec.store)) }
        if spec.environment != plain.environment {
            fields.append(("environment", spec.environment))
        }
        if spec.period != plain.period { fields.append(("period", spec.period)) }
        if let reason = spec.reason { fields.append(("reason", scalar(reason))) }
        if spec.time != .zero { fields.append(("time", spec.time.contractText)) }
        if let time = spec.purchased { fields.append(("purchased", time.contractText)) }
        if spec.isLifetime {
            fields.append(("expires", "null"))
        } else if let time = spec.expires {
            fields.append(("expires", time.contractText))
        }
        if let time = spec.grace { fields.append(("grace", time.contractText)) }
        return fields
    }

    static func event(_ spec: PurchaselySpec) -> [(String, String)] {
        let plain = PurchaselySpec(name: spec.name, user: spec.user)
        var fields = [("name", scalar(spec.name)), ("user", spec.user)]
        if spec.isAnonymous { fields.append(("anonymous", "true")) }
        if spec.plan != plain.plan { fields.append(("plan", scalar(spec.plan))) }
        if let plan = spec.previousPlan { fields.append(("previous-plan", scalar(plan))) }
        if spec.subscription != plain.subscription {
            fields.append(("subscription", scalar(spec.subscription)))
        }
        if spec.purchaseType != plain.purchaseType {
            fields.append(("purchase-type", spec.purchaseType))
        }
        if spec.store != plain.store { fields.append(("store", spec.store)) }
        if spec.environment != plain.environment {
            fields.append(("environment", spec.environment))
        }
        if let status = spec.status { fields.append(("status", scalar(status))) }
        if let other = spec.other { fields.append(("other", other)) }
        if spec.time != .zero { fields.append(("time", spec.time.contractText)) }
        if let time = spec.purchased { fields.append(("purchased", time.contractText)) }
        if let time = spec.expires { fields.append(("expires", time.contractText)) }
        if let time = spec.renews { fields.append(("renews", time.contractText)) }
        return fields
    }

    static func call(_ call: Call, indent: String) -> [String] {
        var lines = [
            "\(indent)- call: \(scalar(call.name))", "\(indent)  route: \(call.route.rawValue)",
        ]
        if let user = call.user { lines.append("\(indent)  user: \(user)") }
        if let account = call.account { lines.append("\(indent)  account: \(account)") }
        if !call.values.isEmpty {
            let fields = call.values.sorted { $0.key < $1.key }
                .map { ($0.key, $0.value.map(quoted) ?? "null") }
            lines.append("\(indent)  with: \(flow(fields))")
        }
        if let token = call.token, token != TokenSpec() || call.route != .protected {
            var fields: [(String, String)] = []
            if token.kind != .idToken { fields.append(("kind", token.kind.rawValue)) }
            if token.signing != .genuine { fields.append(("signing", token.signing.rawValue)) }
            if !token.claims.isEmpty {
                let claims = token.claims.sorted { $0.key < $1.key }
                    .map { (scalar($0.key), $0.value.map(flow) ?? "null") }
                fields.append(("claims", flow(claims)))
            }
            if let raw = token.raw { fields.append(("raw", quoted(raw))) }
            lines.append("\(indent)  token: \(flow(fields))")
        }
        if let answers = call.answers {
            lines.append("\(indent)  answers: \(self.answers(answers))")
        }
        return lines
    }
}
