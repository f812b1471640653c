package import Conformance

/// Writes a contract as the file that `ContractParser` reads back: intent first, one fact a line.
package enum ContractWriter {
    /// The text of the file, under that id.
    package static func text(_ contract: Contract, id: String) -> String {
        var lines = [
            "contract: \(id)", "title: \(scalar(contract.title))", "clause: \(contract.clause)",
        ]
        if contract.level != .must { lines.append("level: \(contract.level.rawValue)") }
        lines.append("source: \(scalar(contract.source))")
        if !contract.needs.isEmpty {
            lines.append("needs: [\(contract.needs.map(\.rawValue).joined(separator: ", "))]")
        }
        if let provenance = contract.provenance {
            lines.append("recorded: \(provenance.recorded.description.prefix(10))")
            if let age = provenance.ageMax { lines.append("max-age: \(age.unsignedText)") }
        }
        contract.strangers.map { lines.append("strangers: [\($0.joined(separator: ", "))]") }
        if !contract.values.isEmpty {
            lines += ["", "values:"]
            for (name, value) in contract.values.sorted(by: { $0.key < $1.key }) {
                lines.append("  \(name): \(value.text)")
            }
        }
        if !contract.given.isEmpty {
            lines += ["", "given:"] + contract.given.flatMap(step)
        }
        lines += ["", "steps:"] + contract.steps.flatMap(step)
        lines += ["", "expect:"] + expectation(contract.expectation)
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Steps

    private static func step(_ step: Step) -> [String] {
        switch step {
        case .register(let user): ["  - register: \(user)"]
        case .name(let user, let id): ["  - name: {\(user): \(scalar(id))}"]
        case .createAccount(let account): ["  - account: \(account)"]
        case .account(let user, let change): ["  - \(change.rawValue): \(user)"]
        case .rotateKeys: ["  - firebase: rotate-keys"]
        // Nothing that is found or distilled has them.
        case .killAtCall, .phone: []
        case .restart(let restart):
            restart.timeZone.map {
                ["  - restart: {signal: \(restart.signal.rawValue), time-zone: \($0)}"]
            } ?? ["  - restart: \(restart.signal.rawValue)"]
        case .provider(let plan): [provider(plan)]
        case .deliver(let delivery): self.delivery(delivery)
        case .request(let request): self.request(request)
        case .call(let calls):
            calls.count == 1
                ? call(calls[0], indent: "  ")
                : ["  - together:"] + calls.flatMap { call($0, indent: "      ") }
        }
    }

    private static func provider(_ plan: ProviderPlan) -> String {
        let answers = plan.answers.map { answer -> String in
            switch answer {
            case .status(let status): "\(status)"
            case .slow: "slow"
            case .hang: "hang"
            case .code(let code): scalar(code)
            default: VariantParser.providerAnswers.first { $0.value == answer }?.key ?? "ok"
            }
        }
        let tail = plan.isPermanent ? ", forever: true" : ""
        return "  - \(plan.provider): {answers: [\(answers.joined(separator: ", "))]\(tail)}"
    }

    private static func delivery(_ delivery: Delivery) -> [String] {
        var lines = ["  - deliver: \(delivery.name)"]
        func add(_ key: String, _ value: String) { lines.append("    \(key): \(value)") }
        switch delivery.subject {
        case .event(let spec): add("event", flow(event(spec)))
        case .purchasely(let spec): add("purchasely", flow(event(spec)))
        case .body(let value):
            if delivery.provider != .revenueCat { add("to", delivery.provider.description) }
            lines += json("body", value, indent: 4)
        case .raw(.text(let text)): add("raw", quoted(text))
        case .raw(.truncated(let spec, let percent)):
            add("event", flow(event(spec)))
            add("cut-body-at", "\(percent)")
        case .repeats(let name): add("repeats", name)
        case .told(let type): add("told", type)
        }
        let kept = delivery.edits.filter { $0.value != nil }
        if !kept.isEmpty {
            lines.append("    set:")
            for edit in kept {
                lines.append(
                    "      \(scalar(edit.pointer.description)): \(edit.value?.text ?? "null")"
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
        if delivery.isDropped { add("dropped", "true") }
        if let pattern = delivery.answerPattern {
            lines += answer(pattern)
        } else if let answers = delivery.answers {
            add("answers", self.answers(answers))
        }
        if let crash = delivery.crash {
            lines.append(
                "  - restart: {signal: \(crash.signal.rawValue), during: \(delivery.name), "
                    + "moment: \(crash.moment.rawValue)}"
            )
        }
        return lines
    }

    // MARK: Requests and answers

    private static func request(_ request: AppRequest) -> [String] {
        var lines = [
            "  - request: \(request.name)",
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

    private static func answer(_ pattern: AnswerPattern) -> [String] {
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

    private static func body(_ body: AppRequest.Body?, indent: Int) -> [String] {
        switch body {
        case .json(let value): json("body", value, indent: indent)
        case .text(let text):
            [String(repeating: " ", count: indent) + "text: \(quoted(text))"]
        case nil: []
        }
    }

    /// JSON is YAML: on one line where it fits, else a member a line.
    private static func json(_ key: String, _ value: JSONValue, indent: Int) -> [String] {
        let space = String(repeating: " ", count: indent)
        let short = "\(space)\(key): \(value.text)"
        if short.count <= lineWidth { return [short] }
        let lines = value.prettyText.split(separator: "\n").map(String.init)
        return ["\(space)\(key):"] + lines.map { "\(space)  \($0)" }
    }

    private static let lineWidth = 100

    private static func event(_ spec: EventSpec) -> [(String, String)] {
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

    private static func event(_ spec: PurchaselySpec) -> [(String, String)] {
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

    private static func call(_ call: Call, indent: String) -> [String] {
        var lines = ["\(indent)- call: \(call.name)", "\(indent)  route: \(call.route.rawValue)"]
        if let user = call.user { lines.append("\(indent)  user: \(user)") }
        if let account = call.account { lines.append("\(indent)  account: \(account)") }
        if !call.values.isEmpty {
            let fields = call.values.sorted { $0.key < $1.key }
                .map { ($0.key, $0.value.map(quoted) ?? "null") }
            lines.append("\(indent)  with: \(flow(fields))")
        }
        if let token = call.token, token != TokenSpec() {
            var fields: [(String, String)] = []
            if token.kind != .idToken { fields.append(("kind", token.kind.rawValue)) }
            if token.signing != .genuine { fields.append(("signing", token.signing.rawValue)) }
            if !token.claims.isEmpty {
                let claims = token.claims.sorted { $0.key < $1.key }
                    .map { (scalar($0.key), $0.value?.text ?? "null") }
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

    // MARK: Expectation

    private static func expectation(_ expectation: Expectation) -> [String] {
        var lines = ["  answers: \(answers(expectation.answers))"]
        if let within = expectation.within { lines.append("  within: \(within.contractText)") }
        if let relation = expectation.relation {
            lines.append("  like: \(relation.rawValue)")
            let usual: Set<Expectation.Aspect> = [.state, .effects]
            if expectation.compared != usual || !expectation.comparedFields.isEmpty {
                let aspects = Expectation.Aspect.allCases.filter {
                    expectation.compared.contains($0)
                        && !($0 == .fields && !expectation.comparedFields.isEmpty)
                }.map(\.rawValue)
                let all = expectation.comparedFields + aspects
                lines.append("  compare: [\(all.joined(separator: ", "))]")
            }
        }
        if let overlap = expectation.overlapMin { lines.append("  overlap: \(overlap)") }
        if let watch = expectation.watch { lines.append("  watch: \(watch.contractText)") }
        if expectation.hidesSecrets { lines.append("  secrets: hidden") }
        if !expectation.effects.isEmpty {
            lines.append("  effects:")
            for effect in expectation.effects { lines += self.effect(effect) }
        }
        if !expectation.states.isEmpty {
            lines.append("  state:")
            for state in expectation.states {
                let fields = state.fields.map { ($0.name, $0.value.text) }
                lines.append("    \(scalar(state.user)): \(flow(fields))")
            }
        }
        return lines
    }

    private static func effect(_ effect: EffectExpectation) -> [String] {
        var lines = ["    - onesignal: \(effect.kind.split(separator: ".").last ?? "notification")"]
        if let user = effect.user { lines.append("      to: \(user)") }
        switch (effect.countMin, effect.countMax) {
        case (let low, let high?) where low == high: lines.append("      count: \(low)")
        case (let low, let high?): lines.append("      count: {at-least: \(low), at-most: \(high)}")
        case (1, nil), (0, nil): break
        case (let low, nil): lines.append("      count: {at-least: \(low)}")
        }
        if effect.hasSteadyKey { lines.append("      key: steady") }
        if effect.isPersonal { lines.append("      address: personal") }
        if let other = effect.unlike { lines.append("      unlike: \(other)") }
        if let max = effect.addedMax { lines.append("      added: {at-most: \(max)}") }
        if let max = effect.attemptsMax { lines.append("      attempts: {at-most: \(max)}") }
        if effect.obeysRetryAfter { lines.append("      pace: retry-after") }
        if let says = effect.says { lines += json("says", says, indent: 6) }
        return lines
    }

    private static func answers(_ answers: AnswerExpectation) -> String {
        switch answers {
        case .statuses(let statuses):
            statuses.count == 1
                ? "\(statuses[0])" : "[\(statuses.map(String.init).joined(separator: ", "))]"
        case .refused: "refused"
        case .rejected: "rejected"
        case .answered: "answered"
        case .anything: "anything"
        case .success: "success"
        case .denied: "denied"
        case .conflict: "conflict"
        }
    }

    // MARK: YAML

    private static func flow(_ fields: [(String, String)]) -> String {
        "{" + fields.map { "\($0.0): \($0.1)" }.joined(separator: ", ") + "}"
    }

    /// The text as it stands where YAML takes it for a text, else in quotes.
    private static func scalar(_ text: String) -> String {
        let isPlain =
            text.first.map { $0.isLetter || $0 == "/" } ?? false
            && text.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "_-./ ".contains($0))
            }
            && !["null", "true", "false", "yes", "no", "on", "off"].contains(text.lowercased())
            && text.last != " "
        return isPlain ? text : quoted(text)
    }

    private static func quoted(_ text: String) -> String { JSONValue.string(text).text }
}
