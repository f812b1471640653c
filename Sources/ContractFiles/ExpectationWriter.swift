internal import Conformance

/// What must follow, as contracts write it.
extension ContractWriter {
    static func expectation(_ expectation: Expectation) -> [String] {
        var lines = ["  answers: \(answers(expectation.answers))"]
        if let within = expectation.within { lines.append("  within: \(within.contractText)") }
        if let relation = expectation.relation { lines.append("  like: \(relation.rawValue)") }
        lines += compared(expectation)
        if !expectation.calls.isEmpty {
            let ids = expectation.calls.map { (scalar($0.call), $0.user) }
            lines.append("  ids: \(flow(ids))")
        }
        if !expectation.alike.isEmpty { lines.append("  alike: \(list(expectation.alike))") }
        if let race = expectation.race {
            lines.append("  race: {calls: \(list(race.calls)), winners: \(race.winnerCount)}")
        }
        if let overlap = expectation.overlapMin { lines.append("  overlap: \(overlap)") }
        if let watch = expectation.watch { lines.append("  watch: \(watch.contractText)") }
        if expectation.hidesSecrets { lines.append("  secrets: hidden") }
        if let max = expectation.keyFetchesMax { lines.append("  key-fetches: {at-most: \(max)}") }
        if !expectation.effects.isEmpty {
            lines.append("  effects:")
            for effect in expectation.effects { lines += self.effect(effect) }
        }
        if !expectation.states.isEmpty {
            lines.append("  state:")
            for state in expectation.states {
                let fields = state.fields.map { ($0.name, flow($0.value)) }
                lines.append("    \(scalar(state.user)): \(flow(fields))")
            }
        }
        if !expectation.forgotten.isEmpty {
            lines.append("  forgets: \(list(expectation.forgotten))")
        }
        if let app = expectation.app { lines += self.app(app) }
        return lines
    }

    /// What is compared, where it is not the usual: state and effects.
    private static func compared(_ expectation: Expectation) -> [String] {
        let usual: Set<Expectation.Aspect> = [.state, .effects]
        guard expectation.compared != usual || !expectation.comparedFields.isEmpty else {
            return []
        }
        let aspects = Expectation.Aspect.allCases.filter {
            expectation.compared.contains($0)
                && !($0 == .fields && !expectation.comparedFields.isEmpty)
        }.map(\.rawValue)
        return ["  compare: \(list(expectation.comparedFields + aspects))"]
    }

    private static func effect(_ effect: EffectExpectation) -> [String] {
        var lines = ["    - onesignal: \(effect.kind.drop { $0 != "." }.dropFirst())"]
        if let user = effect.user { lines.append("      to: \(user)") }
        let isOpen = effect.countsAnyNumber
        if (effect.countMin, effect.countMax) != (isOpen ? 0 : 1, nil) {
            lines.append("      count: \(count(effect.countMin, effect.countMax))")
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

    static func answers(_ answers: AnswerExpectation) -> String {
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

    // MARK: The app

    private static func app(_ app: AppExpectation) -> [String] {
        var lines: [String] = []
        if !app.promises.isEmpty {
            lines.append("    promises: \(list(app.promises.map(\.name.rawValue)))")
        }
        if !app.commands.isEmpty {
            lines.append("    commands:")
            for command in app.commands { lines.append("      - \(self.command(command))") }
        }
        if !app.identities.isEmpty {
            let ids = app.identities.map { (scalar($0.phone), wanted($0.wanted)) }
            lines.append("    id: \(flow(ids))")
        }
        if !app.screens.isEmpty {
            let screens = app.screens.map { screen in
                let wanted = flow(screen.wanted)
                return (screen.element.rawValue, screen.isNot ? "{not: \(wanted)}" : wanted)
            }
            lines.append("    screen: \(flow(screens))")
        }
        if app.isBounded { lines.append("    start: bounded") }
        if app.registeredMin != nil || app.registeredMax != nil {
            lines.append("    registered: \(count(app.registeredMin, app.registeredMax))")
        }
        return lines.isEmpty ? ["  app: {promises: []}"] : ["  app:"] + lines
    }

    private static func command(_ command: AppExpectation.Command) -> String {
        var fields = [("command", scalar(command.name))]
        if let role = command.role { fields.append(("key", role.rawValue)) }
        if let value = command.value { fields.append(("value", quoted(value))) }
        if (command.countMin, command.countMax) != (1, nil) {
            fields.append(("count", count(command.countMin, command.countMax)))
        }
        if command.isBeforeIDWritten { fields.append(("before", "id-written")) }
        if let phone = command.phone { fields.append(("on", phone)) }
        return flow(fields)
    }

    private static func wanted(_ wanted: AppExpectation.Identity.Wanted) -> String {
        switch wanted {
        case .user(let user): user
        case .notUser(let user): "{not: \(user)}"
        case .sameAs(let phone): "{same-as: \(phone)}"
        case .otherThan(let phone): "{other-than: \(phone)}"
        case .changed: "{changed: true}"
        }
    }

    /// One number where both bounds are the same.
    private static func count(_ low: Int?, _ high: Int?) -> String {
        if let low, low == high { return "\(low)" }
        let bounds = [("at-least", low), ("at-most", high)]
        return flow(bounds.compactMap { bound in bound.1.map { (bound.0, "\($0)") } })
    }
}

extension EffectExpectation {
    /// Whether any number will do where nothing is said: the expectation is about something else.
    var countsAnyNumber: Bool { kind == "onesignal.tags" || unlike != nil || addedMax != nil }
}
